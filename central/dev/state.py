"""The state folder: who runs on it, which ports it had, the files made once."""

import fcntl
import json
import os
import secrets
import socket
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from central.dev.plan import DevPlan, DevRefused, Listening

PORTS: Final = (
    "site_api", "intake", "member_api", "worker", "oidc", "project_api", "execution", "git", "credentials",
    "overview",
)  # fmt: skip


CLIENT_FILE: Final = "oidc-client-secret"
GIT_FILE: Final = "git-credentials-token"
CONSENT_FILE: Final = "consent-key"


def make_folders(plan: DevPlan) -> None:
    """Makes what is missing. PostgreSQL's uid may enter the state folder itself, not its parts."""
    plan.state.mkdir(mode=0o711, parents=True, exist_ok=True)
    for folder, mode in ((plan.secrets, 0o700), (plan.logs, 0o700), (plan.tls, 0o755)):
        folder.mkdir(mode=mode, exist_ok=True)
        folder.chmod(mode)


@contextmanager
def only_one(plan: DevPlan) -> Iterator[None]:
    """One stack a folder. Raises `DevRefused` while another runs on it."""
    descriptor = os.open(plan.state / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DevRefused(
                f"a stack runs on {plan.state} already; stop it, or name another folder"
            ) from None
        yield
    finally:
        os.close(descriptor)


def choose_ports(plan: DevPlan) -> dict[str, int]:
    """The ports of the last start where they are still free, so that URLs stay; others are drawn."""
    path = plan.state / "ports.json"
    earlier: dict[str, Any] = json.loads(path.read_text(encoding="ascii")) if path.exists() else {}
    wanted = {"site_api": plan.site_api, "intake": plan.intake, "git": plan.git}
    ports: dict[str, int] = {}
    for name in PORTS:
        at = wanted.get(name, Listening("127.0.0.1", 0))
        ports[name] = at.port or _free_port(
            at.host.strip("[]"), int(earlier.get(name, 0)), set(ports.values())
        )
    path.write_text(json.dumps(ports), encoding="ascii")
    return ports


def _free_port(host: str, wanted: int, taken: set[int]) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in (wanted, 0, 0, 0):
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            found = int(probe.getsockname()[1])
            if found not in taken:
                return found
    raise DevRefused(f"no free port on {host}: is the address one of this machine's?")


def ensure_accounts(plan: DevPlan) -> None:
    """Writes an example of the stand-in's file once; later starts leave it alone."""
    if plan.accounts.exists():
        return
    members = ("alice", "bob")
    accounts = [
        {
            "member": member,
            "site": site,
            "username": member,
            "uidNumber": 5_000_001 + index,
            "entryUUID": f"5f1c9a30-0000-1040-8000-00000000000{index + 1}",
        }
        for site in plan.sites
        for index, member in enumerate(members)
    ]
    document = {"schema": 1, "sites": list(plan.sites), "accounts": accounts}
    plan.accounts.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def ensure_intake_keys(plan: DevPlan) -> None:
    """Draws each Site's intake key once; later starts leave it alone."""
    for site in plan.sites:
        if not plan.intake_key_file(site).exists():
            write_private(plan.intake_key_file(site), secrets.token_urlsafe(32) + "\n")


def ensure_run_secrets(plan: DevPlan) -> None:
    """Draws once what Runs need: central's words at the issuer and the Git host, the key of consents."""
    words = {CLIENT_FILE: secrets.token_urlsafe(32), GIT_FILE: secrets.token_urlsafe(32)}
    words[CONSENT_FILE] = urlsafe_b64encode(secrets.token_bytes(32)).decode("ascii")
    for name, word in words.items():
        if not plan.secret_file(name).exists():
            write_private(plan.secret_file(name), word + "\n")


def write_private(path: Path, text: str) -> None:
    """Replaces a file of ours, 0600 from its first moment."""
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    draft.replace(path)


def write_dev_json(plan: DevPlan, document: Mapping[str, object]) -> None:
    """Says that the stack is ready and where; replaced in one step."""
    write_private(plan.dev_json, json.dumps(document, indent=1) + "\n")


def read_dev_json(state: Path) -> dict[str, Any]:
    """What the running stack said of itself. Raises `DevRefused` if none runs."""
    try:
        document: dict[str, Any] = json.loads((state / "dev.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DevRefused(
            f"no stack runs on {state}: start it with `pharos-central dev --state {state}`"
        ) from None
    return document
