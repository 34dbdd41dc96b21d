"""People and groups of the directory: one search each, whole or unavailable (B05–B09); what they do not show
is asked for by its own name (X1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

from site_bundle.directory.connection import LdapConnection
from site_bundle.directory.entries import RawEntry
from site_bundle.directory.errors import DirectoryUnavailableError
from site_bundle.directory.names import parse_dn
from site_bundle.kernel.ranges import NumberRange
from site_bundle.reporter.domain.presence import Claim, Presence
from site_bundle.reporter.domain.sources import Directory, Person, fold

PAGE = 500  # entries ldap3 holds at once


class LdapDirectory:
    """The port `People`. The connection is bound for one pass: an idle one may be dead (B12)."""

    def __init__(
        self, connection: LdapConnection, *, people_base: str, groups_base: str, gids: NumberRange
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

    def prove(self, claims: Sequence[Claim]) -> tuple[Presence, ...]:
        try:
            return tuple(self._presence(claim) for claim in claims)
        finally:
            self._connection.close()

    def _presence(self, claim: Claim) -> Presence:
        """Gone where a value is proven missing, or the whole entry; else there, though not shown."""
        dn = claim.dn or f"uid={claim.name},{self._people_base}"
        said = [self._connection.compare(dn, name, value) for name, value in claim.values]
        if False in said:
            return Presence.GONE
        if None not in said:
            return Presence.THERE
        stands = self._connection.stands(dn)
        if stands is None:
            return Presence.UNKNOWN
        return Presence.THERE if stands else Presence.GONE

    def _read(self) -> Directory:
        people: dict[str, list[Person]] = {}
        usual = True
        place = _Place(self._people_base)
        wanted = ("uid", "uidNumber", "gidNumber", "entryUUID")
        for entry in self._all(self._people_base, "posixAccount", wanted):
            names = entry.texts("uid")
            dn = "" if place.usual(entry.dn, names) else entry.dn
            usual = usual and not dn
            numbers = _number(entry, "uidNumber"), _number(entry, "gidNumber")
            person = Person(_uuid(entry), *numbers, dn)
            for name in names:
                people.setdefault(name, []).append(person)
        members: dict[str, str] = {}
        group_ids: dict[int, str] = {}
        for entry in self._all(self._groups_base, "posixGroup", ("gidNumber", "memberUid")):
            number = _number(entry, "gidNumber")
            if number is not None and number in self._gids:
                group_ids[number] = entry.dn
                members.update(dict.fromkeys(entry.texts("memberUid"), entry.dn))
        shown = {name: tuple(found) for name, found in people.items()}
        folded = frozenset(fold(name) for name in people if name != fold(name))
        return Directory(shown, members, group_ids, folded, usual=usual and bool(people))

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


class _Place:
    """The usual place of a person: right below the base, named by the one `uid`."""

    def __init__(self, base: str) -> None:
        self._base = parse_dn(base)
        self._same: dict[str, bool] = {}  # what stands behind the first comma, written so; few ways

    def usual(self, dn: str, names: tuple[str, ...]) -> bool:
        rdn, _, rest = dn.partition(",")
        if len(names) != 1 or rdn.partition("=")[::2] != ("uid", names[0]):
            return False
        if rest not in self._same:
            self._same[rest] = parse_dn(rest) == self._base
        return self._same[rest]


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
