"""Stored values against their consumers: what sssd prints and ssh-keygen reads, the agent finds (S7, B15,
B16).

ssh-keygen reads a line as sshd does (one parser) and prints the key's fingerprint as OpenSSH writes it again.
"""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from site_bundle.kernel.ranges import NumberRange
from site_bundle.ssh_access.domain.desired import Act, DesiredKey, Outcome
from site_bundle.ssh_access.domain.plan import Change, Policy, judge, plan, read_wishes
from site_bundle.ssh_access.domain.public_key import fingerprint, parse_public_key
from site_bundle.ssh_access.domain.stored_value import blobs_in
from site_bundle.ssh_access.domain.target import Entry, Target
from tests.contract.ssh_key_vectors import (
    SK_ECDSA,
    SK_ED25519,
    ecdsa,
    ed25519,
    number,
    rsa,
    sk_ed25519,
    string,
)

KEYGEN = shutil.which("ssh-keygen")
ED, SK, RSA, EC = ed25519(0x11), sk_ed25519(), rsa(3072), ecdsa("nistp256")
SKEC = ecdsa("nistp256", inner=SK_ECDSA) + string(b"ssh:")
OTHER = ed25519(0x22)


def b64(blob: bytes) -> bytes:
    return base64.b64encode(blob)


def text(kind: bytes, blob: bytes) -> bytes:
    return kind + b" " + b64(blob)


E1, E2, R1 = text(b"ssh-ed25519", ED), text(b"ssh-ed25519", OTHER), text(b"ssh-rsa", RSA)
RENAMED = RSA.replace(string(b"ssh-rsa"), string(b"rsa-sha2-512"), 1)
SHORT = RSA.replace(string(b"ssh-rsa"), string(b"RSA"), 1)
ZEROS = RSA.replace(number(65537), string(b"\0\0\x01\x00\x01"), 1)
TEN = b64(ED)[:10], b64(ED)[10:]

# What is stored, and the key it lets in: each is taken by sshd behind sssd or another AuthorizedKeysCommand.
ACCEPTED = {
    "written_by_us": (E1, ED),
    "comment": (E1 + b" old laptop", ED),
    "comment_not_utf8": (E1 + b" \xff", ED),
    "leading_blanks": (b" \t" + E1, ED),
    "tabs_between": (E1.replace(b" ", b"\t") + b"\tme", ED),
    "several_blanks": (E1.replace(b" ", b"   "), ED),
    "line_end": (E1 + b" a\n", ED),
    "windows_line_end": (E1 + b"\r\n", ED),
    "carriage_return_at_the_end": (E1 + b"\r", ED),
    "carriage_return_in_base64": (b"ssh-ed25519 " + TEN[0] + b"\r" + TEN[1], ED),
    "vertical_tab_in_base64": (b"ssh-ed25519 " + TEN[0] + b"\v" + TEN[1], ED),
    "form_feed_in_base64": (b"ssh-ed25519 " + TEN[0] + b"\f" + TEN[1], ED),
    "nul_behind": (E1 + b"\0junk", ED),
    "option": (b"no-pty " + E1, ED),
    "option_and_tab": (b"no-pty\t" + E1, ED),
    "options": (b'from="10.0.0.0/8",restrict ' + E1 + b" admin", ED),
    "option_with_blanks": (b'command="echo hi there" ' + E1, ED),
    "option_with_quotes": (b'command="echo \\"a b\\" c" ' + E1, ED),
    "option_that_quotes_a_key": (b'command="x ' + E2 + b' y" ' + E1, ED),
    "certificate_authority": (b"cert-authority " + E1, ED),
    "rsa_sha2_256": (text(b"rsa-sha2-256", RSA), RSA),
    "rsa_sha2_512": (text(b"rsa-sha2-512", RSA) + b" me", RSA),
    "rsa_sha2_512_behind_options": (b"no-pty " + text(b"rsa-sha2-512", RSA), RSA),
    "rsa_sha2_inside": (text(b"ssh-rsa", RENAMED), RSA),
    "rsa_sha2_both": (text(b"rsa-sha2-256", RENAMED), RSA),
    "short_name_inside": (text(b"ssh-rsa", SHORT), RSA),
    "short_name_of_ed25519_inside": (text(b"ssh-ed25519", ed25519(0x11, "ED25519")), ED),
    "short_name_in_small_letters": (text(b"ssh-ed25519", ed25519(0x11, "ed25519")), ED),
    "rsa_with_leading_zeros": (text(b"ssh-rsa", ZEROS), RSA),
    "webauthn_name": (text(b"webauthn-sk-ecdsa-sha2-nistp256@openssh.com", SKEC), SKEC),
    "blob_ed25519": (ED, ED),
    "blob_security_key": (SK, SK),
    "blob_rsa": (RSA, RSA),
    "blob_ecdsa": (EC, EC),
    "blob_under_another_name": (RENAMED, RSA),
    "second_line": (b"\n# mine\n" + E2 + b" a\n" + E1 + b" b\n", ED),
    "second_line_windows": (E2 + b"\r\n" + E1 + b"\r\n", ED),
}
# Taken by nobody we know; found all the same.
LENIENT = {
    "unused_bits_set": (text(SK_ED25519.encode(), SK)[:-2] + b"p=", SK),
    "padding_lost": (text(SK_ED25519.encode(), SK).rstrip(b"="), SK),
    "carriage_return_between": (E2 + b" a\r" + E1, ED),
    "carriage_return_in_base64_and_between": (b"ssh-ed25519 " + TEN[0] + b"\v" + TEN[1] + b" a\r" + E2, ED),
    "words_before": (b"this is " + E1, ED),
}
FOREIGN = {
    "comment_line": b"# " + E1,
    "comment_line_behind_blanks": b"  #" + E1,
    "other_type_before": text(b"ssh-rsa", ED),
    "no_key": b"no key at all",
    "empty": b"",
    "blob_cut": ED[:-1],
    "three_nuls": b"\0\0\0",
    "text_behind_nuls": b"\0\0\0" + E1,
    "blob_with_more": ED + b"x",
}


def printed_by_sssd(value: bytes) -> bytes:
    """sssd's src/util/sss_ssh.c: a blob is put into text, text is printed without its last line end."""
    if len(value) > 4 and value.startswith(b"\0\0\0"):
        size = int.from_bytes(value[:4], "big")
        return value[4 : 4 + size] + b" " + b64(value)
    return value


def read_by_openssh(value: bytes, folder: Path) -> set[str]:
    """Fingerprints of the keys ssh-keygen reads in what is printed."""
    assert KEYGEN, "openssh-client is missing: run tests/setup.sh as root"
    path = folder / "authorized_keys"
    found: set[str] = set()
    for line in printed_by_sssd(value).split(b"\n"):
        # The first line of a file may name another format; ssh-keygen is asked one line at a time.
        path.write_bytes(line + b"\n")
        done = subprocess.run([KEYGEN, "-l", "-f", path], capture_output=True, timeout=20, check=False)
        found |= {mark.decode() for mark in re.findall(rb"^\d+ (SHA256:\S+)", done.stdout)}
    return found


@pytest.mark.parametrize(("value", "blob"), ACCEPTED.values(), ids=ACCEPTED)
def test_what_openssh_takes_is_found(value: bytes, blob: bytes, tmp_path: Path) -> None:
    assert fingerprint(blob) in read_by_openssh(value, tmp_path), "the row is no accepted form"
    assert blob in blobs_in(value)


@pytest.mark.parametrize(("value", "blob"), LENIENT.values(), ids=LENIENT)
def test_what_others_may_take_is_found(value: bytes, blob: bytes) -> None:
    assert blob in blobs_in(value)


@pytest.mark.parametrize("value", FOREIGN.values(), ids=FOREIGN)
def test_what_nobody_takes_is_no_key(value: bytes, tmp_path: Path) -> None:
    assert fingerprint(ED) not in read_by_openssh(value, tmp_path)
    assert ED not in blobs_in(value)


ALICE = Target("alice", 5000001, UUID(int=1))
POLICY = Policy(NumberRange(5000000, 5499999))
KINDS = {ED: "ssh-ed25519", SK: SK_ED25519, RSA: "ssh-rsa", EC: "ecdsa-sha2-nistp256", SKEC: SK_ECDSA}


def wish(blob: bytes, act: Act) -> DesiredKey:
    line = text(KINDS[blob].encode(), blob).decode()
    return DesiredKey(UUID(int=7), UUID(int=8), 1, act, line, fingerprint(blob), ALICE)


def entry(*values: bytes) -> tuple[Entry, ...]:
    return (Entry("uid=alice", ("alice",), (5000001,), UUID(int=1), values),)


@pytest.mark.parametrize(
    ("value", "blob"), [*ACCEPTED.values(), *LENIENT.values()], ids=[*ACCEPTED, *LENIENT]
)
def test_B15_B16_wanted_it_stays_alone_revoked_it_goes(value: bytes, blob: bytes) -> None:
    """`removed_from_directory` is said when nothing that lets the key in is left, and not before."""
    wanted, revoked = wish(blob, Act.PRESENT), wish(blob, Act.ABSENT)
    assert plan(read_wishes([wanted]), entry(value), POLICY) == ()
    assert (
        judge(read_wishes([revoked]), entry(value), POLICY, frozenset())[revoked.key_id].outcome
        is Outcome.PENDING
    )
    operations = plan(read_wishes([revoked]), entry(value), POLICY)
    assert [item.value for item in operations if item.change is Change.DELETE] == [value]
    left = tuple(item.value for item in operations if item.change is Change.ADD)
    assert not any(blob in blobs_in(item) for item in left)
    # Another key of the same value becomes a value of its own.
    assert {found for item in left for found in blobs_in(item)} == set(blobs_in(value)) - {blob}


NAMES = [
    b"ssh-ed25519",
    b"ssh-rsa",
    b"rsa-sha2-256",
    b"rsa-sha2-512",
    b"RSA",
    SK_ED25519.encode(),
    b"ED25519",
]
BLOBS = [ED, OTHER, SK, RSA, EC, RENAMED, SHORT, ZEROS]
PARTS = st.one_of(
    st.sampled_from([b" ", b"\t", b"\n", b"\r", b"\v", b"\f", b"#", b'"', b"\\", b"=", b",", b"\0", b"  "]),
    st.sampled_from(NAMES).map(lambda name: name + b" "),
    st.sampled_from(BLOBS).map(b64),
    st.sampled_from([E1 + b" ", R1 + b" ", b'command="a b" ', b"no-pty ", b"comment", *TEN]),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.lists(PARTS, max_size=8).map(b"".join), st.sampled_from(BLOBS)))
def test_nothing_openssh_takes_is_missed(tmp_path: Path, value: bytes) -> None:
    found = {fingerprint(blob) for blob in blobs_in(value)}
    assert read_by_openssh(value, tmp_path) <= found


def test_rows_speak_of_keys_of_ours() -> None:
    for blob, kind in KINDS.items():
        assert parse_public_key(text(kind.encode(), blob).decode()).blob == blob
