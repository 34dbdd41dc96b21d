"""Planted values: which secrets a Run meets, and where any of them can be read (X5, S2, S4, K08).

Members' tokens are not known beforehand; every token of one key begins with the same header (RFC 7515 §3.1):
it stands for all of them.
"""

import base64
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import jwt
import psycopg
from cryptography.hazmat.primitives.asymmetric import rsa

from central.execution.adapters.sealed import Seal
from tests.journeys.executing import Executing
from tests.lab.host import LabHost
from tests.lab.member_tokens import key_ids, published

PATTERNS = "/dev/shm/planted"
READERS = (None, "alice", "bob", "pharos-runtime", "pharos-agent", "pharos-ssh-access")
"""Root, the member, another member, and the product's own users."""
USERNAME, PASSWORD = "PHAROS_REPOSITORY_USERNAME", "PHAROS_REPOSITORY_PASSWORD"
# What was not there when the host's tree was built.
NEWER = r"""find / \( -path /proc -o -path /sys \) -prune -o -type f -cnewer /etc/lab-tree \
! -path "$0" -print0 | xargs -0 -r grep -laF -f "$0" --"""
JOURNAL = """journalctl --no-pager --all -o export | grep -acF -f "$0" """


@dataclass(slots=True)
class Planted:
    """Secrets by name."""

    values: dict[str, bytes] = field(default_factory=dict, repr=False)

    def found_in(self, text: str | bytes) -> list[str]:
        """Names of those in a text."""
        whole = text.encode() if isinstance(text, str) else text
        return sorted(name for name, value in self.values.items() if value in whole)

    @property
    def lines(self) -> bytes:
        """One a line, as ``grep -f`` reads them."""
        return b"\n".join(self.values.values()) + b"\n"


@cache
def _any_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def header_of(key_id: str) -> bytes:
    """What every RS256 token of a key begins with."""
    return jwt.encode({}, _any_key(), algorithm="RS256", headers={"kid": key_id}).split(".")[0].encode()


def planted(executing: Executing, *users: str) -> Planted:
    """What is known before a stage begins: bearers, keys, what central keeps of the members' consents."""
    road, facts = executing.road, executing.road.central.facts()
    issuer = facts["oidc"]["issuer"]
    (slurm,) = key_ids(published(facts["runs"]["slurmKeySets"]["slurm"]))
    values = {
        "bearer of ssh-access": road.token,
        "bearer of commands": (road.work / "commands-token").read_bytes(),
        "intake key": road.central.intake_key(),
        "Waldur token": executing.marketplace.token(),
        "any member's token for Slurm": header_of(slurm),
    }
    for key in key_ids(published(f"{issuer}/jwks")):
        values[f"any access token of {key}"] = header_of(key)
    secrets = road.central.state / "secrets"
    for name in ("oidc-client-secret", "git-credentials-token", "consent-key"):
        values[name] = (secrets / name).read_bytes()
    seal = Seal([values["consent-key"].decode().strip()])
    for user in users:
        party = executing.parties[user]
        ((sealed,),) = executing.rows("SELECT sealed FROM execution.consents WHERE party = %s", party)
        values[f"refresh token of {user}"] = seal.open(party, bytes(sealed)).refresh.encode()
    return Planted({name: value.strip() for name, value in values.items()})


def with_credential(known: Planted, username: str, password: str) -> Planted:
    """The same with a repository credential, as it is and as HTTP would carry it (RFC 7617)."""
    basic = base64.b64encode(f"{username}:{password}".encode())
    return Planted({**known.values, "repository credential": password.encode(), "the same for HTTP": basic})


@contextmanager
def _handed(host: LabHost, known: Planted) -> Iterator[None]:
    host.put(PATTERNS, known.lines, 0o600)
    try:
        yield
    finally:
        host.exec(["rm", "-f", PATTERNS])


def files_on(host: LabHost, known: Planted) -> dict[str, list[str]]:
    """Every file of the host written since it was made that holds any of them, with their names; as root."""
    with _handed(host, known):
        shown = host.exec(["sh", "-c", NEWER, PATTERNS], check=False, timeout=120.0).stdout
        return {path: _names(host, known, path) for path in shown.splitlines()}


def _names(host: LabHost, known: Planted, path: str) -> list[str]:
    return [
        name
        for name, value in known.values.items()
        if host.exec(["grep", "-qaF", "-f", "-", "--", path], input=value, check=False).returncode == 0
    ]


def lines_of_journal(host: LabHost, known: Planted) -> int:
    """How many fields of the host's journal hold any."""
    with _handed(host, known):
        return int(host.exec(["sh", "-c", JOURNAL, PATTERNS], check=False, timeout=120.0).stdout)


def told_by_slurm(host: LabHost, job: str, user: str | None) -> str:
    """Everything Slurm's commands tell this user of a job and of all jobs."""
    asks = (
        f"scontrol -d show job {job}",
        f"scontrol --json show job {job}",
        f"scontrol write batch_script {job} -",
        f"sacct --env-vars -j {job}",
        f"sacct --batch-script -j {job}",
        "sacct -p -a -S 2020-01-01 -o ALL",
        "sacct --json -a -S 2020-01-01",
        "squeue -o %all",
        "squeue --json",
    )
    whole = "; ".join(asks)
    done = host.exec(["sh", "-c", whole], user=user, check=False, timeout=60.0)
    return done.stdout + done.stderr


def shown_of_processes(host: LabHost, what: str, user: str | None) -> str:
    """``cmdline`` or ``environ`` of every process of the host that this user may read; NULs as line ends."""
    script = f"cat /proc/[0-9]*/{what} 2>/dev/null | tr '\\0' '\\n'"
    return host.exec(["sh", "-c", script], user=user, check=False).stdout


def owners_of_environments(host: LabHost, known: Planted) -> set[str]:
    """User and program of every process of the host whose environment holds any of them; as root."""
    script = """cd /proc; for p in [0-9]*
do grep -qaF -f "$0" "$p/environ" 2>/dev/null && ps -o user:32=,comm= -p "$p" | tr -s ' '
done; true"""
    with _handed(host, known):
        return set(host.exec(["bash", "-c", script, PATTERNS]).stdout.splitlines())


def environment_of(host: LabHost, user: str) -> dict[str, str]:
    """The environment the script of the user's only job was started with."""
    script = """for p in $(ps -u "$0" -o pid=)
do grep -qa slurm_script /proc/$p/cmdline && cat /proc/$p/environ && exit
done"""
    shown = host.exec(["bash", "-c", script, user], check=False).stdout
    return dict(item.split("=", 1) for item in shown.split("\0") if "=" in item)


def files_in(folder: Path, known: Planted, skip: Sequence[str]) -> dict[str, list[str]]:
    """Every file below a folder of this machine, but for some of its parts, that holds any of them."""
    found: dict[str, list[str]] = {}
    for top, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if str(Path(top, name).relative_to(folder)) not in skip]
        for path in (Path(top, name) for name in files):
            if path.is_file() and not path.is_symlink():
                names = known.found_in(path.read_bytes())
                found |= {str(path.relative_to(folder)): names} if names else {}
    return found


def rows_with(url: str, known: Planted) -> Mapping[str, list[str]]:
    """Every table of a database that holds any, in plain text or in the bytes of a column."""
    tables = (
        "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
        " WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1"
    )
    both = Planted(known.values | {f"{name} (hex)": v.hex().encode() for name, v in known.values.items()})
    found: dict[str, list[str]] = {}
    with psycopg.connect(url) as connection:
        for (table,) in connection.execute(tables).fetchall():
            with connection.cursor().copy(f"COPY {table} TO STDOUT".encode()) as copied:
                names = both.found_in(b"".join(bytes(part) for part in copied))
            found |= {table: names} if names else {}
    return found


def processes_here(what: str) -> bytes:
    """``cmdline`` or ``environ`` of every process of this machine and of its hosts."""
    whole = b""
    for path in Path("/proc").iterdir():
        if re.fullmatch("[0-9]+", path.name):
            try:
                whole += (path / what).read_bytes() + b"\0"
            except OSError:
                continue
    return whole
