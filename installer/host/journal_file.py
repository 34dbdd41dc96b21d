"""The journal on disk: appended and synced record by record, moved to ``history/`` when its operation is
closed.
"""

import os
from pathlib import Path

from installer.domain.activation import Operation
from installer.domain.journal import Journal, JournalRecord, Kind, decode_journal, encode_record
from installer.domain.limits import Limits
from installer.domain.refusal import UNFINISHED_JOURNAL, Refusal
from installer.domain.times import format_time
from installer.host.clock import Clock
from installer.host.files import ForeignFileError, make_folder, read_own, sync_folder
from installer.host.paths import HostPaths
from installer.host.pruning import prune


class JournalFile:
    """The one journal of the host. Methods raise Refusal for what cannot be read, OSError for what cannot
    be written.
    """

    def __init__(self, paths: HostPaths, clock: Clock, limits: Limits) -> None:
        self._path = paths.journal
        self._history = paths.history
        self._trust = paths.trust
        self._clock = clock
        self._limits = limits
        self._next = 0

    def read(self) -> Journal | None:
        """What the journal says; None when there is none."""
        try:
            file = read_own(self._path, limit=self._limits.journal_size, trust=self._trust)
        except ForeignFileError as error:
            raise _foreign(error) from error
        if file is None:
            return None
        return decode_journal(file.data)

    def begin(self, operation: Operation) -> None:
        """Write the intent of a new operation, durably, before anything is changed."""
        self._next = 0
        make_folder(self._path.parent, 0o700)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(self._path, flags, 0o600))
        self._append("intent", operation=operation)
        sync_folder(self._path.parent)

    def resume(self, journal: Journal) -> None:
        """Continue a journal found on disk: a torn tail is cut off first."""
        if journal.torn:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.ftruncate(descriptor, journal.length)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        self._next = len(journal.records)

    def append(self, kind: Kind, step: str = "", detail: str = "") -> None:
        """One more record, durable when this returns."""
        self._append(kind, step=step, detail=detail)

    def archive(self, operation: str) -> None:
        """Move a closed journal to the history, which stays bounded."""
        make_folder(self._history, 0o700)
        self._path.replace(self._history / f"{operation}.jsonl")
        sync_folder(self._history)
        sync_folder(self._path.parent)
        prune(self._history, files=self._limits.history_files, size=self._limits.history_bytes)

    def discard(self) -> None:
        """Remove a journal without a single good record: nothing had been done."""
        self._path.unlink(missing_ok=True)
        sync_folder(self._path.parent)

    def quarantine(self) -> Path:
        """Move an unreadable journal aside, kept for inspection; its new place (B22)."""
        number = 1
        while (aside := self._path.with_name(f"journal.broken-{number}")).exists():
            number += 1
        self._path.replace(aside)
        sync_folder(self._path.parent)
        return aside

    def _append(
        self, kind: Kind, step: str = "", detail: str = "", operation: Operation | None = None
    ) -> None:
        record = JournalRecord(
            sequence=self._next,
            kind=kind,
            at=format_time(self._clock.now()),
            step=step,
            detail=detail,
            operation=operation,
        )
        line = encode_record(record)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            view = memoryview(line)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self._next += 1


def _foreign(error: ForeignFileError) -> Refusal:
    return Refusal(
        "journal_untrusted",
        found=str(error),
        wanted="a journal of root that nobody else can change",
        remedy="Nothing of it is done. Look who wrote it, compare the host with `pharos-installer status`,"
        " then move it aside with `pharos-installer recover --quarantine-journal`.",
        exit_code=UNFINISHED_JOURNAL,
    )
