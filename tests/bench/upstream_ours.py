"""The reporter's side beside the upstream agent: its directory, its intake, its passes on the host."""

from __future__ import annotations

import io
import json
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid5

from central.dev.certificates import ensure_authority, issue_leaf
from tests.lab.host import LabHost
from tests.simulators.site_intake.platform import NAMESPACE, Body, Platform
from tests.simulators.site_intake.server import KEY, SiteIntake
from tests.simulators.waldur.process import WaldurProcess

ROOT = Path(__file__).parents[2]
NAME = "vm.lab.test"
FOLDER = "/opt/reporter"
STATE, RUN = "/var/lib/pharos-reporter", "/run/pharos-reporter"
SUFFIX = "dc=icarus,dc=example"
PEOPLE, GROUPS = f"ou=people,ou=pharos,{SUFFIX}", f"ou=groups,ou=pharos,{SUFFIX}"
IDS = UUID("0d8e9d9a-0e6b-4f0e-9a39-5c7c0a5c9b51")
PACKAGES = ("site_bundle", "ldap3", "pyasn1")
WITHIN = 1200.0
PASSES_MAX = 12
RESIDENT_PASSES = 3


class Timed(Platform):
    """The stand-in of central; it says how long it took, and reckons each allocation's id once.

    `busy` is processor time: calls that overlap wait for one another, and what they wait is not the rules'.
    """

    busy = 0.0

    def allocation(self, resource: str) -> str:
        return _reckoned(NAMESPACE, f"{self.instance}/{resource}")

    def take(self, kind: str, raw: bytes, now: datetime) -> Body:
        with self._counted():
            return super().take(kind, raw, now)

    def members_of(self, raw: bytes, now: datetime) -> Body:
        with self._counted():
            return super().members_of(raw, now)

    def kept(self, now: datetime) -> Body:
        with self._counted():
            return super().kept(now)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        begin = time.thread_time()
        try:
            yield
        finally:
            spent = time.thread_time() - begin
            with self.lock:
                self.busy += spent


@cache
def _reckoned(namespace: UUID, name: str) -> str:
    return str(uuid5(namespace, name))


@dataclass(frozen=True, slots=True)
class Ours:
    """The reporter on the host, ready to be run."""

    host: LabHost
    waldur: WaldurProcess
    platform: Timed
    environment: dict[str, str]

    def once(self) -> dict[str, float]:
        """`pharos-reporter once` as typed: `typed_s` is the wall time of the process, start and imports
        included; its commands and what it applied.
        """
        script = (
            "begin=$(date +%s.%N); "
            "/usr/bin/python3.13 -m site_bundle.reporter.main once --json >/root/once.json; code=$?; "
            'echo "$begin $(date +%s.%N) $code"'
        )
        done = self.host.exec(["sh", "-c", script], env=self.environment, timeout=WITHIN)
        begin, end, code = done.stdout.split()
        document = json.loads(self.host.read("/root/once.json"))
        if code != "0":
            raise RuntimeError(
                f"the reporter's pass is not whole ({code}): {str(document)[:2000]}{done.stderr[:2000]}"
            )
        return {"typed_s": float(end) - float(begin), "applied": float(len(document["differences"]))}

    def settled(self) -> dict[str, float]:
        """Passes until one has nothing to apply: how many, and how long that one took as typed."""
        for before in range(PASSES_MAX):
            figures = self.once()
            if not figures["applied"]:
                return {"typed_s": figures["typed_s"], "passes_before": float(before)}
        raise RuntimeError(f"the reporter still applies after {PASSES_MAX} passes")

    def one_pass(self, accounts: int) -> dict[str, float]:
        """One pass with nothing to apply, all `accounts` ready: `on_host_reporter.py`'s figures, and what the
        stand-ins' rules needed of it.
        """
        self.waldur.act("forget")
        self.platform.busy = 0.0
        self.platform.arrived.clear()
        done = self.host.exec(
            ["/usr/bin/python3.13", f"{FOLDER}/one_pass.py"], env=self.environment, timeout=WITHIN
        )
        figures = cast(dict[str, float], json.loads(done.stdout))
        figures["stand_in_s"] = self.platform.busy + float(self.waldur.act("busy"))
        figures["reports"] = float(len(self.platform.arrived))
        sent = {kind for kind, _ in self.platform.arrived}
        whole = figures["ready"] == accounts and not figures["applied"] and not figures["faults"]
        if not whole or sent != {"reports", "account-sets"} or self.platform.refused:
            raise RuntimeError(f"no settled pass: {figures}, sent {sent}, refused {self.platform.refused}")
        return figures

    def resident(self) -> dict[str, float]:
        """`on_host_resident.py`'s figures: the reporter as a service, idle after `RESIDENT_PASSES` passes."""
        argv = ["/usr/bin/python3.13", f"{FOLDER}/resident.py", str(RESIDENT_PASSES)]
        done = self.host.exec(argv, env=self.environment, timeout=WITHIN)
        return cast(dict[str, float], json.loads(done.stdout))


@contextmanager
def standing(host: LabHost, waldur: WaldurProcess, made: dict[str, str], folder: Path) -> Iterator[Ours]:
    """Directory, intake and program; the intake ends with the block."""
    folder.mkdir()
    now = datetime.now(UTC)
    ca_file = ensure_authority(folder, now)
    certificate, key = issue_leaf(folder, NAME, host.host_side_addr, now)
    platform = Timed()
    names = members(waldur, platform)
    directory(host, names)
    intake = SiteIntake(platform, certificate, key, ca_file, host.host_side_addr, host.ports[1])
    intake.start()
    try:
        program(host, {"intake.crt": ca_file, "waldur.crt": waldur.ca_file})
        yield Ours(host, waldur, platform, environment(waldur, made, platform, intake.port))
    finally:
        intake.stop()


def members(waldur: WaldurProcess, platform: Platform) -> list[str]:
    """Every project of Waldur with its members, as central knows them; the usernames."""
    accounts = {row["user"]: row["username"] for row in waldur.act("rows", table="offering_users")}
    names = []
    for role in waldur.act("rows", table="roles"):
        if role["scope_type"] != "project":
            continue
        name = accounts[role["user"]]
        names.append(name)
        ref = str(UUID(role["scope"]))
        row = {
            "username": name, "partyId": str(uuid5(IDS, name)),
            "bindingId": str(uuid5(IDS, f"binding/{name}")), "bindingRevision": 1,
            "generation": 1, "state": "active",
        }  # fmt: skip
        platform.projects.setdefault(ref, (str(uuid5(IDS, ref)), []))[1].append(row)
    return names


def directory(host: LabHost, names: list[str]) -> None:
    """People and one group of all of them."""
    entries = []
    for number, name in enumerate(names):
        uid = 5_100_000 + number
        entries.append(
            f"dn: uid={name},{PEOPLE}\nobjectClass: inetOrgPerson\nobjectClass: posixAccount\nuid: {name}\n"
            f"cn: {name}\nsn: {name}\nuidNumber: {uid}\ngidNumber: 5500001\nhomeDirectory: /home/{name}\n"
        )
    inside = "".join(f"memberUid: {name}\n" for name in names)
    group = f"dn: cn=bench,{GROUPS}\nobjectClass: posixGroup\ncn: bench\ngidNumber: 5500001\n{inside}"
    host.exec(
        ["ldapadd", "-Q", "-Y", "EXTERNAL", "-H", "ldapi:///"],
        input="\n".join([*entries, group]),
        timeout=WITHIN,
    )


def program(host: LabHost, trusted: dict[str, Path]) -> None:
    """The reporter's code and its one library, its user and folders, compiled as a release compiles it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name in PACKAGES:
            found = find_spec(name)
            if found is None or not found.submodule_search_locations:
                raise RuntimeError(f"{name} is not installed here")
            tar.add(next(iter(found.submodule_search_locations)), name, filter=_without_bytecode)
    host.exec(["mkdir", "-p", FOLDER])
    host.exec(["tar", "-C", FOLDER, "-x"], input=packed.getvalue())
    host.exec(["python3.13", "-m", "compileall", "-q", FOLDER], timeout=WITHIN)
    host.exec(["sh", "-c", "id pharos-agent >/dev/null 2>&1 || useradd --system pharos-agent"])
    for path in (STATE, RUN):
        host.exec(["install", "-d", "-o", "pharos-agent", "-m", "0700", path])
    for name, file in trusted.items():
        host.put(f"{FOLDER}/{name}", file.read_bytes())
    for name, script in {"one_pass.py": "on_host_reporter.py", "resident.py": "on_host_resident.py"}.items():
        host.put(f"{FOLDER}/{name}", (ROOT / "tests/bench" / script).read_bytes())


def _without_bytecode(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if "__pycache__" in entry.name else entry


def environment(waldur: WaldurProcess, made: dict[str, str], platform: Platform, port: int) -> dict[str, str]:
    """The reporter's settings; a laboratory's secrets stand in them as well."""
    own = "PHAROS_REPORTER_"
    settings: dict[str, Any] = {
        "PYTHONPATH": FOLDER,
        "STATE_DIRECTORY": STATE,
        "RUNTIME_DIRECTORY": RUN,
        "PHAROS_INTAKE_URL": f"https://{NAME}:{port}",
        "PHAROS_INTAKE_CA_FILE": f"{FOLDER}/intake.crt",
        "PHAROS_INTAKE_KEY": KEY,
        "PHAROS_WALDUR_API_URL": waldur.api,
        "PHAROS_WALDUR_CA_FILE": f"{FOLDER}/waldur.crt",
        "PHAROS_WALDUR_TOKEN": made["manager"],
        "PHAROS_WALDUR_OFFERING_UUID": made["offering"],
        "PHAROS_WALDUR_INSTANCE": platform.instance,
        f"{own}SITE": platform.site,
        f"{own}LDAP_URL": "ldap://127.0.0.1:389",
        f"{own}LDAP_BIND_DN": f"cn=pharos-agent,ou=services,{SUFFIX}",
        f"{own}LDAP_PASSWORD": "agentpw",
        f"{own}PEOPLE_BASE": PEOPLE,
        f"{own}GROUPS_BASE": GROUPS,
        f"{own}UID_MIN": "5000000",
        f"{own}UID_MAX": "5499999",
        f"{own}GID_MIN": "5500000",
        f"{own}GID_MAX": "5599999",
        f"{own}CLUSTER": "icarus",
        f"{own}PARENT_ACCOUNT": "pharos",
        f"{own}CAPACITY": json.dumps({"cpu": 16000, "memory": 16000 << 20, "gpu.gh200": 2}),
    }
    return {name: str(value) for name, value in settings.items()}
