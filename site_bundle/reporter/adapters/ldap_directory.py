"""People and groups of the directory: one search each, whole or unavailable (B05–B09)."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from site_bundle.directory.connection import LdapConnection
from site_bundle.directory.entries import RawEntry
from site_bundle.directory.errors import DirectoryUnavailableError
from site_bundle.reporter.domain.policy import Range
from site_bundle.reporter.domain.sources import Directory, Person, fold

PAGE = 500  # entries ldap3 holds at once


class LdapDirectory:
    """The port `People`. The connection is bound for one pass: an idle one may be dead (B12)."""

    def __init__(
        self, connection: LdapConnection, *, people_base: str, groups_base: str, gids: Range
    ) -> None:
        self._connection = connection
        self._people_base = people_base
        self._groups_base = groups_base
        self._gids = gids

    def read(self) -> Directory:
        try:
            return self._read()
        finally:
            self._connection.close()

    def _read(self) -> Directory:
        people: dict[str, list[Person]] = {}
        wanted = ("uid", "uidNumber", "gidNumber", "entryUUID")
        for entry in self._all(self._people_base, "posixAccount", wanted):
            person = Person(_uuid(entry), _number(entry, "uidNumber"), _number(entry, "gidNumber"))
            for name in entry.texts("uid"):
                people.setdefault(name, []).append(person)
        members: set[str] = set()
        group_ids: set[int] = set()
        for entry in self._all(self._groups_base, "posixGroup", ("gidNumber", "memberUid")):
            number = _number(entry, "gidNumber")
            if number is not None and number in self._gids:
                group_ids.add(number)
                members.update(entry.texts("memberUid"))
        shown = {name: tuple(found) for name, found in people.items()}
        folded = frozenset(fold(name) for name in people if name != fold(name))
        return Directory(shown, frozenset(members), frozenset(group_ids), folded)

    def _all(self, base: str, kind: str, attributes: tuple[str, ...]) -> Iterator[RawEntry]:
        """Every entry of the class `kind`. None is believed only while the base itself can be read (B06)."""
        empty = True
        for entry in self._connection.search_paged(base, f"(objectClass={kind})", attributes, page=PAGE):
            empty = False
            yield entry
        if empty and not self._connection.search(base, "(objectClass=*)", ("objectClass",), subtree=False):
            raise DirectoryUnavailableError(
                "directory_unreadable",
                found=f"{base} is not shown to this identity",
                wanted="read access, so that no account can be told from a hidden one",
                remedy="compare slapd's access rules with the proposed policy",
            )


def _uuid(entry: RawEntry) -> UUID | None:
    texts = entry.texts("entryUUID")
    try:
        return UUID(texts[0]) if len(texts) == 1 else None
    except ValueError:
        return None


def _number(entry: RawEntry, name: str) -> int | None:
    texts = entry.texts(name)
    plain = len(texts) == 1 and texts[0].isascii() and texts[0].isdecimal() and len(texts[0]) <= 10
    return int(texts[0]) if plain else None
