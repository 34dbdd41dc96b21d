"""LDAP as bytes: what is sent equals what ldap3 sends, what is read is held against RFC 4511's own rules."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from site_bundle.directory import messages
from site_bundle.directory.ber import (
    ENUMERATED,
    OCTETS,
    SEQUENCE,
    SET,
    MalformedBerError,
    element,
    elements,
    integer,
    number,
    whole_length,
)
from site_bundle.directory.filters import filter_bytes
from site_bundle.directory.names import escape_filter_value

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "(tagMap|typeMap) is deprecated", DeprecationWarning)
    import ldap3
    from ldap3.operation.bind import bind_operation
    from ldap3.operation.extended import extended_operation
    from ldap3.operation.modify import modify_operation
    from ldap3.operation.search import search_operation
    from ldap3.protocol.rfc4511 import LDAPMessage, MessageID, ProtocolOp
    from pyasn1.codec.ber.encoder import encode

BASE = "ou=people,dc=icarus,dc=example"


def of_ldap3(name: str, request: Any, number_: int = 7) -> bytes:
    """The whole message as ldap3 encodes it."""
    envelope = LDAPMessage()
    envelope["messageID"] = MessageID(number_)
    envelope["protocolOp"] = ProtocolOp().setComponentByName(name, request)
    return bytes(encode(envelope))


def search_of_ldap3(text: str) -> Any:
    return search_operation(
        BASE, text, ldap3.SUBTREE, ldap3.DEREF_ALWAYS, ["uid", "entryUUID"], 0, 10, False, False, None, None
    )


@pytest.mark.parametrize(
    "text",
    [
        "(objectClass=*)",
        "(uid=alice)",
        r"(cn=Doe, Jo \28Site\29 \2a\5cx)",
        "(|(uid=a)(uid=b)(entryUUID=3f2a6f0e-0000-4000-8000-00000000000a))",
        "(&(objectClass=posixAccount)(!(uid=root))(uidNumber>=5000000)(uidNumber<=5499999))",
        "(cn=Jo*)",
        "(cn=*x*y*)",
        "(cn=a*b*c)",
        "(|" + "".join(f"(uid=user{n})" for n in range(200)) + ")",
        "(cn=ü)",
    ],
)
def test_a_search_is_what_ldap3_sends(text: str) -> None:
    ours = messages.search(BASE, text, ["uid", "entryUUID"], scope=messages.SUBTREE, seconds=10)
    assert messages.message(7, ours) == of_ldap3("searchRequest", search_of_ldap3(text))


def test_binds_and_who_am_i_are_what_ldap3_sends() -> None:
    external = bind_operation(3, ldap3.SASL, "", None, "EXTERNAL", b"")
    assert messages.message(7, messages.bind_external()) == of_ldap3("bindRequest", external)
    simple = bind_operation(3, ldap3.SIMPLE, f"cn=agent,{BASE}", "pässword")
    assert messages.message(7, messages.bind_simple(f"cn=agent,{BASE}", "pässword")) == of_ldap3(
        "bindRequest", simple
    )
    asked = extended_operation("1.3.6.1.4.1.4203.1.11.3")
    assert messages.message(7, messages.who_am_i()) == of_ldap3("extendedReq", asked)


@pytest.mark.parametrize(
    ("change", "theirs"), [(messages.ADD, ldap3.MODIFY_ADD), (messages.DELETE, ldap3.MODIFY_DELETE)]
)
def test_B16_a_change_is_what_ldap3_sends(change: int, theirs: str) -> None:
    value = b"ssh-ed25519 AAAA \xff\xfe" + b"x" * 300
    dn = f"cn=Doe\\2C Jo,{BASE}"
    request = modify_operation(dn, {"sshPublicKey": [(theirs, [value])]}, None, None)
    assert messages.message(7, messages.modify(dn, "sshPublicKey", change, value)) == of_ldap3(
        "modifyRequest", request
    )


@pytest.mark.parametrize(("dn", "password"), [("", "x"), ("cn=a", "")])
def test_a_simple_bind_is_never_anonymous(dn: str, password: str) -> None:
    with pytest.raises(ValueError, match="name and a password"):
        messages.bind_simple(dn, password)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "uid=a",
        "(uid=a",
        "(uid=a))",
        "(&)",
        "(!)",
        "(!(a=b)(c=d))",
        "(uid)",
        "(a:=b)",
        r"(uid=\zz)",
        "(=a)",
    ],
)
def test_B03_what_is_no_filter_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        filter_bytes(text)


@given(st.text(max_size=40))
def test_B03_an_escaped_value_is_itself_and_nothing_more(value: str) -> None:
    made = filter_bytes(f"(cn={escape_filter_value(value)})")
    assert made == element(0xA3, element(OCTETS, b"cn"), element(OCTETS, value.encode()))


@given(st.integers(min_value=-(2**62), max_value=2**62))
def test_numbers_come_back(value: int) -> None:
    ((tag, content),) = elements(integer(value, ENUMERATED))
    assert (tag, number(content)) == (ENUMERATED, value)


@given(st.binary(max_size=300), st.sampled_from([0, 1, 127, 128, 255, 256, 70_000]))
def test_lengths_come_back(content: bytes, padding: int) -> None:
    made = element(OCTETS, content, bytes(padding))
    assert whole_length(made) == len(made)
    assert list(elements(made + made)) == [(OCTETS, content + bytes(padding))] * 2


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_as_malformed(data: bytes) -> None:
    for read in (messages.read_message, messages.read_result, messages.read_entry):
        try:
            read(data)
        except ValueError:
            continue


@pytest.mark.parametrize(
    "data",
    [b"\x30\x80\x00\x00", b"\x30\x85\x01\x00\x00\x00\x00", b"\x1f\x81\x01\x00", b"\x30\x05\x02\x01", b"\x30"],
)
def test_what_ldap_does_not_allow_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedBerError):
        list(elements(data))


def test_an_entry_keeps_its_bytes_and_its_names() -> None:
    values = element(SET, element(OCTETS, b"a\xff"), element(OCTETS, b""))
    attributes = element(SEQUENCE, element(SEQUENCE, element(OCTETS, b"sshPublicKey;x"), values))
    content = element(OCTETS, "cn=ü".encode()) + attributes
    assert messages.read_entry(content) == ("cn=ü", [("sshPublicKey;x", (b"a\xff", b""))])
    with pytest.raises(ValueError, match=r".+"):
        messages.read_entry(element(OCTETS, b"cn=\xff") + attributes)


def test_a_result_with_a_referral_and_a_value() -> None:
    content = integer(10, ENUMERATED) + element(OCTETS) + element(OCTETS, b"elsewhere")
    content += element(0xA3, element(OCTETS, b"ldap://x")) + element(0x8B, b"dn:cn=a")
    assert messages.read_result(content) == messages.Result(10, "elsewhere", b"dn:cn=a")
