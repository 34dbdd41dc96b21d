"""The directory room against a real slapd under the lab's access rules (cases B)."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from uuid import UUID

import ldap3
import pytest

from site_bundle.directory.connection import DirectoryLimits, LdapiConnection
from site_bundle.directory.errors import DirectoryRefusedError, DirectoryUnavailableError, WrongIdentityError
from site_bundle.directory.names import escape_filter_value
from site_bundle.kernel.ranges import NumberRange
from site_bundle.ssh_access.adapters.ldap_people import LdapPeople, PeopleLimits
from site_bundle.ssh_access.domain.target import Entries, Target, Unreadable, match_target
from tests.simulators.site_api.history import Target as Saved
from tests.site.keys import K1, K2, ed25519
from tests.site.slapd import IDENTITY, PEOPLE, PROBE, STAFF, SUFFIX, Slapd

pytestmark = pytest.mark.slapd

ALICE = f"uid=alice,{PEOPLE}"
LIMITS = DirectoryLimits(connect_seconds=2, answer_seconds=5)


@pytest.fixture
def connection(slapd: Slapd) -> Iterator[LdapiConnection]:
    made = LdapiConnection(socket_path=slapd.socket, identity=IDENTITY, limits=LIMITS)
    yield made
    made.close()


@pytest.fixture
def people(connection: LdapiConnection) -> LdapPeople:
    return LdapPeople(connection, base=PEOPLE, probe_entry=PROBE)


def target(saved: Saved) -> Target:
    return Target(saved.username, saved.uid_number, UUID(saved.entry_uuid))


def test_identity_is_verified(connection: LdapiConnection) -> None:
    assert connection.who_am_i() == f"dn:{IDENTITY}"
    assert connection.ensure_bound()
    assert not connection.ensure_bound()


def test_B11_another_identity_reads_and_writes_nothing(slapd: Slapd) -> None:
    other = LdapiConnection(socket_path=slapd.socket, identity=f"cn=other,{SUFFIX}", limits=LIMITS)
    with pytest.raises(WrongIdentityError) as caught:
        other.search(PEOPLE, "(uid=alice)", ["uid"], subtree=True)
    assert caught.value.code == "directory_identity"
    assert IDENTITY in caught.value.found
    with pytest.raises(WrongIdentityError):
        other.add_value(ALICE, "sshPublicKey", K1.encode())
    assert slapd.values("alice") == []


def test_B11_identity_is_verified_after_each_reconnect(slapd: Slapd, connection: LdapiConnection) -> None:
    """slapd comes back with another mapping: the second change is not made under it."""
    connection.add_value(ALICE, "sshPublicKey", K1.encode())
    slapd.stop()
    config = slapd.folder / "conf" / "cn=config.ldif"
    text = config.read_text().replace("\n ", "")
    kept = [line for line in text.splitlines() if not line.startswith(("olcAuthzRegexp", "# CRC32"))]
    config.write_text("\n".join(kept) + "\n")
    slapd.start()
    with pytest.raises(DirectoryUnavailableError):
        connection.add_value(ALICE, "sshPublicKey", K2.encode())
    with pytest.raises(WrongIdentityError):
        connection.add_value(ALICE, "sshPublicKey", K2.encode())
    assert slapd.values("alice") == [K1.encode()]


def test_B01_adding_twice_is_success(slapd: Slapd, connection: LdapiConnection) -> None:
    value = f"{K1} a".encode()
    assert connection.add_value(ALICE, "sshPublicKey", value) is True
    assert connection.add_value(ALICE, "sshPublicKey", value) is False
    assert slapd.values("alice") == [value]


def test_B02_deleting_what_is_gone_is_done(slapd: Slapd, connection: LdapiConnection) -> None:
    slapd.put("alice", K2.encode())
    assert connection.delete_value(ALICE, "sshPublicKey", K1.encode()) is False
    assert connection.delete_value(ALICE, "sshPublicKey", K2.encode()) is True
    assert connection.delete_value(ALICE, "sshPublicKey", K2.encode()) is False
    assert slapd.values("alice") == []


def test_B03_names_with_every_special_sign(
    slapd: Slapd, connection: LdapiConnection, people: LdapPeople
) -> None:
    name = r"Doe, Jo (Site) *\x"
    dn = r"cn=Doe\2C Jo (Site) *\5Cx," + PEOPLE
    saved = slapd.add_person("u1", 5000077, dn=dn, cn=name)
    slapd.add_person("u2", 5000078, cn="Doe, Jo (Site) anything")
    found = connection.search(PEOPLE, f"(cn={escape_filter_value(name)})", ["uid", "cn"], subtree=True)
    assert [entry.texts("uid") for entry in found] == [("u1",)]
    (entry,) = people.find([target(saved)])
    assert people.add(entry.dn, K1.encode())
    (again,) = people.find([target(saved)])
    assert again.values == (K1.encode(),)
    assert again.direct


def test_B05_cut_answer_is_not_an_answer(slapd: Slapd) -> None:
    """olcSizeLimit 500: more entries than that are a fault, not the first 500."""
    with slapd.administrator() as admin:
        for number in range(505):
            attributes = {"cn": f"p{number}", "sn": "p", "uid": f"p{number}", "uidNumber": 5100000 + number}
            attributes |= {"gidNumber": 5500000, "homeDirectory": "/h"}
            admin.add(
                f"uid=p{number},{PEOPLE}", ["inetOrgPerson", "posixAccount", "ldapPublicKey"], attributes
            )
    connection = LdapiConnection(socket_path=slapd.socket, identity=IDENTITY, limits=LIMITS)
    with pytest.raises(DirectoryUnavailableError) as caught:
        connection.search(PEOPLE, "(objectClass=posixAccount)", ["uid"], subtree=True)
    assert caught.value.code == "directory_size_limit"
    connection.close()


def test_B06_hidden_is_not_absent(slapd: Slapd, people: LdapPeople) -> None:
    """Access is lost while the bind still works: zero entries are no evidence."""
    alice = target(slapd.target("alice"))
    assert len(people.find([alice])) == 1
    slapd.stop()
    slapd.set_access("to * by * none")
    slapd.start()
    for _ in range(2):
        with pytest.raises(DirectoryUnavailableError):
            people.find([alice])


def test_B06_absent_is_proven_when_base_and_probe_show(people: LdapPeople) -> None:
    nobody = Target("nobody", 5000042, UUID(int=42))
    assert people.find([nobody]) == ()


def test_B06_hidden_probe_entry_proves_nothing(slapd: Slapd, connection: LdapiConnection) -> None:
    people = LdapPeople(connection, base=PEOPLE, probe_entry=f"uid=missing,{PEOPLE}")
    with pytest.raises(DirectoryUnavailableError) as caught:
        people.find([Target("nobody", 5000042, UUID(int=42))])
    assert caught.value.code in {"directory_base_missing", "directory_unreadable"}


def test_base_that_is_missing(connection: LdapiConnection) -> None:
    with pytest.raises(DirectoryUnavailableError) as caught:
        connection.search(f"ou=nowhere,{SUFFIX}", "(uid=alice)", ["uid"], subtree=True)
    assert caught.value.code == "directory_base_missing"


def test_B09_referral_inside_an_answer(slapd: Slapd, connection: LdapiConnection) -> None:
    """A continuation reference below the base: the listing is incomplete, and no entry."""
    with slapd.administrator() as admin:
        admin.add(
            f"ou=elsewhere,{PEOPLE}",
            ["referral", "extensibleObject"],
            {"ou": "elsewhere", "ref": "ldap://other.example/dc=x"},
            controls=[("2.16.840.1.113730.3.4.2", True, None)],
        )
    with pytest.raises(DirectoryUnavailableError) as caught:
        connection.search(PEOPLE, "(uid=alice)", ["uid"], subtree=True)
    assert caught.value.code == "directory_referral"


def test_B13_attribute_name_in_any_case(slapd: Slapd, connection: LdapiConnection) -> None:
    slapd.put("alice", K1.encode())
    (entry,) = connection.search(ALICE, "(objectClass=*)", ["SSHPUBLICKEY", "UIDnumber"], subtree=False)
    assert entry.values("sshPublicKey") == entry.values("sshpublickey") == (K1.encode(),)
    assert entry.texts("uidNumber") == ("5000001",)


def test_B16_exact_stored_bytes(slapd: Slapd, connection: LdapiConnection) -> None:
    """octetStringMatch: another rendering matches nothing; the stored bytes, not UTF-8 included, do."""
    stored = f"{K1} old laptop".encode() + b" \xff\xfe"
    slapd.put("alice", stored)
    assert connection.delete_value(ALICE, "sshPublicKey", f"{K1} new".encode()) is False
    assert slapd.values("alice") == [stored]
    (entry,) = connection.search(ALICE, "(objectClass=*)", ["sshPublicKey"], subtree=False)
    assert entry.values("sshPublicKey") == (stored,)
    assert connection.delete_value(ALICE, "sshPublicKey", stored) is True


@pytest.mark.parametrize(
    ("dn", "attribute"),
    [
        (ALICE, "loginShell"),
        (ALICE, "userPassword"),
        (f"uid=operator,{STAFF}", "sshPublicKey"),
        (f"ou=people,ou=pharos,{SUFFIX}", "description"),
    ],
)
def test_access_rules_bind_the_tests_too(connection: LdapiConnection, dn: str, attribute: str) -> None:
    with pytest.raises(DirectoryRefusedError) as caught:
        connection.add_value(dn, attribute, b"x")
    assert caught.value.result == 50


def test_rights_are_proven_and_leave_nothing(slapd: Slapd, people: LdapPeople) -> None:
    slapd.put(
        "pharos-probe", f"{K2} pharos-ssh-access-probe".encode(), K1.encode()
    )  # a crash left one behind
    people.prove_rights()
    assert slapd.values("pharos-probe") == [K1.encode()]


@pytest.mark.parametrize("level", ["read", "=w"])
def test_missing_rights_are_named(slapd: Slapd, people: LdapPeople, level: str) -> None:
    slapd.stop()
    slapd.set_access(f'to attrs=sshPublicKey by dn.exact="{IDENTITY}" {level} by * none', "to * by * read")
    slapd.start()
    with pytest.raises(DirectoryUnavailableError) as caught:
        people.prove_rights()
    assert caught.value.code == "directory_rights"


@pytest.mark.parametrize("attribute", ["uidNumber", "entryUUID"])
def test_entry_that_hides_what_decides_is_unreadable(
    slapd: Slapd, people: LdapPeople, attribute: str
) -> None:
    alice = target(slapd.target("alice"))
    slapd.stop()
    slapd.set_access(f"to attrs={attribute} by * search", "to * by * read")
    slapd.start()
    entries = people.find([alice])
    assert match_target(alice, Entries(entries), NumberRange(5000000, 5499999)) == Unreadable()


def test_searches_grow_with_chunks_not_with_keys(slapd: Slapd, connection: LdapiConnection) -> None:
    with slapd.administrator() as admin:
        for number in range(60):
            attributes = {"cn": "p", "sn": "p", "uid": f"p{number}", "uidNumber": 5100000 + number}
            attributes |= {"gidNumber": 5500000, "homeDirectory": "/h"}
            admin.add(
                f"uid=p{number},{PEOPLE}", ["inetOrgPerson", "posixAccount", "ldapPublicKey"], attributes
            )
    targets = [target(slapd.target(f"p{number}")) for number in range(60)]
    people = LdapPeople(connection, base=PEOPLE, probe_entry=PROBE, limits=PeopleLimits(chunk_terms=20))
    connection.ensure_bound()
    before = slapd.searches()
    assert len(people.find(targets)) == 60
    assert slapd.searches() - before == 3
    before = slapd.searches()
    assert len(people.find(targets[:1])) == 1
    assert slapd.searches() - before == 1


def test_connection_that_idled_out_is_made_anew(slapd: Slapd, people: LdapPeople) -> None:
    alice = target(slapd.target("alice"))
    assert len(people.find([alice])) == 1
    with slapd.away():
        pass
    assert len(people.find([alice])) == 1


def test_refused_values_are_refused_for_good(slapd: Slapd, connection: LdapiConnection) -> None:
    """An entry without the object class takes no key: definite (65 or 50), never retried for ever."""
    with slapd.administrator() as admin:
        attributes = {"cn": "n", "sn": "n", "uid": "n", "uidNumber": 5000099, "gidNumber": 5500000}
        attributes |= {"homeDirectory": "/h"}
        admin.add(f"uid=n,{PEOPLE}", ["inetOrgPerson", "posixAccount"], attributes)
    with pytest.raises(DirectoryRefusedError):
        connection.add_value(f"uid=n,{PEOPLE}", "sshPublicKey", K1.encode())


def test_ldapmodify_agrees(slapd: Slapd, connection: LdapiConnection) -> None:
    """An independent client over the same socket sees what was written."""
    assert shutil.which("ldapsearch")
    connection.add_value(ALICE, "sshPublicKey", ed25519(0x44).encode())
    url = f"ldapi://{str(slapd.socket).replace('/', '%2F')}"
    command = ["ldapsearch", "-Q", "-LLL", "-o", "ldif-wrap=no", "-Y", "EXTERNAL", "-H", url, "-b", ALICE]
    done = subprocess.run([*command, "sshPublicKey"], capture_output=True, text=True, timeout=20, check=True)
    assert f"sshPublicKey: {ed25519(0x44)}" in done.stdout


def test_scope_of_ldap3_is_as_the_room_expects() -> None:
    """ldap3's constants are what the room passes by name."""
    assert (ldap3.BASE, ldap3.SUBTREE) == ("BASE", "SUBTREE")
    assert (ldap3.MODIFY_ADD, ldap3.MODIFY_DELETE) == ("MODIFY_ADD", "MODIFY_DELETE")
