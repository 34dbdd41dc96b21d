"""The development CA's certificates pass the strictest check OpenSSL has (RFC 5280)."""

import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from central.dev.certificates import ensure_authority, issue_leaf
from central.dev.plan import DevPlan, DevRefused


def handshake(folder: Path, name: str) -> str:
    """A TLS handshake over a socket pair with strict verification; the protocol's version."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "site-api.crt", folder / "site-api.key")
    client = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    near, far = socket.socketpair()

    def serve() -> None:
        try:
            with server.wrap_socket(far, server_side=True) as connection:
                connection.recv(1)
        except (ssl.SSLError, OSError):
            far.close()

    serving = threading.Thread(target=serve)
    serving.start()
    try:
        with client.wrap_socket(near, server_hostname=name) as connection:
            return str(connection.version())
    finally:
        near.close()
        serving.join(10)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    now = datetime.now(UTC)
    ensure_authority(tmp_path, now)
    issue_leaf(tmp_path, "vm.lab.test", "10.0.3.1", now)
    return tmp_path


@pytest.mark.parametrize("name", ["vm.lab.test", "10.0.3.1"])
def test_its_names_pass_strict_verification(name: str, folder: Path) -> None:
    assert handshake(folder, name) == "TLSv1.3"


@pytest.mark.parametrize("name", ["other.lab.test", "10.0.3.2"])
def test_other_names_do_not(name: str, folder: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(folder, name)


def test_the_authority_is_made_once_and_the_leaf_each_time(folder: Path) -> None:
    authority, leaf = (folder / "ca.crt").read_bytes(), (folder / "site-api.crt").read_bytes()
    now = datetime.now(UTC) + timedelta(days=1)
    ensure_authority(folder, now)
    issue_leaf(folder, "vm.lab.test", "0.0.0.0", now)
    assert (folder / "ca.crt").read_bytes() == authority
    assert (folder / "site-api.crt").read_bytes() != leaf


def test_keys_are_private(folder: Path) -> None:
    assert [(folder / name).stat().st_mode & 0o777 for name in ("ca.key", "site-api.key")] == [0o600] * 2


@pytest.mark.parametrize(
    ("listen", "name"),
    [
        ("10.0.3.1", None),
        ("10.0.3.1:8443", None),
        ("host.example:8443", "x.test"),
        ("127.0.0.1:99999", None),
        ("127.0.0.1:8443", "Not_A_Name"),
    ],
)
@pytest.mark.parametrize("which", ["site_listen", "intake_listen"])
def test_plans_that_cannot_be_meant(listen: str, name: str | None, which: str, tmp_path: Path) -> None:
    listens: dict[str, str | None] = {"site_listen": None, "intake_listen": None, which: listen}
    with pytest.raises(DevRefused):
        DevPlan.of(
            state=tmp_path,
            site_listen=listens["site_listen"],
            intake_listen=listens["intake_listen"],
            tls_name=name,
            sites=("slurm",),
            pollers=4,
            reported=False,
        )
