"""A development CA and the Site API's certificate, strict enough for `VERIFY_X509_STRICT` (RFC 5280).

The CA has critical basicConstraints and keyUsage; the leaf has SAN, EKU, SKI and AKI and lives shorter.
"""

import os
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_BACKDATED: Final = timedelta(hours=1)
_CA_LASTS: Final = timedelta(days=825)
_LEAF_LASTS: Final = timedelta(days=90)
_KEY_USAGES: Final = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


def ensure_authority(folder: Path, now: datetime) -> Path:
    """Makes `ca.crt` and `ca.key` in `folder` once; the certificate's path."""
    certificate, key_file = folder / "ca.crt", folder / "ca.key"
    if certificate.exists() and key_file.exists():
        return certificate
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Pharos HPC DEVELOPMENT"),
            x509.NameAttribute(NameOID.COMMON_NAME, "Pharos HPC development CA (trust it nowhere else)"),
        ]
    )
    skid = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + _CA_LASTS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage("key_cert_sign", "crl_sign"), critical=True)
        .add_extension(skid, critical=False)
        .sign(key, hashes.SHA256())
    )
    _write(key_file, _private_pem(key), 0o600)
    _write(certificate, built.public_bytes(Encoding.PEM), 0o644)
    return certificate


def issue_leaf(
    folder: Path, dns_name: str, address: str, now: datetime, *, stem: str = "site-api"
) -> tuple[Path, Path]:
    """Makes a process's certificate for its DNS name and address; the certificate's path and the key's."""
    authority = x509.load_pem_x509_certificate((folder / "ca.crt").read_bytes())
    authority_key = load_pem_private_key((folder / "ca.key").read_bytes(), password=None)
    if not isinstance(authority_key, ec.EllipticCurvePrivateKey):
        raise TypeError("the development CA's key is not of the kind this module makes")
    key = ec.generate_private_key(ec.SECP256R1())
    names: list[x509.GeneralName] = [x509.DNSName(dns_name)]
    listening = _address(address)
    if listening is not None:
        names.append(x509.IPAddress(listening))
    authority_skid = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    built = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, dns_name[:64])]))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + _LEAF_LASTS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage("digital_signature"), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(authority_skid), critical=False
        )
        .sign(authority_key, hashes.SHA256())
    )
    certificate, key_file = folder / f"{stem}.crt", folder / f"{stem}.key"
    _write(key_file, _private_pem(key), 0o600)
    chain = built.public_bytes(Encoding.PEM) + authority.public_bytes(Encoding.PEM)
    _write(certificate, chain, 0o644)
    return certificate, key_file


def _usage(*granted: str) -> x509.KeyUsage:
    return x509.KeyUsage(**{name: name in granted for name in _KEY_USAGES})


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """The address as a name in the certificate; none for `localhost` and for "every address"."""
    try:
        address = ip_address(text.strip("[]"))
    except ValueError:
        return None
    return None if address.is_unspecified else address


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _write(path: Path, content: bytes, mode: int) -> None:
    """Replaces `path` in one step, never open to others for a moment."""
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    draft.chmod(mode)
    draft.replace(path)
