"""Times, strict JSON, back-off, logs, metrics, release (X2, X4, X9)."""

from __future__ import annotations

import io
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from site_bundle.kernel.backoff import Backoff
from site_bundle.kernel.files import read_bounded, write_atomically
from site_bundle.kernel.logs import Log
from site_bundle.kernel.metrics import Metric, render_metrics
from site_bundle.kernel.release import DEVELOPMENT, release_id
from site_bundle.kernel.strict_json import MalformedJsonError, decode_object, parse_object
from site_bundle.kernel.times import parse_time, render_time

ZONE = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-11-02T10:00:01Z", datetime(2026, 11, 2, 10, 0, 1, tzinfo=UTC)),
        ("2026-11-02T12:00:01.25+02:00", datetime(2026, 11, 2, 10, 0, 1, 250000, tzinfo=UTC)),
        ("2026-11-02T10:00:01.000001Z", datetime(2026, 11, 2, 10, 0, 1, 1, tzinfo=UTC)),
    ],
)
def test_times_are_read(text: str, instant: datetime) -> None:
    assert parse_time(text) == instant


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-02T10:00:01",
        "2026-11-02 10:00:01Z",
        "2026-11-02t10:00:01z",
        "2026-11-02T10:00:60Z",
        "2026-11-02T24:00:00Z",
        "2026-11-02T10:00:01.1234567Z",
        "2026-11-02T10:00:01,5Z",
        "20261102T100001Z",
        "2026-W45-1T10:00:01Z",
        "2026-11-02",
        "infinity",
        "2026-11-02T10:00:01+0200",
        "2026-11-02T10:00:01+24:00",
        "2026-11-02T10:00:01Z\n",
        "0001-01-01T00:00:00+12:00",
        "２026-11-02T10:00:01Z",
    ],
)
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_time(text)


def test_times_are_written_canonically() -> None:
    assert render_time(datetime(2026, 11, 2, 12, 0, 1, tzinfo=ZONE)) == "2026-11-02T10:00:01Z"
    assert render_time(datetime(2026, 11, 2, 10, 0, 1, 250000, tzinfo=UTC)) == "2026-11-02T10:00:01.250000Z"
    with pytest.raises(ValueError, match="zone"):
        render_time(datetime(2026, 11, 2, 10, 0, 1))


@dataclass(frozen=True, slots=True)
class Shape:
    a: int


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"1",
        b'{"a":1}x',
        b'{"a":1,"a":1}',
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":"1"}',
        b'{"a":1.5}',
        b'{"a":true}',
        b'{"a":1,"b":2}',
        b"{}",
        b"\xef\xbb\xbf" + b'{"a":1}',
        b'{"a":"\xff"}',
        b'{"b":"\\ud800","a":1}',
        b'{"b":"\\u0000","a":1}',
        b'{"a":' + b"[" * 40 + b"]" * 40 + b"}",
        b'{"a":' + b"[" * 100_000,
        b'{"a":1}' + b" " * 2000,
    ],
)
def test_json_is_strict(raw: bytes) -> None:
    with pytest.raises(MalformedJsonError):
        decode_object(raw, Shape, max_bytes=1000 if len(raw) < 5000 else 1 << 20)


def test_json_that_is_right() -> None:
    assert decode_object(b'{"a":1}', Shape, max_bytes=100) == Shape(1)
    assert parse_object(b'{"b":"\\u00fc[[[[\\"{{{{"}', max_bytes=100) == {"b": 'ü[[[["{{{{'}


def test_backoff_grows_to_its_ceiling_and_forgets() -> None:
    backoff = Backoff(1.0, 8.0, draw=lambda: 1.0)
    assert [backoff.failed() for _ in range(6)] == [1, 2, 4, 8, 8, 8]
    assert backoff.failed(at_least=30) == 30
    backoff.succeeded()
    assert backoff.failed() == 1
    low = Backoff(1.0, 8.0, draw=lambda: 0.0)
    assert low.failed() == 0.5


def test_C18_no_value_starts_a_line_of_its_own() -> None:
    stream = io.StringIO()
    Log(stream).bind(cycle=3).warning("event", note="a\n<0>forged \u202egpj \x1b[31m", plain="x-1", none=None)
    (line,) = stream.getvalue().splitlines()
    assert line == '<4>event cycle=3 note="a\\n<0>forged \\u202egpj \\u001b[31m" plain=x-1'


def test_metrics_are_openmetrics() -> None:
    families = [
        Metric("pharos_keys", "gauge", "Keys.", {(("outcome", 'a"b\\c\nd'),): 2.0}),
        Metric("pharos_changes", "counter", "Changes.", {(): 1.5}),
    ]
    assert render_metrics(families).decode().splitlines() == [
        "# HELP pharos_keys Keys.",
        "# TYPE pharos_keys gauge",
        'pharos_keys{outcome="a\\"b\\\\c\\nd"} 2',
        "# HELP pharos_changes Changes.",
        "# TYPE pharos_changes counter",
        "pharos_changes_total 1.5",
        "# EOF",
    ]


def test_release_is_its_own_environments(tmp_path: Path) -> None:
    assert release_id(str(tmp_path)) == DEVELOPMENT
    (tmp_path / "pharos-release").write_text("0.1.0-0123456789ab\n")
    assert release_id(str(tmp_path)) == "0.1.0-0123456789ab"
    (tmp_path / "pharos-release").write_text("a\x1b[31m")
    assert release_id(str(tmp_path)) == DEVELOPMENT


def test_files_are_whole_and_links_not_followed(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "status.json"
    victim.write_text("untouched")
    link.symlink_to(victim)
    write_atomically(link, b"new", mode=0o644)
    assert victim.read_text() == "untouched"
    assert (link.read_bytes(), link.stat().st_mode & 0o777) == (b"new", 0o644)
    assert list(tmp_path.iterdir()) != [] and not list(tmp_path.glob(".status*"))
    with pytest.raises(ValueError, match="longer"):
        read_bounded(link, max_bytes=2)
    victim.unlink()
    victim.symlink_to(link)
    with pytest.raises(OSError, match="links"):
        read_bounded(victim, max_bytes=10)
