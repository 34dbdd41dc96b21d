"""One LDAP connection over ldapi with SASL EXTERNAL (I8): no password exists, slapd knows the process by
its uid.

1. Who-am-I is asked after every bind and compared with the configured identity before anything else (B11).
2. A connection that failed once is closed and never used again; the next call binds anew (B12).
3. A change adds or deletes one value of one attribute (B02, B17). Values are bytes, in and out (B16).
4. A referral, a cut answer or a dead server is DirectoryUnavailableError, never "no entries" (B05, B07,
   B09).

Another way to reach a server or to bind is a subclass with its own `_open` and `_bind_request`.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

from site_bundle.directory import messages
from site_bundle.directory.channel import Answer, Channel, DirectoryLimits
from site_bundle.directory.entries import RawEntry
from site_bundle.directory.errors import (
    DEFINITE,
    NO_SUCH_ATTRIBUTE,
    NO_SUCH_OBJECT,
    REFERRAL,
    SUCCESS,
    TYPE_OR_VALUE_EXISTS,
    DirectoryRefusedError,
    DirectoryUnavailableError,
    WrongIdentityError,
    incomplete,
)
from site_bundle.directory.names import parse_dn

__all__ = ["DirectoryLimits", "LdapConnection", "LdapiConnection"]


class LdapConnection:
    """A component's one connection. Every call raises DirectoryUnavailableError when there is no whole
    answer.

    `where` names the server for people; `identity` is the DN slapd must know this process by.
    """

    bind_wanted = ""
    bind_remedy = ""

    def __init__(self, *, where: str, identity: str, limits: DirectoryLimits) -> None:
        self._where = where
        self._identity = identity
        self._wanted = parse_dn(identity)
        self._limits = limits
        self._channel: Channel | None = None
        self.binds = 0  # how often a verified bind was made

    def _open(self) -> socket.socket:
        """A connected socket. OSError."""
        raise NotImplementedError

    def _bind_request(self) -> bytes:
        """The bind that makes this process `identity`."""
        raise NotImplementedError

    def ensure_bound(self) -> bool:
        """Binds and verifies the identity unless that is done; True when this call made a new bind."""
        if self._channel is not None:
            return False
        channel = self._bind()
        try:
            self._verify(channel)
        except BaseException:
            channel.close()
            raise
        self._channel = channel
        self.binds += 1
        return True

    def search(self, base: str, text: str, attributes: Sequence[str], *, subtree: bool) -> list[RawEntry]:
        """Entries matching the filter `text`, in and below `base` (`subtree`) or `base` alone; never a part
        of them.

        A base that does not exist is DirectoryUnavailableError too: it was configured to exist.
        """
        scope = messages.SUBTREE if subtree else messages.BASE
        seconds = self._limits.answer_seconds
        answer = self._call(messages.search(base, text, attributes, scope=scope, seconds=seconds))
        result = self._result(answer, messages.DONE)
        if result.code == NO_SUCH_OBJECT:
            raise DirectoryUnavailableError(
                "directory_base_missing",
                found=f"{base} does not exist or may not be read",
                wanted="a readable entry",
                remedy="correct the bases of ldap in the profile, or slapd's access rules",
            )
        if result.code != SUCCESS:
            raise incomplete(result.code, result.text)
        return [self._entry(tag, content) for tag, content in answer[:-1]]

    def add_value(self, dn: str, attribute: str, value: bytes) -> bool:
        """Adds one value; False when it is there already (B01). DirectoryRefusedError when refused for
        good.
        """
        return self._modify(dn, attribute, messages.ADD, value, already=TYPE_OR_VALUE_EXISTS)

    def delete_value(self, dn: str, attribute: str, value: bytes) -> bool:
        """Deletes exactly these stored bytes; False when they are gone already (B02)."""
        return self._modify(dn, attribute, messages.DELETE, value, already=NO_SUCH_ATTRIBUTE)

    def who_am_i(self) -> str:
        """The authorization identity slapd gives this connection, for example `dn:cn=…` (RFC 4532)."""
        channel = self._channel or self._bind()
        try:
            return self._who_am_i(channel)
        finally:
            if channel is not self._channel:
                channel.close()

    def close(self) -> None:
        """Ends the connection; the next call binds anew."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def _modify(self, dn: str, attribute: str, change: int, value: bytes, *, already: int) -> bool:
        answer = self._call(messages.modify(dn, attribute, change, value))
        result = self._result(answer, messages.MODIFY_RESPONSE)
        if result.code in {SUCCESS, already}:
            return result.code == SUCCESS
        if result.code in DEFINITE:
            raise DirectoryRefusedError(
                "directory_refused",
                result=result.code,
                found=f"result {result.code} {DEFINITE[result.code]}",
                wanted=f"the right to change single values of {attribute} below the people's base",
                remedy="compare slapd's access rules with the proposed policy",
            )
        raise incomplete(result.code, result.text)

    def _call(self, operation: bytes) -> Answer:
        """One LDAP operation on a verified connection; any transport fault ends that connection."""
        self.ensure_bound()
        assert self._channel is not None  # noqa: S101 - ensure_bound raises otherwise
        try:
            return self._channel.ask(operation)
        except OSError as error:
            self.close()
            raise self._down(error) from error
        except BaseException:
            self.close()  # interrupted: the next answer on it could be this call's
            raise

    def _bind(self) -> Channel:
        try:
            channel = Channel(self._open(), self._limits)
        except OSError as error:
            raise self._down(error) from error
        try:
            result = self._result(channel.ask(self._bind_request()), messages.BIND_RESPONSE)
        except OSError as error:
            channel.close()
            raise self._down(error) from error
        except BaseException:
            channel.close()
            raise
        if result.code != SUCCESS:
            channel.close()
            raise DirectoryUnavailableError(
                "directory_bind_refused",
                found=f"{self._where}: result {result.code} {result.text[:200]}".strip(),
                wanted=self.bind_wanted,
                remedy=self.bind_remedy,
            )
        return channel

    def _verify(self, channel: Channel) -> None:
        found = self._who_am_i(channel)
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
                remedy="map the uid of the component's user to that entry (olcAuthzRegexp), or run as it",
            )

    def _who_am_i(self, channel: Channel) -> str:
        try:
            answer = channel.ask(messages.who_am_i())
        except OSError as error:
            raise self._down(error) from error
        result = self._result(answer, messages.EXTENDED_RESPONSE)
        if result.code != SUCCESS:
            raise incomplete(result.code, result.text)
        return result.value.decode("utf-8", "replace")

    def _result(self, answer: Answer, wanted: int) -> messages.Result:
        """The result at the end of `answer`, of the operation `wanted`."""
        tag, content = answer[-1]
        try:
            if tag != wanted:
                raise ValueError("an answer to another operation")
            return messages.read_result(content)
        except ValueError as error:
            self.close()
            raise self._down(error) from error

    def _entry(self, tag: int, content: bytes) -> RawEntry:
        if tag != messages.ENTRY:
            # A continuation reference: part of the answer lies elsewhere, so this is not the whole (B09).
            raise incomplete(REFERRAL, "searchResRef")
        try:
            dn, shown = messages.read_entry(content)
        except ValueError as error:
            self.close()
            raise self._down(error) from error
        merged: dict[str, tuple[bytes, ...]] = {}
        for name, values in shown:
            plain = name.partition(";")[0].lower()
            merged[plain] = merged.get(plain, ()) + values
        return RawEntry(dn=dn, attributes=merged)

    def _down(self, error: Exception) -> DirectoryUnavailableError:
        if isinstance(error, TimeoutError):
            return DirectoryUnavailableError(
                "directory_no_answer",
                found=f"{self._where}: no answer in time",
                wanted="slapd's answer on its socket",
                remedy="look at slapd's log and load; it is tried again",
            )
        return DirectoryUnavailableError(
            "directory_unreachable",
            found=f"{self._where}: {getattr(error, 'strerror', None) or error}",
            wanted="slapd's answer on its socket",
            remedy="systemctl status slapd; it is tried again",
        )


class LdapiConnection(LdapConnection):
    """Over the server's own socket, as whoever the process is (SASL EXTERNAL)."""

    bind_wanted = "SASL EXTERNAL over the socket"
    bind_remedy = "slapd must offer EXTERNAL on ldapi (it does by default with Cyrus SASL)"

    def __init__(self, *, socket_path: Path, identity: str, limits: DirectoryLimits) -> None:
        super().__init__(where=str(socket_path), identity=identity, limits=limits)
        self._socket_path = socket_path

    def _open(self) -> socket.socket:
        plain = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            plain.settimeout(self._limits.connect_seconds)
            plain.connect(str(self._socket_path))
        except BaseException:
            plain.close()
            raise
        return plain

    def _bind_request(self) -> bytes:
        return messages.bind_external()
