"""``state.json`` on disk, and what is done when it cannot be read (row 26)."""

import os
from datetime import datetime
from pathlib import Path

from installer.bootstrap.seal import read_seal
from installer.domain.activation import SuccessRecord, linked_release
from installer.domain.files import FileText
from installer.domain.limits import Limits
from installer.domain.refusal import UNFINISHED_JOURNAL, Refusal
from installer.domain.state import BrokenStateError, State, decode_state, encode_state
from installer.domain.times import format_time
from installer.host.files import ForeignFileError, make_folder, read_own, sync_folder, write_file
from installer.host.links import component_link, linked_components
from installer.host.paths import HostPaths

REBUILT = "rebuilt-from-links"
"""The operation a rebuilt record names: the link and the seal are its only witnesses."""


class StateFile:
    """The installer's memory. Methods raise Refusal for what cannot be read, OSError for what cannot be
    written.
    """

    def __init__(self, paths: HostPaths, limits: Limits) -> None:
        self._paths = paths
        self._limits = limits

    def read(self) -> State:
        """The state as it stands, changing nothing. A broken one, or links without a state, is Refusal
        ``state_broken``.
        """
        return self._decode()

    def load(self, now: datetime) -> tuple[State, str]:
        """The state for a phase that holds the lock; a broken or lost one is rebuilt where links and seals
        are clear.

        The text says what was done, empty for nothing. Raises Refusal ``state_ambiguous`` (exit 9), file
        kept aside.
        """
        try:
            return self._decode(), ""
        except Refusal as refusal:
            if refusal.code != "state_broken":
                raise
            rebuilt = self._rebuild(now)
            said = f"state.json could not be used ({refusal.found}); rebuilt from links and seals"
            if os.path.lexists(self._paths.state):
                said = f"{said}, the old one kept as {self._set_aside().name}"
            self.write(rebuilt)
            return rebuilt, said

    def write(self, state: State) -> None:
        """Put the state in place, durably."""
        make_folder(self._paths.memory, 0o700)
        write_file(self._paths.state, FileText.of(encode_state(state), 0o600))

    def _file(self) -> FileText | None:
        return read_own(self._paths.state, limit=self._limits.state_size, trust=self._paths.trust)

    def _decode(self) -> State:
        try:
            file = self._file()
        except ForeignFileError as error:
            raise _broken(str(error)) from error
        if file is None:
            linked = linked_components(self._paths)
            if linked:
                raise _broken(f"no state.json, yet {', '.join(linked)} is linked")
            return State()
        try:
            return decode_state(file.data)
        except BrokenStateError as error:
            raise _broken(f"state.json: {error}") from error

    def _rebuild(self, now: datetime) -> State:
        state = State()
        for name in linked_components(self._paths):
            release = linked_release(component_link(self._paths, name, "current"), name)
            if release is None or read_seal(self._paths.release(release)) is None:
                raise Refusal(
                    "state_ambiguous",
                    found=f"state.json is broken and component {name} is linked to what is no sealed release",
                    wanted="links that name sealed releases",
                    remedy="Repair the link, or restore state.json from a backup. Nothing was changed.",
                    exit_code=UNFINISHED_JOURNAL,
                )
            record = SuccessRecord(release=release, operation=REBUILT, at=format_time(now), unit_sha256="")
            state = state.with_record(name, record)
        return state

    def _set_aside(self) -> Path:
        number = 1
        while (aside := self._paths.state.with_name(f"state.json.broken-{number}")).exists():
            number += 1
        self._paths.state.replace(aside)
        sync_folder(self._paths.memory)
        return aside


def _broken(found: str) -> Refusal:
    return Refusal(
        "state_broken",
        found=found,
        wanted="a state of schema 1",
        remedy="Run `recover`: it keeps the file aside and rebuilds what links and seals prove.",
        exit_code=UNFINISHED_JOURNAL,
    )
