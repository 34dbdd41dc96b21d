"""Builds `v1/ssh-public-keys.json` from constant bytes, so that no vector is anybody's key.

Run `python -m tests.contract.ssh_key_vectors` to write the file; `test_goldens.py` checks that the
committed file is what this module builds. The grammar is docs/wire.md, "Key grammar" (E6, S7);
ids C01…C21 name the cases the vectors answer.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

PATH = Path(__file__).parent / "v1" / "ssh-public-keys.json"

ED25519 = "ssh-ed25519"
SK_ED25519 = "sk-ssh-ed25519@openssh.com"
SK_ECDSA = "sk-ecdsa-sha2-nistp256@openssh.com"
CERTIFICATE = "ssh-ed25519-cert-v01@openssh.com"

# The generator of each NIST curve (SEC 2 v2, §2.4.2, §2.5.1, §2.6.1): a public constant on the curve.
GENERATORS = {
    "nistp256": (
        "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296",
        "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
    ),
    "nistp384": (
        "aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7",
        "3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f",
    ),
    "nistp521": (
        "00c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127a2ffa8de"
        "3348b3c1856a429bf97e7e31c2e5bd66",
        "011839296a789a3bc0045c8a5fb42c7d1bd998f54449579b446817afbd17273e662c97ee72995ef42640c550b9013fad0761"
        "353c7086a272c24088be94769fd16650",
    ),
}

# Points on P-256 that OpenSSH's sshkey_ec_validate_public refuses or just takes: the first x on the curve
# from the order - 1 on, from 2^127 on (as long as half the order) and from 2^128 on (one bit longer).
X_BEYOND_THE_ORDER = (
    "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632554",
    "484f0c0fda434ef0a808458914f328715d7a545e198ac7eee31dffe861b5d23f",
)
X_OF_128_BITS = (f"{1 << 127:064x}", "3ecdbcc47d8353cfbff8e08a9a8adfa1a693f174e93b8367676ea1525c7355c7")
X_OF_129_BITS = (f"{1 << 128:064x}", "4d8531d11aecbfe7bc2c6f48e2a1a3fd264a9165a891001f9b7c2d4a19d9d622")


def string(data: bytes) -> bytes:
    """RFC 4251 §5 `string`."""
    return len(data).to_bytes(4, "big") + data


def number(value: int) -> bytes:
    """RFC 4251 §5 `mpint` of a positive number."""
    return string(value.to_bytes(value.bit_length() // 8 + 1, "big"))


def ed25519(fill: int, name: str = ED25519) -> bytes:
    """An Ed25519 blob whose 32 key bytes are all `fill`."""
    return string(name.encode()) + string(bytes([fill]) * 32)


def sk_ed25519(application: bytes = b"ssh:") -> bytes:
    """A security-key Ed25519 blob (PROTOCOL.u2f)."""
    return ed25519(0x11, SK_ED25519) + string(application)


def point(curve: str) -> bytes:
    """The curve's generator, uncompressed (SEC 1 §2.3.3)."""
    return uncompressed(GENERATORS[curve])


def uncompressed(coordinates: tuple[str, str]) -> bytes:
    """SEC 1 §2.3.3."""
    x, y = coordinates
    return b"\x04" + bytes.fromhex(x) + bytes.fromhex(y)


def ecdsa(curve: str, q: bytes | None = None, *, inner: str | None = None, named: str | None = None) -> bytes:
    """An ECDSA blob (RFC 5656 §3.1) for `curve`, by default with its generator as the key."""
    kind = inner or f"ecdsa-sha2-{curve}"
    return string(kind.encode()) + string((named or curve).encode()) + string(q or point(curve))


def modulus(bits: int) -> int:
    """An odd number of exactly `bits` bits made of 0x11 bytes; nobody knows or needs its factors."""
    pattern = int.from_bytes(b"\x11" * (bits // 8 + 1), "big")
    return (pattern & ((1 << (bits - 1)) - 1)) | (1 << (bits - 1)) | 1


def rsa(bits: int, *, exponent: int = 65537, even: bool = False) -> bytes:
    """An RSA blob (RFC 4253 §6.6)."""
    return string(b"ssh-rsa") + number(exponent) + number(modulus(bits) - (1 if even else 0))


def certificate() -> bytes:
    """An Ed25519 user certificate (PROTOCOL.certkeys) whose signature is constant bytes."""
    signer = ed25519(0x22)
    fields = [
        string(CERTIFICATE.encode()),
        string(b"\x33" * 32),
        string(b"\x11" * 32),
        (1).to_bytes(8, "big"),
        (1).to_bytes(4, "big"),
        string(b"example"),
        string(string(b"u1")),
        bytes(8),
        b"\xff" * 8,
        string(b""),
        string(b""),
        string(b""),
        string(signer),
        string(string(ED25519.encode()) + string(b"\x44" * 64)),
    ]
    return b"".join(fields)


def b64(blob: bytes) -> str:
    """Canonical base64."""
    return base64.b64encode(blob).decode()


K1, K2, SK1 = b64(ed25519(0x11)), b64(ed25519(0x22)), b64(sk_ed25519())


def accepted(name: str, line: str, kind: str, blob: bytes, case: str = "") -> dict[str, Any]:
    """What both ends must make of an acceptable line."""
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    return {
        "name": name,
        "case": case,
        "line": line,
        "type": kind,
        "stored": f"{kind} {b64(blob)}",
        "fingerprint": f"SHA256:{digest}",
    }


def refused(name: str, line: str, code: str, case: str = "") -> dict[str, Any]:
    """A line both ends refuse with the same code."""
    return {"name": name, "case": case, "line": line, "status": 422, "code": code}


def plain(kind: str, blob: bytes) -> str:
    """`type SP base64`."""
    return f"{kind} {b64(blob)}"


def accepted_vectors() -> list[dict[str, Any]]:
    """One of each type, every harmless form of white space, and the boundaries of RSA."""
    one = ed25519(0x11)
    rows = [
        accepted("ed25519", plain(ED25519, one), ED25519, one),
        accepted("comment_is_not_stored", f"{ED25519} {K1} old laptop", ED25519, one, "B16"),
        accepted("same_comment_first", f"{ED25519} {K1} me", ED25519, one, "C17"),
        accepted("same_comment_second", f"{ED25519} {K2} me", ED25519, ed25519(0x22), "C17"),
        accepted("comment_in_unicode", f"{ED25519} {K1} zoë@büro", ED25519, one, "C18"),
        accepted("comment_is_never_run", f"{ED25519} {K1} $(touch /tmp/x)", ED25519, one, "C19"),
        accepted("comment_names_a_type", f"{ED25519} {K1} ssh-rsa", ED25519, one),
        accepted("blanks_and_line_end_around", f"  {ED25519} {K1} a \n", ED25519, one, "B15"),
        accepted("windows_line_end", f"{ED25519} {K1} a\r\n", ED25519, one, "B15"),
        accepted("blank_lines_around", f"\n{ED25519} {K1} a\n\n", ED25519, one, "B15"),
        accepted("two_blanks_between", f"{ED25519}  {K1}  a", ED25519, one),
        accepted("security_key_ed25519", f"{SK_ED25519} {SK1}", SK_ED25519, sk_ed25519()),
        accepted("rsa_3072", plain("ssh-rsa", rsa(3072)), "ssh-rsa", rsa(3072)),
        accepted("rsa_4096", plain("ssh-rsa", rsa(4096)) + " me@host", "ssh-rsa", rsa(4096)),
        accepted("rsa_16384", plain("ssh-rsa", rsa(16384)), "ssh-rsa", rsa(16384)),
        accepted("rsa_exponent_3", plain("ssh-rsa", rsa(3072, exponent=3)), "ssh-rsa", rsa(3072, exponent=3)),
    ]
    for curve in GENERATORS:
        kind = f"ecdsa-sha2-{curve}"
        rows.append(accepted(f"ecdsa_{curve}", plain(kind, ecdsa(curve)), kind, ecdsa(curve)))
    sk = ecdsa("nistp256", inner=SK_ECDSA) + string(b"ssh:")
    rows.append(accepted("security_key_ecdsa", plain(SK_ECDSA, sk), SK_ECDSA, sk))
    long_name = sk_ed25519(b"a" * 255)
    rows.append(accepted("application_of_255", plain(SK_ED25519, long_name), SK_ED25519, long_name))
    p256, least = "ecdsa-sha2-nistp256", ecdsa("nistp256", uncompressed(X_OF_129_BITS))
    rows.append(accepted("ecdsa_coordinate_of_129_bits", plain(p256, least), p256, least))
    return rows


def refused_lines() -> list[dict[str, Any]]:
    """Refusals seen in the line itself, before the blob is read."""
    k1 = f"{ED25519} {K1}"
    return [
        refused("empty", "", "key_empty"),
        refused("blank", "  \n", "key_empty"),
        refused("too_long", f"{k1} " + "x" * 8192, "key_too_long"),
        refused("junk_before_the_type", f"test!!! {k1}", "key_options", "C02"),
        refused("forced_command", f'command="echo hi",no-pty {k1}', "key_options", "C02"),
        refused("restrict_before_the_type", f"restrict {k1}", "key_options", "C02"),
        refused("second_line", f"{k1} a\n{ED25519} {K2} b", "key_multiple_lines", "C03"),
        refused("carriage_return", f"{k1} a\r{ED25519} {K2} b", "key_multiple_lines", "C04"),
        refused("vertical_tab", f"{k1}\x0b{k1}", "key_control_character", "C04"),
        refused("nul_in_comment", f"{k1} a\x00x", "key_control_character", "C04"),
        refused("tab_as_separator", f"{ED25519}\t{K1}", "key_control_character", "C04"),
        refused("delete_character", f"{k1} a\x7f", "key_control_character", "C04"),
        refused("next_line_c1", f"{k1} a\x85{k1}", "key_control_character", "C04"),
        refused("line_separator", f"{k1} a\u2028{k1}", "key_control_character", "C04"),
        refused("bidi_override", f"{k1} \u202egpj.exe", "key_control_character", "C18"),
        refused("byte_order_mark", f"\ufeff{k1}", "key_control_character"),
        refused("blob_runs_into_comment", f"{ED25519} {K1}m1@host", "key_bad_base64", "C06"),
        refused("type_only", "ecdsa-sha2-nistp256", "key_no_blob", "C08"),
        refused("type_and_blank", "ecdsa-sha2-nistp256 ", "key_no_blob", "C08"),
        refused("padding_missing", f"{SK_ED25519} {SK1.rstrip('=')}", "key_base64_padding", "C09"),
        refused("padding_extra", f"{SK_ED25519} {SK1}=", "key_base64_padding", "C10"),
        refused("last_bits_set", f"{SK_ED25519} {SK1[:-2]}p=", "key_bad_base64", "C10"),
        refused("url_alphabet", f"{ED25519} {K1[:-1]}_", "key_bad_base64"),
        refused("padding_inside", f"{ED25519} {K1[:8]}={K1[9:]}", "key_bad_base64"),
        refused(
            "ed448",
            plain("ssh-ed448", string(b"ssh-ed448") + string(b"\x44" * 57)),
            "key_unsupported_type",
            "C13",
        ),
        refused("dsa", "ssh-dss AAAAB3NzaC1kc3M=", "key_unsupported_type", "C13"),
        refused("type_in_capitals", f"SSH-ED25519 {K1}", "key_unsupported_type"),
        refused("blob_alone", K1, "key_unsupported_type"),
        refused("certificate", plain(CERTIFICATE, certificate()), "key_certificate", "C14"),
        refused(
            "rfc4716",
            f"---- BEGIN SSH2 PUBLIC KEY ----\n{K1}\n---- END SSH2 PUBLIC KEY ----",
            "key_format_rfc4716",
            "C21",
        ),
        refused(
            "pem", f"-----BEGIN PUBLIC KEY-----\n{K1}\n-----END PUBLIC KEY-----", "key_format_pem", "C21"
        ),
        refused("pem_without_a_blank", "-----BEGIN", "key_format_pem", "C21"),
        refused("dashes_of_no_format", "---- BEGIN X", "key_unsupported_type"),
        refused("rfc4716_without_its_blank", "----BEGIN SSH2 PUBLIC KEY ----", "key_unsupported_type", "C21"),
        refused("options_before_a_certificate", f"no-pty {CERTIFICATE} {K1}", "key_options", "C14"),
        refused(
            "certificate_of_a_type_not_ours",
            f"ssh-dss-cert-v01@openssh.com {K1}",
            "key_certificate",
            "C14",
        ),
        refused("padding_alone", f"{ED25519} ==", "key_bad_base64", "C09"),
        refused("one_sign_too_many", f"{ED25519} {K1}A", "key_base64_padding", "C09"),
        refused("three_signs_of_padding", f"{ED25519} {K1}A===", "key_base64_padding", "C10"),
        refused("private_key", f"-----BEGIN OPENSSH PRIVATE KEY-----\n{K1}\n", "key_private"),
        refused("private_key_of_putty", f"PuTTY-User-Key-File-3: ssh-ed25519\n{K1}\n", "key_private"),
    ]


def refused_blobs() -> list[dict[str, Any]]:
    """Refusals seen in the decoded blob."""
    q = point("nistp256")
    off_curve = q[:-1] + bytes([q[-1] ^ 1])
    p256, sk = "ecdsa-sha2-nistp256", ecdsa("nistp256", inner=SK_ECDSA)
    short = string(ED25519.encode()) + string(b"\x11" * 31)
    leading_zero = (
        string(b"ssh-rsa") + number(65537) + string(b"\x00\x00" + modulus(3072).to_bytes(384, "big"))
    )
    negative = string(b"ssh-rsa") + number(65537) + string(modulus(3072).to_bytes(384, "big"))
    beyond, tiny = uncompressed(X_BEYOND_THE_ORDER), uncompressed(X_OF_128_BITS)
    sk_beyond, sk_tiny = (ecdsa("nistp256", q, inner=SK_ECDSA) + string(b"ssh:") for q in (beyond, tiny))
    return [
        refused("coordinate_beyond_the_order", plain(p256, ecdsa("nistp256", beyond)), "key_blob_malformed"),
        refused("coordinate_of_128_bits", plain(p256, ecdsa("nistp256", tiny)), "key_blob_malformed"),
        refused("security_key_beyond_the_order", plain(SK_ECDSA, sk_beyond), "key_blob_malformed"),
        refused("security_key_of_128_bits", plain(SK_ECDSA, sk_tiny), "key_blob_malformed"),
        refused("application_of_256", plain(SK_ED25519, sk_ed25519(b"a" * 256)), "key_blob_malformed"),
        refused("application_with_a_blank", plain(SK_ED25519, sk_ed25519(b"ssh: x")), "key_blob_malformed"),
        refused("rsa_2048_exponent_1", plain("ssh-rsa", rsa(2048, exponent=1)), "key_blob_malformed"),
        refused("rsa_2048_even_modulus", plain("ssh-rsa", rsa(2048, even=True)), "key_rsa_size"),
        refused("bytes_after_the_key", plain(ED25519, ed25519(0x11) + b"extra"), "key_trailing_bytes", "C11"),
        refused(
            "bytes_after_a_security_key",
            plain(SK_ED25519, sk_ed25519() + b"\x00"),
            "key_trailing_bytes",
            "C11",
        ),
        refused("bytes_after_rsa", plain("ssh-rsa", rsa(3072) + bytes(4)), "key_trailing_bytes", "C11"),
        refused("certificate_under_a_plain_name", plain(ED25519, certificate()), "key_type_mismatch", "C14"),
        refused("other_inner_type", plain("ssh-rsa", ed25519(0x11)), "key_type_mismatch"),
        refused("plain_key_as_security_key", plain(SK_ED25519, ed25519(0x11)), "key_type_mismatch"),
        refused("other_curve_inside", plain(p256, ecdsa("nistp256", named="nistp384")), "key_type_mismatch"),
        refused("four_bytes", f"{ED25519} AAAACw==", "key_blob_malformed"),
        refused(
            "length_beyond_the_end",
            plain(ED25519, string(ED25519.encode()) + b"\xff" * 8),
            "key_blob_malformed",
        ),
        refused("ed25519_of_31_bytes", plain(ED25519, short), "key_blob_malformed"),
        refused(
            "security_key_without_application",
            plain(SK_ED25519, ed25519(0x11, SK_ED25519)),
            "key_blob_malformed",
        ),
        refused("security_key_empty_application", plain(SK_ED25519, sk_ed25519(b"")), "key_blob_malformed"),
        refused(
            "security_key_control_application", plain(SK_ED25519, sk_ed25519(b"ssh:\n")), "key_blob_malformed"
        ),
        refused("security_ecdsa_without_application", plain(SK_ECDSA, sk), "key_blob_malformed"),
        refused("compressed_point", plain(p256, ecdsa("nistp256", b"\x03" + q[1:33])), "key_blob_malformed"),
        refused("point_at_infinity", plain(p256, ecdsa("nistp256", b"\x00")), "key_blob_malformed"),
        refused("point_off_the_curve", plain(p256, ecdsa("nistp256", off_curve)), "key_blob_malformed"),
        refused(
            "coordinate_not_reduced",
            plain(p256, ecdsa("nistp256", b"\x04" + b"\xff" * 64)),
            "key_blob_malformed",
        ),
        refused("rsa_2048", plain("ssh-rsa", rsa(2048)), "key_rsa_size"),
        refused("rsa_3071", plain("ssh-rsa", rsa(3071)), "key_rsa_size"),
        refused("rsa_16385", plain("ssh-rsa", rsa(16385)), "key_rsa_size"),
        refused("rsa_exponent_1", plain("ssh-rsa", rsa(3072, exponent=1)), "key_blob_malformed"),
        refused("rsa_even_exponent", plain("ssh-rsa", rsa(3072, exponent=65536)), "key_blob_malformed"),
        refused(
            "rsa_exponent_of_65_bits",
            plain("ssh-rsa", rsa(3072, exponent=(1 << 64) + 1)),
            "key_blob_malformed",
        ),
        refused("rsa_even_modulus", plain("ssh-rsa", rsa(3072, even=True)), "key_blob_malformed"),
        refused("rsa_negative_modulus", plain("ssh-rsa", negative), "key_blob_malformed"),
        refused("rsa_needless_zero", plain("ssh-rsa", leading_zero), "key_blob_malformed"),
    ]


def build() -> dict[str, Any]:
    """The whole golden."""
    return {
        "name": "ssh-public-keys",
        "ledger": ["E6", "S7"],
        "direction": "member-to-central",
        "schema": 1,
        "valid": accepted_vectors(),
        "refused": refused_lines() + refused_blobs(),
    }


def render() -> str:
    """The file's text."""
    return json.dumps(build(), indent=1, ensure_ascii=True) + "\n"


if __name__ == "__main__":
    PATH.write_text(render(), encoding="ascii")
