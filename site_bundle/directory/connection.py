"""One LDAP connection, bound and verified; over ldapi with SASL EXTERNAL (I8) no password exists and slapd
knows the process by its uid.

1. Who-am-I is asked after every bind and compared with the configured identity before anything else (B11).
2. A connection that failed once is closed and never used again; the next call binds anew (B12).
3. A change adds or deletes one value of one attribute (B02, B17). Values are bytes, in and out (B16).
4. LDAP is spoken by ldap3, whatever its weight: no protocol code of our own (docs/adr/0002).
5. A referral, a cut answer or a dead server is DirectoryUnavailableError, never "no entries" (B05, B07,
   B09). A search leaves out what rules hide; `stands` tells hidden from gone.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from site_bundle.directory.entries import RawEntry
from site_bundle.directory.errors import (
    ASSERTION_FAILED,
    COMPARE_FALSE,
    COMPARE_TRUE,
    DEFINITE,
    NO_SUCH_ATTRIBUTE,
    NO_SUCH_OBJECT,
    SUCCESS,
    TYPE_OR_VALUE_EXISTS,
    DirectoryRefusedError,
    DirectoryUnavailableError,
    WrongIdentityError,
    incomplete,
)
from site_bundle.directory.ldap3_parts import load_ldap3
from site_bundle.directory.names import ldapi_url, parse_dn

_PAGED = "1.2.840.113556.1.4.319"  # RFC 2696
# RFC 4528, critical: the change is made only if the entry matches (!(objectClass=*)), which none does.
_NEVER = ("1.3.6.1.1.12", True, b"\xa2\x0d\x87\x0bobjectClass")


@dataclass(frozen=True, slots=True)
class DirectoryLimits:
    """Seconds; `pages`: of one paged search, far above any directory's, so that no server is followed for
    ever.
    """

    connect_seconds: float = 5.0
    answer_seconds: int = 10
    pages: int = 10_000


class LdapConnection:
    """A component's one connection. Every call raises DirectoryUnavailableError when there is no whole
    answer.

    `where` names the server for people; `identity` is the DN slapd must know this process by. How it is
    reached and how it binds is the subclass's.
    """

    url: str
    bind_wanted: str
    bind_remedy: str
    identity_remedy: str

    def __init__(self, *, where: str, identity: str, limits: DirectoryLimits) -> None:
        self._where = where
        self._identity = identity
        self._wanted = parse_dn(identity)
        self._limits = limits
        self._connection: Any = None

    def _credentials(self, ldap3: Any) -> dict[str, Any]:
        """ldap3's arguments of the bind that makes this process `identity`."""
        raise NotImplementedError

    def ensure_bound(self) -> bool:
        """Binds and verifies the identity unless that is done; True when this call made a new bind."""
        if self._connection is not None:
            return False
        connection = self._bind()
        try:
            self._verify(connection)
        except BaseException:
            _discard(connection)
            raise
        self._connection = connection
        return True

    def search(self, base: str, text: str, attributes: Sequence[str], *, subtree: bool) -> list[RawEntry]:
        """Entries matching the filter `text`, in and below `base` (`subtree`) or `base` alone; never a part
        of them.

        A base that does not exist is DirectoryUnavailableError too: it was configured to exist.
        """
        result, answer = self._search(base, text, attributes, subtree=subtree)
        return _whole(base, result, answer)

    def search_paged(
        self, base: str, text: str, attributes: Sequence[str], *, page: int
    ) -> Iterator[RawEntry]:
        """As `search` below `base`, in pages of `page` entries (RFC 2696), so that no answer is held whole. A
        server without paging answers at once. What a caller took before an error is not the whole.
        """
        cookie: bytes | None = None
        for _ in range(self._limits.pages):
            result, answer = self._search(
                base, text, attributes, subtree=True, paged_size=page, paged_cookie=cookie
            )
            yield from _whole(base, result, answer)
            control = (result.get("controls") or {}).get(_PAGED)
            cookie = control["value"]["cookie"] if control else None
            if not cookie:
                return
        raise DirectoryUnavailableError(
            "directory_endless",
            found=f"{base}: more than {self._limits.pages} pages",
            wanted="a last page (RFC 2696)",
            remedy="look at slapd's paging and at what stands below that base",
        )

    def _search(
        self, base: str, text: str, attributes: Sequence[str], *, subtree: bool, **more: Any
    ) -> tuple[dict[str, Any], list[Any]]:
        return self._call(
            "search",
            search_base=base,
            search_filter=text,
            search_scope="SUBTREE" if subtree else "BASE",
            attributes=list(attributes),
            time_limit=self._limits.answer_seconds,
            **more,
        )

    def compare(self, dn: str, attribute: str, value: str) -> bool | None:
        """Whether the entry has that value (RFC 4511, 4.10); None where the server does not say."""
        result, _ = self._call("compare", dn=dn, attribute=attribute, value=value)
        code = int(result["result"])
        if code in {COMPARE_FALSE, NO_SUCH_ATTRIBUTE}:
            return False
        return True if code == COMPARE_TRUE else None

    def stands(self, dn: str) -> bool | None:
        """Whether an entry stands at `dn`, whatever this identity may see of it; None: not said.

        Asked by a change that cannot be made (`_NEVER`). slapd looks for the entry and tries the assertion
        before any access rule, so a hidden one is assertionFailed and only a missing one is noSuchObject,
        where a search is noSuchObject for both unless `disclose` is granted (slapd.access(5)).
        """
        result, _ = self._call(
            "modify", dn=dn, changes={"objectClass": [("MODIFY_ADD", ["top"])]}, controls=[_NEVER]
        )
        return {ASSERTION_FAILED: True, NO_SUCH_OBJECT: False}.get(int(result["result"]))

    def add_value(self, dn: str, attribute: str, value: bytes) -> bool:
        """Adds one value; False when it is there already (B01). DirectoryRefusedError when refused for
        good.
        """
        return self._modify(dn, attribute, "MODIFY_ADD", value, already=TYPE_OR_VALUE_EXISTS)

    def delete_value(self, dn: str, attribute: str, value: bytes) -> bool:
        """Deletes exactly these stored bytes; False when they are gone already (B02)."""
        return self._modify(dn, attribute, "MODIFY_DELETE", value, already=NO_SUCH_ATTRIBUTE)

    def who_am_i(self) -> str:
        """The authorization identity slapd gives this connection, for example `dn:cn=…` (RFC 4532)."""
        connection = self._connection or self._bind()
        try:
            return _who_am_i(connection)
        finally:
            if connection is not self._connection:
                _discard(connection)

    def close(self) -> None:
        """Ends the connection; the next call binds anew."""
        connection, self._connection = self._connection, None
        if connection is not None:
            _discard(connection)

    def _modify(self, dn: str, attribute: str, change: str, value: bytes, *, already: int) -> bool:
        result, _ = self._call("modify", dn=dn, changes={attribute: [(change, [value])]})
        code = int(result["result"])
        if code == SUCCESS:
            return True
        if code == already:
            return False
        if code in DEFINITE:
            raise DirectoryRefusedError(
                "directory_refused",
                result=code,
                found=f"result {code} {DEFINITE[code]}",
                wanted=f"the right to change single values of {attribute} below the people's base",
                remedy="compare slapd's access rules with the release's docs/policy",
            )
        raise incomplete(code, str(result.get("description", "")))

    def _call(self, method: str, **arguments: Any) -> tuple[dict[str, Any], list[Any]]:
        """One LDAP operation on a verified connection; any transport fault ends that connection."""
        self.ensure_bound()
        from ldap3.core.exceptions import LDAPException

        connection = self._connection
        try:
            getattr(connection, method)(**arguments)
            return dict(connection.result), list(connection.response or [])
        except (LDAPException, OSError) as error:
            self.close()
            raise _down(self._where, error) from error
        except BaseException:
            self.close()  # interrupted: the next answer on it could be this call's
            raise

    def _bind(self) -> Any:
        ldap3 = load_ldap3()
        from ldap3.core.exceptions import LDAPException

        server = ldap3.Server(self.url, get_info=ldap3.NONE, connect_timeout=self._limits.connect_seconds)
        connection = ldap3.Connection(
            server,
            **self._credentials(ldap3),
            auto_referrals=False,
            check_names=False,  # DNs and values go out as they came in (B03, B16)
            auto_encode=False,
            receive_timeout=self._limits.answer_seconds,
        )
        try:
            bound = connection.bind()
        except (LDAPException, OSError) as error:
            _discard(connection)
            raise _down(self._where, error) from error
        except BaseException:
            _discard(connection)
            raise
        if not bound:
            result = dict(connection.result or {})
            _discard(connection)
            raise DirectoryUnavailableError(
                "directory_bind_refused",
                found=f"{self._where}: result {result.get('result')} {result.get('description', '')}",
                wanted=self.bind_wanted,
                remedy=self.bind_remedy,
            )
        return connection

    def _verify(self, connection: Any) -> None:
        found = _who_am_i(connection)
        kind, _, name = found.partition(":")
        try:
            same = kind == "dn" and parse_dn(name) == self._wanted
        except ValueError:
            same = False
        if not same:
            raise WrongIdentityError(
                "directory_identity",
                found=f"slapd knows this process as {found or 'anonymous'}",
                wanted=f"dn:{self._identity}",
                remedy=self.identity_remedy,
            )


class LdapiConnection(LdapConnection):
    """Over the server's own socket, as whoever the process is (SASL EXTERNAL)."""

    bind_wanted = "SASL EXTERNAL over the socket"
    bind_remedy = "slapd must offer EXTERNAL on ldapi (it does by default with Cyrus SASL)"
    identity_remedy = (
        "map the uid of the component's user to that entry (olcAuthzRegexp), or run as that user"
    )

    def __init__(self, *, socket_path: Path, identity: str, limits: DirectoryLimits) -> None:
        super().__init__(where=str(socket_path), identity=identity, limits=limits)
        self.url = ldapi_url(socket_path)

    def _credentials(self, ldap3: Any) -> dict[str, Any]:
        return {
            "authentication": ldap3.SASL,
            "sasl_mechanism": ldap3.EXTERNAL,
            "sasl_credentials": "",  # None would leave the bind in progress
        }


def _who_am_i(connection: Any) -> str:
    from ldap3.core.exceptions import LDAPException

    try:
        return str(connection.extend.standard.who_am_i() or "")
    except (LDAPException, OSError) as error:
        raise DirectoryUnavailableError(
            "directory_unavailable",
            found=f"who-am-I got no answer: {type(error).__name__}",
            remedy="look at slapd",
        ) from error


def _whole(base: str, result: dict[str, Any], answer: list[Any]) -> list[RawEntry]:
    if result["result"] == NO_SUCH_OBJECT:
        raise DirectoryUnavailableError(
            "directory_base_missing",
            found=f"{base} does not exist or may not be read",
            wanted="a readable entry",
            remedy="correct the bases of ldap in the profile, or slapd's access rules",
        )
    if result["result"] != SUCCESS:
        raise incomplete(result["result"], str(result.get("description", "")))
    return [_entry(item) for item in answer]


def _entry(item: dict[str, Any]) -> RawEntry:
    if item.get("type") != "searchResEntry":
        # A continuation reference: part of the answer lies elsewhere, so this is not the whole (B09).
        raise incomplete(10, "searchResRef")
    merged: dict[str, tuple[bytes, ...]] = {}
    for name, values in item["raw_attributes"].items():
        plain = name.partition(";")[0].lower()
        merged[plain] = merged.get(plain, ()) + tuple(bytes(value) for value in values)
    return RawEntry(dn=item["dn"], attributes=merged)


def _down(where: str, error: BaseException) -> DirectoryUnavailableError:
    if type(error).__name__ in {"LDAPSocketReceiveError", "LDAPResponseTimeoutError"}:
        return DirectoryUnavailableError(
            "directory_no_answer",
            found=f"{where}: no answer in time",
            wanted="slapd's answer",
            remedy="look at slapd's log and load; it is tried again",
        )
    return DirectoryUnavailableError(
        "directory_unreachable",
        found=f"{where}: {type(error).__name__}",
        wanted="slapd's answer",
        remedy="systemctl status slapd; it is tried again",
    )


def _discard(connection: Any) -> None:
    """Closes the socket whatever state ldap3 left it in (a failed bind leaves it open)."""
    plain = connection.socket
    with suppress(Exception):
        connection.strategy.close()
    if isinstance(plain, socket.socket):
        with suppress(OSError):
            plain.close()
