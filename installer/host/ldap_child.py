"""Run as the component's identity: binds to the directory and tries what it may and may not write (I7, I8,
I9).

``python -I -m installer.host.ldap_child`` reads one JSON object ``{socket, probe_entry, writes}`` from
stdin and writes one
JSON object to stdout: ``{identity, steps: [{name, wanted, found}]}``. Writes go to the administrators'
probe entry alone,
and whatever a wrongly permitted write changed is put back at once.

ldap3 2.9.1: the socket's path must be in the URL, and ``sasl_credentials`` must be empty text, not None.
"""

import json
import sys
from collections.abc import Callable, Mapping

from ldap3 import (
    BASE,
    EXTERNAL,
    MODIFY_ADD,
    MODIFY_DELETE,
    MODIFY_REPLACE,
    NONE,
    SASL,
    Connection,
    Server,
)
from ldap3.core.exceptions import LDAPException, LDAPInsufficientAccessRightsResult, LDAPOperationResult

PROBE_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA pharos-probe"
ALLOWED, REFUSED = "allowed", "insufficientAccessRights"
FORBIDDEN: dict[str, str] = {
    "loginShell": "/bin/sh",
    "homeDirectory": "/nonexistent",
    "uidNumber": "0",
    "gidNumber": "0",
    "cn": "pharos-probe-forbidden",
}
_SECONDS = 10


def main() -> int:
    """Do what stdin asks; 0 with an answer on stdout, 1 with the reason on stderr."""
    request = json.loads(sys.stdin.read())
    server = Server(f"ldapi://{request['socket']}", get_info=NONE, connect_timeout=_SECONDS)
    connection = Connection(
        server,
        authentication=SASL,
        sasl_mechanism=EXTERNAL,
        sasl_credentials="",
        raise_exceptions=True,
        receive_timeout=_SECONDS,
        auto_referrals=False,
    )
    try:
        connection.bind()
        identity = connection.extend.standard.who_am_i()
        steps = probe(connection, request["probe_entry"]) if request["writes"] else []
    except LDAPException as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    finally:
        connection.unbind()
    json.dump({"identity": str(identity or ""), "steps": steps}, sys.stdout)
    return 0


def probe(connection: Connection, entry: str) -> list[dict[str, str]]:
    """Try the allowed and the forbidden writes on ``entry``; each step's outcome in words."""
    before = _read(connection, entry)
    steps = [_step("read the probe entry", ALLOWED, ALLOWED)]
    key = {"sshPublicKey": [(MODIFY_ADD, [PROBE_KEY])]}
    drop = {"sshPublicKey": [(MODIFY_DELETE, [PROBE_KEY])]}
    if PROBE_KEY in before.get("sshPublicKey", []):
        _try(connection, entry, drop)
    steps.append(_step("add a key", ALLOWED, _try(connection, entry, key)))
    steps.append(_step("read the key back", ALLOWED, _there(connection, entry, PROBE_KEY)))
    steps.append(_step("delete the key", ALLOWED, _try(connection, entry, drop)))
    for attribute, value in FORBIDDEN.items():
        steps.append(_forbidden(connection, entry, attribute, value, before))
    steps.append(_forbidden_password(connection, entry))
    mixed = {**key, "loginShell": [(MODIFY_REPLACE, [FORBIDDEN["loginShell"]])]}
    outcome = _try(connection, entry, mixed)
    if outcome == ALLOWED:
        _try(connection, entry, {**drop, "loginShell": [(MODIFY_REPLACE, before.get("loginShell", []))]})
    steps.append(_step("write a key and loginShell at once", REFUSED, outcome))
    steps.append(_forbidden_rename(connection, entry))
    after = _read(connection, entry)
    same = ALLOWED if after == before else "it differs from before the probe"
    steps.append(_step("leave the probe entry as it was", ALLOWED, same))
    return steps


def _forbidden(
    connection: Connection, entry: str, attribute: str, value: str, before: Mapping[str, list[str]]
) -> dict[str, str]:
    # Its own values again where it has some: that takes the same right, a constraint of the site (on number
    # ranges, say) has nothing to answer first, and nothing changes where it is wrongly allowed.
    own = before.get(attribute, [])
    outcome = _try(connection, entry, {attribute: [(MODIFY_REPLACE, own or [value])]})
    if outcome == ALLOWED and not own:
        _try(connection, entry, {attribute: [(MODIFY_REPLACE, [])]})
    return _step(f"write {attribute}", REFUSED, outcome)


def _forbidden_password(connection: Connection, entry: str) -> dict[str, str]:
    """Added by value and taken back by value: an existing password cannot be read to be restored."""
    value = "{CRYPT}!pharos-probe"
    outcome = _try(connection, entry, {"userPassword": [(MODIFY_ADD, [value])]})
    if outcome == ALLOWED:
        _try(connection, entry, {"userPassword": [(MODIFY_DELETE, [value])]})
    return _step("write userPassword", REFUSED, outcome)


def _forbidden_rename(connection: Connection, entry: str) -> dict[str, str]:
    first, _, parent = entry.partition(",")
    renamed = f"{first}-forbidden"
    outcome = _attempt(lambda: connection.modify_dn(entry, renamed))
    if outcome == ALLOWED:
        _attempt(lambda: connection.modify_dn(f"{renamed},{parent}", first))
    return _step("rename the entry", REFUSED, outcome)


def _read(connection: Connection, entry: str) -> dict[str, list[str]]:
    names = ["sshPublicKey", *FORBIDDEN]
    connection.search(entry, "(objectClass=*)", BASE, attributes=names)
    found = [item["raw_attributes"] for item in connection.response or [] if item["type"] == "searchResEntry"]
    if len(found) != 1:
        raise LDAPException(f"{len(found)} entries where the probe entry was wanted")
    return {
        name: sorted(value.decode("utf-8", errors="replace") for value in values)
        for name, values in found[0].items()
        if values
    }


def _there(connection: Connection, entry: str, value: str) -> str:
    return ALLOWED if value in _read(connection, entry).get("sshPublicKey", []) else "it is not there"


def _try(connection: Connection, entry: str, changes: Mapping[str, object]) -> str:
    return _attempt(lambda: connection.modify(entry, dict(changes)))  # type: ignore[no-untyped-call]


def _attempt(change: Callable[[], object]) -> str:
    try:
        change()
    except LDAPInsufficientAccessRightsResult:
        return REFUSED
    except LDAPOperationResult as error:
        return str(error.description)
    return ALLOWED


def _step(name: str, wanted: str, found: str) -> dict[str, str]:
    return {"name": name, "wanted": wanted, "found": found}


if __name__ == "__main__":
    sys.exit(main())
