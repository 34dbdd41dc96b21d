"""The people's entries over one ldapi connection: set-based searches, proven absence, single-value changes.

1. One search answers for a whole batch of targets: an OR over their names, which sites index, and for those
   not found an OR over their entryUUIDs. The number of searches grows with chunks, not with keys.
2. A target nobody found is absent only if the base and the probe entry are readable in the same breath
   (B06).
3. An entry that shows no entryUUID or uidNumber is passed on as such: unreadable, not another account (X1).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from site_bundle.directory.connection import LdapiConnection
from site_bundle.directory.entries import RawEntry
from site_bundle.directory.errors import DirectoryRefusedError, DirectoryUnavailableError
from site_bundle.directory.names import escape_filter_value, parse_dn
from site_bundle.ssh_access.domain.public_key import PublicKey
from site_bundle.ssh_access.domain.target import Entry, Target

ATTRIBUTE = "sshPublicKey"
# As long as any uid is; another number is none, and its entry unreadable (D10, D13).
_NUMBER = re.compile(r"[0-9]{1,10}")
_ATTRIBUTES = ("uid", "uidNumber", "entryUUID", ATTRIBUTE)
# The comment marks the agent's own probe values, so that one left by a crash is found and removed.
_PROBE_COMMENT = b" pharos-ssh-access-probe"


@dataclass(frozen=True, slots=True)
class PeopleLimits:
    """Terms in one search, each of one entry as a rule: well below slapd's default size limit of 500."""

    chunk_terms: int = 200


class LdapPeople:
    """The port `People`, and the proof of rights on the administrators' probe entry."""

    def __init__(
        self,
        connection: LdapiConnection,
        *,
        base: str,
        probe_entry: str | None,
        limits: PeopleLimits | None = None,
    ) -> None:
        self._connection = connection
        self._base = base
        self._base_parts = parse_dn(base)
        self._probe_entry = probe_entry
        self._limits = limits or PeopleLimits()

    def find(self, targets: Sequence[Target]) -> tuple[Entry, ...]:
        found: dict[str, Entry] = {}
        names = list(dict.fromkeys(target.username for target in targets))
        self._collect([f"(uid={escape_filter_value(name)})" for name in names], found)
        missing = _missing(targets, found)
        self._collect([f"(entryUUID={target.entry_uuid})" for target in missing], found)
        if _missing(missing, found):
            self.prove_readable()
        return tuple(found.values())

    def _collect(self, terms: Sequence[str], found: dict[str, Entry]) -> None:
        size = self._limits.chunk_terms
        for start in range(0, len(terms), size):
            for raw in self._search(f"(|{''.join(terms[start : start + size])})"):
                entry = self._entry(raw)
                if entry is not None:
                    found[entry.dn] = entry

    def add(self, dn: str, value: bytes) -> bool:
        return self._connection.add_value(dn, ATTRIBUTE, value)

    def delete(self, dn: str, value: bytes) -> bool:
        return self._connection.delete_value(dn, ATTRIBUTE, value)

    def prove_readable(self) -> None:
        """The base and the probe entry answer: so "not found" is absence. Otherwise
        DirectoryUnavailableError (B06).
        """
        for dn in filter(None, (self._base, self._probe_entry)):
            if not self._connection.search(dn, "(objectClass=*)", ("objectClass",), subtree=False):
                raise DirectoryUnavailableError(
                    "directory_unreadable",
                    found=f"{dn} is not shown to this identity",
                    wanted="read access, so that a missing account can be told from a hidden one",
                    remedy="compare slapd's access rules with the release's docs/policy",
                )

    def prove_rights(self) -> None:
        """Adds one value to the probe entry, reads it back and deletes it: the three rights the agent needs
        (I9).

        The value is a key made of random bytes: nobody holds its private half. Without a probe entry
        nothing is tried.
        """
        dn = self._probe_entry
        if dn is None:
            return
        blob = b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + os.urandom(32)
        value = PublicKey("ssh-ed25519", blob).line.encode("ascii") + _PROBE_COMMENT
        try:
            self._connection.add_value(dn, ATTRIBUTE, value)
            shown = self._connection.search(dn, "(objectClass=*)", (ATTRIBUTE,), subtree=False)
            values = shown[0].values(ATTRIBUTE) if shown else ()
            for own in {value, *(item for item in values if item.endswith(_PROBE_COMMENT))}:
                self._connection.delete_value(dn, ATTRIBUTE, own)
        except DirectoryRefusedError as error:
            raise DirectoryUnavailableError(
                "directory_rights",
                found=f"{dn}: {error.found}",
                wanted=f"the right to add, read and delete single values of {ATTRIBUTE}",
                remedy=error.remedy,
            ) from error
        if value not in values:
            raise DirectoryUnavailableError(
                "directory_rights",
                found=f"{dn} does not show the value that was just added",
                wanted=f"the right to read {ATTRIBUTE}",
                remedy="compare slapd's access rules with the release's docs/policy",
            )

    def _search(self, text: str) -> list[RawEntry]:
        fresh = self._connection.ensure_bound()
        try:
            return self._connection.search(self._base, text, _ATTRIBUTES, subtree=True)
        except DirectoryUnavailableError as error:
            # A connection that idled may have been closed by the server: one new bind tells.
            if fresh or error.code != "directory_unreachable":
                raise
            return self._connection.search(self._base, text, _ATTRIBUTES, subtree=True)

    def _entry(self, raw: RawEntry) -> Entry | None:
        parts = parse_dn(raw.dn)
        if parts == self._base_parts:
            return None
        return Entry(
            dn=raw.dn,
            usernames=raw.texts("uid"),
            uid_numbers=_numbers(raw),
            entry_uuid=_uuid(raw),
            values=raw.values(ATTRIBUTE),
            direct=parts[1:] == self._base_parts,
        )


def _missing(targets: Sequence[Target], found: dict[str, Entry]) -> list[Target]:
    seen = {entry.entry_uuid for entry in found.values()}
    return [target for target in targets if target.entry_uuid not in seen]


def _uuid(raw: RawEntry) -> UUID | None:
    try:
        return UUID(raw.texts("entryUUID")[0])
    except (IndexError, ValueError):
        return None


def _numbers(raw: RawEntry) -> tuple[int, ...]:
    texts = raw.texts("uidNumber")
    return tuple(map(int, texts)) if all(map(_NUMBER.fullmatch, texts)) else ()
