"""``state.json``: newer, broken, lost; never silently "nothing installed" (row 26, B31, X1)."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from installer.domain.activation import SuccessRecord
from installer.domain.state import BadRelease, BrokenStateError, State, decode_state, encode_state
from tests.installer.rig import UNIT, Rig

RECORD = SuccessRecord(
    release="1.0.0-000000000001", operation="o", at="2026-01-01T00:00:00Z", unit_sha256="0" * 64
)
SCHEMA_1 = b"""{
  "bad": [
    {"at": "2026-01-01T00:00:00Z", "component": "ssh-access", "reason": "dies", "release":
    "0.9.0-000000000000"}
  ],
  "components": {
    "ssh-access": {
      "at": "2026-01-01T00:00:00Z",
      "operation": "o",
      "release": "1.0.0-000000000001",
      "unit_sha256": "0000000000000000000000000000000000000000000000000000000000000000"
    }
  },
  "schema": 1
}
"""


def test_b31_the_golden_of_schema_1_loads_and_comes_back() -> None:
    state = decode_state(SCHEMA_1)
    assert state.components == {"ssh-access": RECORD} and state.badness("ssh-access", "0.9.0-000000000000")
    assert decode_state(encode_state(state)) == state


def test_b4_a_success_takes_a_release_off_the_bad_list() -> None:
    bad = BadRelease(component="ssh-access", release=RECORD.release, at=RECORD.at, reason="r")
    state = State().with_bad(bad).with_bad(bad)
    assert len(state.bad) == 1
    assert state.with_record("ssh-access", RECORD).bad == ()
    assert state.with_record("ssh-access", RECORD).with_record("ssh-access", None).components == {}


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _data: b"",
    "half": lambda data: data[: len(data) // 2],
    "nul": lambda data: b"\0" * len(data),
    "duplicate": lambda data: data.replace(b'"schema"', b'"bad": [], "schema"'),
    "no-schema": lambda data: data.replace(b'"schema": 1', b'"schema": "1"'),
    "other-key": lambda data: data.replace(b'"bad"', b'"worse"'),
    "other-type": lambda data: data.replace(b'"components": {', b'"components": {"x": 1, '),
}


@pytest.mark.parametrize("how", BROKEN)
def test_row_26_a_broken_state_is_no_state(how: str) -> None:
    with pytest.raises(BrokenStateError):
        decode_state(BROKEN[how](SCHEMA_1))


@pytest.mark.parametrize("how", BROKEN)
def test_row_26_a_broken_state_is_kept_aside_and_rebuilt_from_links_and_seals(
    rig: Rig, active: str, how: str
) -> None:
    broken = BROKEN[how](rig.paths.state.read_bytes())
    rig.paths.state.write_bytes(broken)
    told = rig.run("status")
    assert told.code == 9 and "state_broken" in told.stdout and rig.paths.state.read_bytes() == broken
    result = rig.run("recover")
    assert result.code == 0 and "rebuilt" in result.stdout
    assert (rig.paths.memory / "state.json.broken-1").read_bytes() == broken
    assert rig.status()["agrees"] is True
    newer = rig.release("0.2.0")
    assert rig.activate(newer).code == 0 and rig.link("previous") == active


def test_row_26_a_lost_state_beside_a_link_is_not_nothing_installed(rig: Rig, active: str) -> None:
    rig.paths.state.unlink()
    assert "state_broken" in rig.run("status").stdout
    assert rig.activate(rig.release("0.2.0")).code == 0 and rig.link("previous") == active


def test_row_26_an_edited_unit_is_seen_after_a_rebuild_too(rig: Rig, active: str) -> None:
    rig.paths.state.unlink()
    with rig.paths.at(f"/etc/systemd/system/{UNIT}").open("a") as unit:
        unit.write("# by hand\n")
    assert rig.activate(rig.release("0.2.0")).code == 3


def test_row_26_a_newer_state_is_refused_by_its_number_and_left(rig: Rig, active: str) -> None:
    newer = json.dumps({"schema": 7, "future": {}}).encode()
    rig.paths.state.write_bytes(newer)
    result = rig.activate(rig.release("0.2.0"))
    assert result.code == 9 and "state_newer" in result.stderr and "schema 7" in result.stderr
    assert rig.run("recover").code == 9 and rig.paths.state.read_bytes() == newer


def test_row_26_links_that_prove_nothing_are_ambiguous(rig: Rig, active: str) -> None:
    rig.paths.state.write_bytes(b"")
    (rig.paths.release(active) / "SEAL").unlink()
    result = rig.run("recover")
    assert result.code == 9 and "state_ambiguous" in result.stderr
    assert rig.paths.state.read_bytes() == b"" and _broken_copies(rig) == []


def test_x1_an_unreadable_state_is_not_an_absent_one(rig: Rig, active: str) -> None:
    rig.paths.state.unlink()
    rig.paths.state.symlink_to("elsewhere")
    result = rig.activate(active)
    assert result.code == 4 and "unreadable" in result.stderr
    rig.paths.state.unlink()
    rig.paths.state.mkdir()
    assert "path_strange" in rig.activate(active).stderr


def _broken_copies(rig: Rig) -> list[Path]:
    return list(rig.paths.memory.glob("state.json.broken-*"))
