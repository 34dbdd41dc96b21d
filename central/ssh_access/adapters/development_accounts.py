"""A stand-in for P30: members' accounts from a JSON file that a developer edits (X8).

The file, read again when it changed: `{"schema": 1, "sites": ["slurm"…], "accounts": [{"member", "site",
"username", "uidNumber", "entryUUID"}…]}`. A member without an entry at a listed Site provably has no account;
a file that cannot be read is *unavailable*, never "nobody has one" (X1).
"""

import logging
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

import msgspec

from central.kernel.observability import event
from central.kernel.site_names import Site
from central.ssh_access.domain.account import Absence, AccountAnswer, AccountUnavailable, NoAccount
from central.ssh_access.domain.member_key import MemberId, Target

_LOG: Final = logging.getLogger("central.ssh_access.development_accounts")
_BYTES_MAX: Final = 1_048_576
_USERNAME: Final = re.compile(r"[a-z_][a-z0-9._-]{0,31}")


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    member: str
    site: str
    username: str
    uid_number: int = msgspec.field(name="uidNumber")
    entry_uuid: UUID = msgspec.field(name="entryUUID")


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: int
    sites: list[str]
    accounts: list[_Entry]


@dataclass(frozen=True, slots=True)
class _Loaded:
    stamp: tuple[int, int, int]
    sites: frozenset[str]
    accounts: Mapping[tuple[str, str], Target]


class FileFaulty(Exception):
    """The file is there but is not what it must be; the message says where."""


class DevelopmentAccounts:
    """`MemberAccounts` from a file. Safe to share between threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._loaded: _Loaded | None = None
        self._lock = threading.Lock()

    def announce(self) -> None:
        """Says loudly, once a start, that accounts come from a file."""
        event(
            _LOG,
            "development_stand_in",
            level=logging.WARNING,
            what="member accounts come from a FILE: whoever writes it decides whose keys go where",
            path=str(self._path),
        )

    def account_for(self, subject: MemberId, site: Site, now: datetime) -> AccountAnswer:  # noqa: ARG002
        """See `MemberAccounts`."""
        try:
            loaded = self._current()
        except (OSError, FileFaulty) as error:
            event(_LOG, "development_accounts_unreadable", level=logging.ERROR, reason=str(error))
            return AccountUnavailable("the development accounts file cannot be read")
        if site not in loaded.sites:
            return NoAccount(Absence.SITE_UNKNOWN)
        return loaded.accounts.get((subject, site)) or NoAccount(Absence.ACCOUNT_ABSENT)

    def _current(self) -> _Loaded:
        with self._lock:
            status = self._path.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if self._loaded is None or self._loaded.stamp != stamp:
                self._loaded = _load(self._path.read_bytes(), stamp)
            return self._loaded


def _load(content: bytes, stamp: tuple[int, int, int]) -> _Loaded:
    if len(content) > _BYTES_MAX:
        raise FileFaulty(f"it has more than {_BYTES_MAX} bytes")
    try:
        file = msgspec.json.decode(content, type=_File)
    except msgspec.MsgspecError as error:
        raise FileFaulty(str(error)) from None
    if file.schema != 1:
        raise FileFaulty(f"schema {file.schema}, 1 is wanted")
    accounts: dict[tuple[str, str], Target] = {}
    for entry in file.accounts:
        if not _USERNAME.fullmatch(entry.username) or not 0 < entry.uid_number < 2**31:
            raise FileFaulty(f"the account of {entry.member!r} at {entry.site!r} is no POSIX account")
        if (entry.member, entry.site) in accounts:
            raise FileFaulty(f"{entry.member!r} has two accounts at {entry.site!r}")
        accounts[entry.member, entry.site] = Target(entry.username, entry.uid_number, entry.entry_uuid)
    return _Loaded(stamp, frozenset(file.sites), accounts)
