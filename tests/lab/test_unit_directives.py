"""Each directive of each unit holds on a real host: without it the probe is let through, with it alone it is
stopped, in the whole unit it is stopped (I7, I10, I17, I02, X5). The table is ``unit_directives.py``.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lab.host import LabHost
from tests.lab.unit_directives import PROOFS, SHOWN, Proof
from tests.unit.site_bundle.units import ALL, CREDENTIALS, UNITS, Unit

pytestmark = pytest.mark.lab

STAGE = "/srv/pharos-probe"
PROBE = ("/usr/bin/python3.13", "-I", f"{STAGE}/unit_probes.py")
CASES = [
    pytest.param(unit, name, id=f"{unit.component}-{name}")
    for unit in ALL
    for name in sorted(unit.directives & set(PROOFS))
]
PREPARE = f"""
systemd-sysusers && systemd-tmpfiles --create /usr/lib/tmpfiles.d/pharos-hpc.conf
install -d -m 0777 {STAGE}/open && install -d /home/pharos-probe /usr/lib/modules
touch {STAGE}/alices /home/pharos-probe/marker /tmp/pharos-probe /dev/pharos-probe
chown 5000001 {STAGE}/alices
ip route replace 224.0.0.0/4 dev host0
printf %s "$(readlink /proc/1/ns/mnt)" > {STAGE}/mounts-of-1
"""


def program_of_32_bits() -> bytes:
    """An ELF32 program that ends with 7 (elf(5)): mov eax, 1; mov ebx, 7; int 0x80."""
    code = bytes.fromhex("b801000000bb07000000cd80")
    size = 84 + len(code)
    head = b"\x7fELF\x01\x01\x01" + bytes(9)
    head += struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0x08048054, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    return head + struct.pack("<8I", 1, 0, 0x08048000, 0x08048000, size, size, 5, 0x1000) + code


def questions(unit: Unit) -> list[tuple[str, str]]:
    """What the whole unit is asked: each probe with each value of its directive, and to leave something."""
    asked = [
        (PROOFS[name].probe, value)
        for name in sorted(unit.directives & set(PROOFS))
        for value in unit.directive(name)
    ]
    return [*asked, ("leaving", f"left-by-{unit.component}")]


@pytest.fixture(scope="module")
def stage(lab_host: LabHost) -> LabHost:
    """The host with what the probes look for, and what `install` would put there."""
    for kind in ("sysusers.d", "tmpfiles.d"):
        lab_host.put(f"/usr/lib/{kind}/pharos-hpc.conf", (UNITS / kind / "pharos-hpc.conf").read_bytes())
    lab_host.exec(["sh", "-ec", PREPARE])
    lab_host.put(f"{STAGE}/exit7", program_of_32_bits(), 0o755)
    lab_host.put(f"{STAGE}/unit_probes.py", Path(__file__).with_name("unit_probes.py").read_bytes())
    for component, names in CREDENTIALS.items():
        lab_host.put(f"/etc/pharos-hpc/{component}.env", b'PHAROS_PROBE="from the file"\n')
        for name in names:
            path = f"/etc/pharos-hpc/credentials/{component}/{name}"
            lab_host.put(path, f"secret of {name}".encode(), 0o600)
    for unit in ALL:
        paths = [path.lstrip("-") for value in unit.directive("InaccessiblePaths") for path in value.split()]
        lab_host.exec(["mkdir", "-p", *paths])
    return lab_host


@dataclass(frozen=True, slots=True)
class Whole:
    """What was seen of a whole unit, which differed from the template in its program alone."""

    outcomes: dict[str, str]
    shown: dict[str, str]
    left: list[str]


def watch(host: LabHost, unit: Unit) -> Whole:
    name = f"pharos-{unit.component}.service"
    asked = f"{STAGE}/{unit.component}.json"
    host.put(asked, json.dumps(questions(unit)).encode())
    host.put(f"/etc/systemd/system/{name}", unit.text.encode())
    program = f"[Service]\nExecStart=\nExecStart={' '.join(PROBE)} {asked}\n"
    host.put(f"/etc/systemd/system/{name}.d/probe.conf", program.encode())
    host.exec(["systemctl", "daemon-reload"])
    started = host.exec(["systemctl", "start", name], check=False)
    assert started.returncode == 0, host.exec(["journalctl", "-u", name, "--no-pager"]).stdout[-3000:]
    (folder,) = unit.directive("StateDirectory")
    outcomes = json.loads(host.read(f"/var/lib/{folder}/probes.json"))
    shown = host.exec(["systemctl", "show", name, f"--property={','.join(SHOWN)}"]).stdout
    host.exec(["systemctl", "stop", name])
    left = host.exec(["ls", "/dev/shm"]).stdout.split()
    return Whole(outcomes, dict(line.split("=", 1) for line in shown.splitlines()), left)


@pytest.fixture(scope="module")
def whole(stage: LabHost) -> dict[str, Whole]:
    return {unit.component: watch(stage, unit) for unit in ALL}


Asked = dict[tuple[str, ...], str]


@pytest.fixture(scope="module")
def asked() -> Asked:
    """Outcomes of transient units, so that what two units have in common is asked once."""
    return {}


def outcome(host: LabHost, asked: Asked, properties: tuple[str, ...], probe: str, value: str) -> str:
    """The outcome in a transient unit that has these properties and no other."""
    key = (*properties, probe, value)
    if key not in asked:
        run = ["systemd-run", "--quiet", "--wait", "--pipe", "--collect"]
        run += [word for text in properties for word in ("-p", text)]
        done = host.exec([*run, *PROBE, probe, value], check=False)
        asked[key] = done.stdout.strip() or f"status {done.returncode}: {done.stderr.strip()}"
    return asked[key]


@pytest.mark.parametrize(("unit", "name"), CASES)
def test_I10_directive_holds(
    stage: LabHost, whole: dict[str, Whole], asked: Asked, unit: Unit, name: str
) -> None:
    proof: Proof = PROOFS[name]
    values = unit.directive(name)
    for value in values:
        assert whole[unit.component].outcomes[f"{proof.probe} {value}"] == "stopped", "in the whole unit"
        if proof.plain is None:
            continue
        assert outcome(stage, asked, proof.plain, proof.probe, value) == proof.without, "without it"
        alone = (*proof.plain, *(f"{name}={each}" for each in values))
        assert outcome(stage, asked, alone, proof.probe, value) == "stopped", "with it alone"


@pytest.mark.parametrize("unit", ALL, ids=[unit.component for unit in ALL])
def test_I10_systemd_says_what_the_lab_cannot_show(whole: dict[str, Whole], unit: Unit) -> None:
    def bytes_of(text: str) -> str:
        return str(int(text[:-1]) << 20) if text.endswith("M") else text

    wanted = {name: bytes_of(value) for name in SHOWN for value in unit.directive(name)}
    assert whole[unit.component].shown == wanted


def test_I7_nothing_shared_is_left(stage: LabHost, whole: dict[str, Whole], asked: Asked) -> None:
    """RemoveIPC=: shared memory of the user is gone with the unit, and without the directive it is not."""
    for unit in ALL:
        name = f"left-by-{unit.component}"
        assert unit.directive("RemoveIPC") == ["yes"]
        assert whole[unit.component].outcomes[f"leaving {name}"] == "left"
        assert name not in whole[unit.component].left
    (user,) = ALL[0].directive("User")
    for more, remains in (((), True), (("RemoveIPC=yes",), False)):
        assert outcome(stage, asked, (f"User={user}", *more), "leaving", "left-alone") == "left"
        assert ("left-alone" in stage.exec(["ls", "/dev/shm"]).stdout.split()) is remains
