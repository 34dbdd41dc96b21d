"""Numbers of a directory entry: plain digits, no longer than an id, else never absent (D10, D13)."""

from __future__ import annotations

import pytest

from site_bundle.directory.entries import RawEntry
from site_bundle.reporter.adapters.ldap_directory import _number
from site_bundle.ssh_access.adapters.ldap_people import _numbers


def entry(*values: str) -> RawEntry:
    return RawEntry("uid=alice,dc=x", {"uidnumber": tuple(value.encode() for value in values)})


@pytest.mark.parametrize(
    "text", ["1" * 5000, "１２", "1_000", "+5", "-5", " 5", "5\n", "", "5.0", "0x5", "99999999999", "\ufffd"]
)
def test_d10_d13_what_is_no_plain_number_is_unreadable(text: str) -> None:
    """An integer of LDAP has no end; Python's `int` would raise, or read digits of other scripts."""
    assert _numbers(entry(text)) == _numbers(entry("5000001", text)) == ()
    assert _number(entry(text), "uidNumber") is None


def test_d13_plain_digits() -> None:
    assert _numbers(entry("5000001")) == (5000001,) and _number(entry("5000001"), "uidNumber") == 5000001
    assert _numbers(entry("5000001", "5000002")) == (5000001, 5000002), "two are shown as two"
    assert _number(entry("5000001", "5000002"), "uidNumber") is None
    assert _numbers(RawEntry("uid=alice,dc=x", {})) == ()
