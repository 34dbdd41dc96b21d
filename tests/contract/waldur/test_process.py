"""The simulator as a process: what it keeps and tells, faults of writes, its channel (X8)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import urllib3

from tests.simulators.waldur.faults import KINDS
from tests.simulators.waldur.fixtures import waldur
from tests.simulators.waldur.process import ActRefused, WaldurProcess

__all__ = ["waldur"]
NOW = datetime(2026, 11, 15, tzinfo=UTC)


class Caller:
    """One token over one trusted connection."""

    def __init__(self, waldur: WaldurProcess, token: str) -> None:
        self._waldur, self._token = waldur, token
        self._http = urllib3.PoolManager(ca_certs=str(waldur.ca_file), timeout=60, retries=False)

    def ask(self, method: str, path: str, body: Any = None) -> urllib3.BaseHTTPResponse:
        headers = {"Authorization": f"Token {self._token}"}
        return self._http.request(method, self._waldur.api + path, headers=headers, json=body)


def staged(waldur: WaldurProcess) -> tuple[Caller, str]:
    """The owner as a caller, and the path of a resource."""
    made = waldur.stand()
    project = waldur.act("add_project", name="P", customer=made["customer"])
    resource = waldur.act("add_resource", offering=made["offering"], project=project, name="one")
    waldur.act("forget")
    return Caller(waldur, made["owner"]), f"marketplace-provider-resources/{resource}/"


def test_world_survives_and_an_authority_is_made_once(tmp_path: Path) -> None:
    with WaldurProcess(tmp_path) as first:
        owner, path = staged(first)
        owner.ask("POST", f"{path}set_backend_id/", {"backend_id": "kept"})
        rows, trusted = first.act("rows", table="resources"), first.ca_file.read_bytes()
    with WaldurProcess(tmp_path) as second:
        assert second.act("rows", table="resources") == rows
        assert second.ca_file.read_bytes() == trusted
        token = next(iter(json.loads((tmp_path / "state.json").read_text())["tokens"]))
        assert Caller(second, token).ask("GET", path).json()["backend_id"] == "kept"


def test_time_stands_where_it_is_told(tmp_path: Path) -> None:
    with WaldurProcess(tmp_path, now=NOW) as standing:
        owner, path = staged(standing)
        assert owner.ask("GET", path).json()["created"] == NOW.isoformat()
        assert standing.act("clock", advance=90) == "2026-11-15T00:01:30+00:00"
        owner.ask("POST", f"{path}refresh_last_sync/")
        assert owner.ask("GET", path).json()["last_sync"] == "2026-11-15T00:01:30+00:00"
        with pytest.raises(ActRefused, match="offset"):
            standing.act("clock", now="2026-11-15T00:00:00")


def test_writes_are_told_and_no_credential(waldur: WaldurProcess) -> None:
    owner, path = staged(waldur)
    owner.ask("GET", path)
    owner.ask("POST", f"{path}set_backend_id/", {"backend_id": "a"})
    (write,) = waldur.writes()
    assert (write["method"], write["status"], write["body"]) == ("POST", 200, {"backend_id": "a"})
    assert write["path"] == f"/api/{path}set_backend_id/"
    assert len(waldur.requests()) == 2
    assert "Token" not in json.dumps(waldur.requests())


@pytest.mark.parametrize(("kind", "done"), [("lose", "a"), ("drop", ""), ("status", "")])
def test_a_write_without_an_answer_may_have_been_done(waldur: WaldurProcess, kind: str, done: str) -> None:
    owner, path = staged(waldur)
    waldur.fault(kind, call="POST ")
    try:
        answer = owner.ask("POST", f"{path}set_backend_id/", {"backend_id": "a"})
    except urllib3.exceptions.ProtocolError:
        assert kind != "status"
    else:
        assert (kind, answer.status) == ("status", 502)
        assert answer.headers["Content-Type"] == "text/html"
    assert owner.ask("GET", path).json()["backend_id"] == done


def test_fault_waits_and_ends(waldur: WaldurProcess) -> None:
    owner, path = staged(waldur)
    waldur.fault("status", call=path, after=1, times=2, status=503, empty=True)
    assert [owner.ask("GET", path).status for _ in range(4)] == [200, 503, 503, 200]
    waldur.fault("throttle", call=path, seconds=7)
    answer = owner.ask("GET", path)
    assert (answer.status, answer.headers["Retry-After"]) == (429, "7")


@pytest.mark.parametrize(
    ("act", "given", "said"),
    [
        ("fly", {}, "no act 'fly'"),
        ("fault", {"kind": "flood"}, "no fault 'flood'"),
        ("fault", {"kind": "drop", "wrong": 1}, "wrong"),
        ("change", {"table": "tokens", "uuid": "x", "set": {}}, "no table"),
        ("remove", {"table": "users", "uuid": "x"}, "no row"),
        ("rows", {"table": "nothing"}, "no table"),
        ("add_project", {"name": "x", "customer": "y"}, "no row"),
        ("setting", {"name": "tokens", "value": {}}, "no setting"),
    ],
)
def test_acts_that_cannot_be_done_say_so(
    waldur: WaldurProcess, act: str, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ActRefused, match=said):
        waldur.act(act, **given)


def test_version_is_another(waldur: WaldurProcess) -> None:
    owner, _ = staged(waldur)
    waldur.act("setting", name="version", value="8.2.0")
    assert owner.ask("GET", "version/").json() == {"version": "8.2.0"}


def test_every_kind_of_fault_is_told_in_the_table() -> None:
    from tests.simulators.waldur import faults

    told = {line.split("`")[1] for line in (faults.__doc__ or "").splitlines() if line.startswith("| `")}
    assert told == KINDS
