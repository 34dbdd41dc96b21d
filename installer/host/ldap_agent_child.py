"""Run as ``pharos-agent``: binds to the directory with the password, counts both bases, and tries what it
may not write (I7, I8, I9, S8).

``python -I -m installer.host.ldap_agent_child`` reads one JSON object ``{url, bind_dn, password, bases:
[[name, class]], probe_entry}`` from stdin and writes one to stdout: ``{identity, bases: [{name, outcome,
listed, held}], steps: [{name, wanted, found}], absence: [the same]}``, with
``credentials_refused`` true where name and password do not open the directory.

The password is never in argv, environment or output (X5). Writes go to the administrators' probe entry
alone, and whatever a wrongly permitted write changed is put back at once. When the server cuts a list, the
entries are counted in slices of their entryUUIDs, so that the answer can say how many there are (X1).
"""

import json
import sys
import time
import uuid
from collections.abc import Mapping
from typing import Any

from ldap3 import BASE, MODIFY_ADD, MODIFY_DELETE, MODIFY_REPLACE, NONE, SIMPLE, SUBTREE, Connection, Server
from ldap3.core.exceptions import LDAPException

from installer.host.ldap_child import PROBE_KEY

REFUSED = "refused"
COMPLETE, CUT, ABSENT = "complete", "cut", "absent"
_SUCCESS, _NO_SUCH_OBJECT, _INVALID_CREDENTIALS = 0, 32, 49
_CUT_BY = frozenset({4, 11})
"""sizeLimitExceeded, adminLimitExceeded."""
_PAGED = "1.2.840.113556.1.4.319"  # RFC 2696
_PAGE = 500
_DENIED = frozenset({19, 50, 53})
"""constraintViolation, insufficientAccessRights, unwillingToPerform: three ways to say no (RFC 4511)."""
_NEVER = ("1.3.6.1.1.12", True, b"\xa2\x0d\x87\x0bobjectClass")
"""RFC 4528, critical: only if the entry matches (!(objectClass=*)), which none does."""
_THERE, _MISSING = "assertionFailed", "noSuchObject"
_WORDS = {122: _THERE, 32: _MISSING}
_SECONDS = 15
_SLICES = 512
"""Searches one count may take; enough for a hundred thousand entries at a limit of 500."""
_COUNT_SECONDS = 5.0
"""How long the counting of one base may take; the whole probe has a deadline, and says the rest anyway."""
_HEX = "0123456789abcdef"
_ZERO, _LAST = "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"


def main() -> int:
    """Do what stdin asks; 0 with an answer on stdout, 1 with the reason on stderr."""
    request = json.loads(sys.stdin.read())
    server = Server(request["url"], get_info=NONE, connect_timeout=_SECONDS)
    connection = Connection(
        server,
        user=request["bind_dn"],
        password=request["password"],
        authentication=SIMPLE,
        raise_exceptions=False,
        receive_timeout=_SECONDS,
        auto_referrals=False,
    )
    try:
        if not connection.bind():
            if _result(connection) == _INVALID_CREDENTIALS:
                answer = {
                    "identity": "",
                    "bases": [],
                    "steps": [],
                    "absence": [],
                    "credentials_refused": True,
                }
                json.dump(answer, sys.stdout)
                return 0
            sys.stderr.write(f"the bind is answered with {connection.result['description']}\n")
            return 1
        identity = connection.extend.standard.who_am_i()
        bases = [count(connection, base, kind) for base, kind in request["bases"]]
        absence = tell_absence(connection, request["probe_entry"])
        steps = probe(connection, request["probe_entry"])
    except LDAPException as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    finally:
        connection.unbind()
    answer = {"identity": str(identity or ""), "bases": bases, "steps": steps, "absence": absence}
    json.dump(answer, sys.stdout)
    return 0


def count(connection: Connection, base: str, kind: str) -> dict[str, Any]:
    """How many entries of a class below ``base`` the server lists, and how many there are.

    Listed as the reporter lists them, in pages: slapd counts all pages of one search against its limit,
    unless ``size.prtotal`` says otherwise. ``held`` is None when it could not be counted.
    """
    connection.search(base, "(objectClass=*)", BASE, attributes=["1.1"])
    if _result(connection) == _NO_SUCH_OBJECT:
        return {"name": base, "outcome": ABSENT, "listed": 0, "held": 0}
    code, listed = _list(connection, base, f"(objectClass={kind})")
    if code == _SUCCESS:
        return {"name": base, "outcome": COMPLETE, "listed": listed, "held": listed}
    if code in _CUT_BY:
        return {"name": base, "outcome": CUT, "listed": listed, "held": _slices(connection, base, kind)}
    raise LDAPException(f"{base}: the search is answered with {connection.result['description']}")


def _slices(connection: Connection, base: str, kind: str) -> int | None:
    """Count by entryUUID, one hex digit finer wherever a slice is cut too."""
    held, asked = 0, 0
    waiting = list(_HEX)
    end = time.monotonic() + _COUNT_SECONDS
    while waiting:
        prefix = waiting.pop()
        asked += 1
        if asked > _SLICES or len(prefix) > 8 or time.monotonic() > end:
            return None
        low, high = prefix + _ZERO[len(prefix) :], prefix + _LAST[len(prefix) :]
        code, listed = _list(
            connection, base, f"(&(objectClass={kind})(entryUUID>={low})(entryUUID<={high}))"
        )
        if code == _SUCCESS:
            held += listed
        elif code in _CUT_BY:
            waiting += [prefix + digit for digit in _HEX]
        else:
            return None
    return held


def _list(connection: Connection, base: str, pattern: str) -> tuple[int, int]:
    """Result code and number of entries of one search that asks for no attribute (RFC 4511, 4.5.1.8), in
    pages (RFC 2696).
    """
    listed, cookie = 0, None
    while True:
        connection.search(base, pattern, SUBTREE, attributes=["1.1"], paged_size=_PAGE, paged_cookie=cookie)
        listed += sum(1 for item in connection.response or [] if item["type"] == "searchResEntry")
        control = (connection.result.get("controls") or {}).get(_PAGED)
        cookie = control["value"]["cookie"] if control else None
        if _result(connection) != _SUCCESS or not cookie:
            return _result(connection), listed


def _result(connection: Connection) -> int:
    return int(connection.result["result"])


def probe(connection: Connection, entry: str) -> list[dict[str, str]]:
    """Try the forbidden writes on ``entry``; each step's outcome in words."""
    before = _read(connection, entry)
    key = {"sshPublicKey": [(MODIFY_ADD, [PROBE_KEY])]}
    value = "{CRYPT}!pharos-probe"
    steps = [
        _step(
            "write sshPublicKey",
            _try(connection, entry, key, {"sshPublicKey": [(MODIFY_DELETE, [PROBE_KEY])]}),
        ),
        _step(
            "write userPassword",
            _try(
                connection,
                entry,
                {"userPassword": [(MODIFY_ADD, [value])]},
                {"userPassword": [(MODIFY_DELETE, [value])]},
            ),
        ),
    ]
    own = before.get("uidNumber", [])
    steps.append(
        _step(
            "give uidNumber 0",
            _try(
                connection,
                entry,
                {"uidNumber": [(MODIFY_REPLACE, ["0"])]},
                {"uidNumber": [(MODIFY_REPLACE, own)]},
            ),
        )
    )
    same = "as before" if _read(connection, entry) == before else "it differs from before the probe"
    steps.append({"name": "leave the probe entry as it was", "wanted": "as before", "found": same})
    return steps


def tell_absence(connection: Connection, entry: str) -> list[dict[str, str]]:
    """Ask, as the reporter asks for members who disappeared, for ``entry`` and for one that is not there.

    The change is never made: its assertion holds of no entry (RFC 4528). slapd answers it before any access
    rule, so hidden entries are told from missing ones.
    """
    missing = f"uid=pharos-{uuid.uuid4().hex[:20]},{entry.partition(',')[2]}"
    steps = []
    for name, dn, wanted in (("that is there", entry, _THERE), ("that is not", missing, _MISSING)):
        connection.modify(dn, {"objectClass": [(MODIFY_ADD, ["top"])]}, controls=[_NEVER])  # type: ignore[no-untyped-call]
        found = str(connection.result["description"])
        code = _result(connection)
        steps.append({"name": f"an entry {name}", "wanted": wanted, "found": _WORDS.get(code, found)})
    return steps


def _try(
    connection: Connection, entry: str, changes: Mapping[str, object], back: Mapping[str, object]
) -> str:
    connection.modify(entry, dict(changes))  # type: ignore[no-untyped-call]
    code, words = _result(connection), str(connection.result["description"])
    if code in _DENIED:
        return REFUSED
    if code == _SUCCESS:
        connection.modify(entry, dict(back))  # type: ignore[no-untyped-call]
        return "allowed"
    return words


def _read(connection: Connection, entry: str) -> dict[str, list[str]]:
    connection.search(entry, "(objectClass=*)", BASE, attributes=["sshPublicKey", "uidNumber"])
    found = [item["raw_attributes"] for item in connection.response or [] if item["type"] == "searchResEntry"]
    if len(found) != 1:
        raise LDAPException(f"{len(found)} entries where the probe entry was wanted")
    return {
        name: sorted(value.decode("utf-8", errors="replace") for value in values)
        for name, values in found[0].items()
        if values
    }


def _step(name: str, found: str) -> dict[str, str]:
    return {"name": name, "wanted": REFUSED, "found": found}


if __name__ == "__main__":
    sys.exit(main())
