"""One JSON line an event, ids that follow, no secret (X5, X9)."""

import io
import json
import logging
from typing import Any

import pytest
from prometheus_client import generate_latest

from central.kernel.observability import Metrics, bound, configure_logging, event

LOG = logging.getLogger("central.trial")


def lines(log_stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log_stream.getvalue().splitlines()]


def test_an_event_is_one_line_with_its_fields(log_stream: io.StringIO) -> None:
    event(LOG, "key_added", site="slurm", text="two\nlines", count=2, nothing=None)
    (line,) = lines(log_stream)
    assert {"time", "level", "process", "event", "site", "text", "count", "nothing"} == set(line)
    assert (line["event"], line["process"], line["level"], line["text"]) == (
        "key_added",
        "trial",
        "info",
        "two\nlines",
    )
    assert line["time"].endswith("Z")


def test_what_is_bound_is_on_every_line_and_ends_with_its_block(log_stream: io.StringIO) -> None:
    with bound(requestId="r"):
        with bound(commandId="c"):
            event(LOG, "inner")
            LOG.warning("plain %s", "message")
        event(LOG, "outer")
    event(LOG, "after")
    inner, plain, outer, after = lines(log_stream)
    assert (inner["requestId"], inner["commandId"]) == ("r", "c")
    assert (plain["commandId"], plain["event"], plain["message"]) == ("c", "log", "plain message")
    assert "commandId" not in outer
    assert "requestId" not in after


@pytest.mark.parametrize(
    "name", ["token", "apiToken", "password", "client_secret", "Authorization", "privateKey"]
)
def test_x5_a_field_that_speaks_of_a_secret_is_redacted(log_stream: io.StringIO, name: str) -> None:
    fields: dict[str, Any] = {name: "hunter2"}
    event(LOG, "something", **fields)
    assert lines(log_stream)[0][name] == "[redacted]"
    assert "hunter2" not in log_stream.getvalue()


def test_an_error_brings_its_traceback_on_the_same_line(log_stream: io.StringIO) -> None:
    try:
        raise KeyError("x" * 20_000)
    except KeyError as error:
        event(LOG, "failed", level=logging.ERROR, error=error)
    (line,) = lines(log_stream)
    assert "KeyError" in line["exception"] or line["exception"].endswith("x'")
    assert len(line["exception"]) <= 8192


def test_the_level_holds_and_odd_values_never_break_the_line(log_stream: io.StringIO) -> None:
    logging.getLogger().setLevel(logging.INFO)
    event(LOG, "quiet", level=logging.DEBUG)
    event(LOG, "odd", value=object(), many={"a": [1, 2]})
    (line,) = lines(log_stream)
    assert line["value"].startswith("<object")


def test_the_journal_gets_priorities(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JOURNAL_STREAM", "8:1")
    root = logging.getLogger()
    before = root.handlers[:], root.level
    try:
        configure_logging("trial")
        event(LOG, "bad", level=logging.ERROR)
    finally:
        root.handlers[:], level = before
        root.setLevel(level)
    assert capsys.readouterr().err.startswith('<3>{"time"')


def test_a_gauge_is_read_when_it_is_scraped() -> None:
    metrics, value = Metrics("trial"), [1.0]
    metrics.gauge("pharos_parked_polls", "Long polls parked.", lambda: value[0])
    value[0] = 72
    assert b"pharos_parked_polls 72.0" in generate_latest(metrics.registry)
