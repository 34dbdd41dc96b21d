"""The journal: torn tails, corruption, schema (row 27, B13, B22)."""

import hashlib
import json
import signal
from collections.abc import Callable

import pytest

from installer.domain.activation import Operation
from installer.domain.journal import Journal, JournalRecord, decode_journal, encode_record
from installer.domain.refusal import UNFINISHED_JOURNAL, Refusal
from installer.host.journal_file import JournalFile
from tests.installer.rig import Rig

OPERATION = Operation(id="o", phase="activate", at="2026-01-01T00:00:00Z", components=())


def lines(*kinds: str) -> list[bytes]:
    return [
        encode_record(
            JournalRecord(
                sequence=number,
                kind=kind,  # type: ignore[arg-type]
                at="2026-01-01T00:00:00Z",
                operation=OPERATION if kind == "intent" else None,
            )
        )
        for number, kind in enumerate(kinds)
    ]


def test_records_come_back() -> None:
    journal = decode_journal(b"".join(lines("intent", "step", "done")))
    assert [record.kind for record in journal.records] == ["intent", "step", "done"]
    assert journal.operation == OPERATION and journal.closed and not journal.torn


@pytest.mark.parametrize(
    "tail",
    [lambda line: line[:-1], lambda line: line[:20], lambda line: b"\0" * len(line)],
)
def test_row_27_a_torn_last_record_is_dropped(tail: Callable[[bytes], bytes]) -> None:
    first, second = lines("intent", "step")
    journal = decode_journal(first + tail(second))
    assert journal.torn and len(journal.records) == 1 and journal.length == len(first)


def test_row_27_a_torn_intent_is_an_operation_that_never_began() -> None:
    journal = decode_journal(lines("intent")[0][:-5])
    assert journal.operation is None and journal.closed and journal.torn


@pytest.mark.parametrize(
    "data",
    [b"\0", b"\0" * 4096, b"\0" * 9 + b"\n", lines("intent")[0][:-9] + b"\0" * 9],
    ids=["one-nul", "a-page", "nul-line", "nul-end"],
)
def test_row_27_nuls_in_place_of_the_intent_are_no_torn_record(data: bytes) -> None:
    _refused(data, "journal_corrupt")


@pytest.mark.parametrize("size", [0, 1, 4096])
def test_row_27_nuls_alone_block_and_are_kept(rig: Rig, active: str, size: int) -> None:
    """A journal of NULs may be that of a switch under way: recover says so, and leaves it."""
    newer = rig.release("0.2.0")
    activate = ("activate", "--components", "ssh-access", "--evidence", "/evidence", "--release", newer)
    assert rig.killed("activate/after-links", *activate) == -signal.SIGKILL
    size = size or rig.paths.journal.stat().st_size
    rig.paths.journal.write_bytes(b"\0" * size)
    result = rig.run("recover")
    assert result.code == 9 and "journal_corrupt" in result.stderr
    assert rig.paths.journal.read_bytes() == b"\0" * size and rig.activate(newer).code == 9


@pytest.mark.parametrize("position", range(3))
def test_row_27_a_damaged_middle_is_refused_with_exit_9(position: int) -> None:
    records = lines("intent", "step", "step")
    records[position] = records[position].replace(b"2026", b"2027")
    _refused(b"".join(records), "journal_corrupt")


@pytest.mark.parametrize(
    "kinds",
    [("step",), ("intent", "intent"), ("intent", "done", "step")],
    ids=["no-intent", "two", "after-done"],
)
def test_row_27_records_out_of_order_are_refused(kinds: tuple[str, ...]) -> None:
    _refused(b"".join(lines(*kinds)), "journal_corrupt")


def test_b13_a_record_whose_digest_holds_but_lacks_a_field_is_one_clear_refusal() -> None:
    body = {"schema": 1, "sequence": 0, "kind": "intent"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    line = json.dumps({**body, "sha256": hashlib.sha256(text.encode()).hexdigest()}, sort_keys=True)
    refusal = _refused(line.replace(", ", ",").replace(": ", ":").encode() + b"\n", "journal_corrupt")
    assert "recover --quarantine-journal" in refusal.remedy


def test_b31_a_newer_schema_is_refused_by_its_number() -> None:
    body = {"schema": 2}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    line = json.dumps({**body, "sha256": hashlib.sha256(text.encode()).hexdigest()}).encode() + b"\n"
    assert "schema 2" in _refused(line, "journal_schema").found


def test_a_torn_tail_is_cut_off_before_the_next_record(rig: Rig) -> None:
    file = JournalFile(rig.paths, rig.clock, rig.limits)
    file.begin(OPERATION)
    with rig.paths.journal.open("ab") as stream:
        stream.write(b'{"torn')
    journal = file.read()
    assert isinstance(journal, Journal) and journal.torn
    again = JournalFile(rig.paths, rig.clock, rig.limits)
    again.resume(journal)
    again.append("restored")
    read = again.read()
    assert (
        read is not None
        and [record.kind for record in read.records] == ["intent", "restored"]
        and not read.torn
    )


def test_the_journal_is_roots_alone(rig: Rig) -> None:
    JournalFile(rig.paths, rig.clock, rig.limits).begin(OPERATION)
    assert rig.paths.journal.stat().st_mode & 0o777 == 0o600
    assert rig.paths.memory.stat().st_mode & 0o777 == 0o700


def _refused(data: bytes, code: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        decode_journal(data)
    assert (caught.value.code, caught.value.exit_code) == (code, UNFINISHED_JOURNAL)
    return caught.value
