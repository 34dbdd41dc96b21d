"""A private certificate authority for one journey, as strict as OpenSSL 3 and Python 3.13 ask.

Python 3.13 verifies with VERIFY_X509_STRICT: the leaf needs an authority key identifier, the CA
critical basicConstraints and keyUsage (RFC 5280, 4.2.1).
"""

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = datetime.timedelta(days=7)
SLACK = datetime.timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class ServerCertificate:
    """PEM files: the CA to trust, the server's certificate and its key (0600)."""

    ca: Path
    certificate: Path
    key: Path


def issue(folder: Path, names: Sequence[str], now: datetime.datetime) -> ServerCertificate:
    """Make a CA and one server certificate for DNS names and addresses."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    ca_key, ca = _authority(now)
    key = ec.generate_private_key(ec.SECP256R1())
    leaf = _leaf(names, key, ca_key, ca, now)
    made = ServerCertificate(folder / "ca.pem", folder / "server.pem", folder / "server.key")
    made.ca.write_bytes(ca.public_bytes(Encoding.PEM))
    made.certificate.write_bytes(leaf.public_bytes(Encoding.PEM))
    made.key.touch(mode=0o600)
    made.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return made


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: str, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SLACK)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _authority(now: datetime.datetime) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = "Journey CA (laboratory)"
    built = _builder(name, _name(name), key.public_key(), now)
    built = built.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    built = built.add_extension(_usage(authority=True), critical=True)
    return key, built.sign(key, hashes.SHA256())


def _leaf(
    names: Sequence[str],
    key: ec.EllipticCurvePrivateKey,
    ca_key: ec.EllipticCurvePrivateKey,
    ca: x509.Certificate,
    now: datetime.datetime,
) -> x509.Certificate:
    built = _builder(names[0], ca.subject, key.public_key(), now)
    built = built.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    built = built.add_extension(_usage(authority=False), critical=True)
    built = built.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    built = built.add_extension(authority, critical=False)
    built = built.add_extension(x509.SubjectAlternativeName([_alternative(n) for n in names]), critical=False)
    return built.sign(ca_key, hashes.SHA256())


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
