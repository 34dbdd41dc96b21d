"""One pass of the reporter beside one of the upstream site agent: same host, Slurm and Waldur (S8, S9).

`standing()` boots a lab host whose Slurm and directory hold 1,000 accounts and serves it the Waldur simulator
over TLS with the same resources and members. The upstream agent runs there in an environment of its own with
its Slurm plugin, configured as its manual has it.

Two shapes of 1,000 accounts are measured, each on a host of its own, and both are told:

* `ALONE`, 1,000 resources of one member each: 1,000 accounts as Slurm counts them (sacctmgr(1), `account`).
  **This is the ratio**: an account of Slurm is what a Site's pass is about and grows with, for both programs.
* `GROUPS`, 20 resources of 50 members each: 1,000 accounts as people count them. Here the agent asks seldom
  (20 resources), so the ratio is the less favourable one. It stands in the detail as `groups_ratio`, with its
  own lowest, highest and seconds under `groups_`.

What is compared is a pass of a program that has started: the reporter's with nothing to apply, and the
agent's `membership_sync`, which reads accounts, members and limits as the reporter does. `report` (usage
alone) stands in the detail, and so does `pharos-reporter once` as typed (`ours_typed_s`). What the rules of
the stand-ins needed (Waldur for both, the intake for the reporter) is taken off both. The figure is the
median of `ROUNDS` pairs, taken in turn.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import cast

from tests.bench import upstream_ours
from tests.bench.measure import Result
from tests.bench.upstream_ours import Ours
from tests.lab.host import LabHost
from tests.lab.tree import ensure_tree
from tests.simulators.waldur.process import WaldurProcess

ROUNDS = 3  # an agent's pass over 1,000 resources takes minutes
NAME = "vm.lab.test"
HERE = Path(__file__).parent
WHEELS = HERE.parents[1] / "build" / "wheels" / "upstream"
FOLDER = "/opt/upstream"
PYTHON = f"{FOLDER}/venv/bin/python"
WITHIN = 1200.0
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "manylinux1_x86_64")


@dataclass(frozen=True, slots=True)
class Shape:
    """`allocations` resources, each of its own Project, of `members` people each."""

    allocations: int
    members: int

    @property
    def accounts(self) -> int:
        return self.allocations * self.members

    def account(self, number: int) -> str:
        return f"alloc{number:04}"

    def people(self, number: int) -> list[str]:
        """Who is in allocation `number`: each person in one."""
        return [f"m{number:04}{one:02}" for one in range(self.members)]


ALONE, GROUPS = Shape(1000, 1), Shape(20, 50)


@dataclass(frozen=True, slots=True)
class Standing:
    """A host with everything in place; `made` names the offering and its tokens."""

    shape: Shape
    host: LabHost
    waldur: WaldurProcess
    made: dict[str, str]
    ours: Ours

    def upstream(self, mode: str) -> dict[str, float]:
        """One pass of the agent: `pass_s`, `start_s`, `commands`, `requests`, and `stand_in_s` of Waldur."""
        self.waldur.act("forget")
        argv = [PYTHON, f"{FOLDER}/one_pass.py", mode, f"{FOLDER}/config.yaml"]
        trust = {"SSL_CERT_FILE": f"{FOLDER}/ca.crt"}
        done = self.host.exec(argv, env=trust, timeout=WITHIN)
        figures = cast(dict[str, float], json.loads(done.stdout.strip().splitlines()[-1]))
        met = self.waldur.requests()
        figures |= {"requests": float(len(met)), "stand_in_s": float(self.waldur.act("busy"))}
        refused = [each for each in met if not 200 <= each["status"] < 300]
        if refused or min(figures["requests"], figures["commands"]) < self.shape.allocations:
            raise RuntimeError(f"the agent's pass is none to compare with: {refused[:3]} of {figures}")
        return figures


@contextmanager
def standing(shape: Shape) -> Iterator[Standing]:
    """Host, simulator, intake and both programs; everything is gone afterwards."""
    wheels()
    with (
        tempfile.TemporaryDirectory(prefix="pharos-bench-") as scratch,
        LabHost.up(binds=[f"{WHEELS}:/opt/wheels"], tree=ensure_tree()) as host,
    ):
        cluster(host, shape)
        port = host.ports[0]
        folder = Path(scratch) / "waldur"
        with WaldurProcess(folder, address=host.host_side_addr, port=port, name=NAME) as waldur:
            made = offering(waldur, shape)
            configured(host, waldur, made)
            with upstream_ours.standing(host, waldur, made, Path(scratch) / "intake") as ours:
                yield Standing(shape, host, waldur, made, ours)


def wheels() -> None:
    """The pinned wheels of the upstream agent for the host's Python, fetched and checked once."""
    WHEELS.mkdir(parents=True, exist_ok=True)
    wanted, stamp = (HERE / "upstream-requirements.txt").read_text(), WHEELS / "complete"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    argv = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
            "--require-hashes", "--only-binary", ":all:", "--python-version", "3.13",
            "--implementation", "cp", "--abi", "cp313", "--abi", "none", "--dest", str(WHEELS)]  # fmt: skip
    argv += [word for name in PLATFORMS for word in ("--platform", name)]
    for old in WHEELS.glob("*.whl"):
        old.unlink()
    done = subprocess.run(
        [*argv, "-r", str(HERE / "upstream-requirements.txt")], capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"no wheels of the upstream agent; is the package index reachable?\n{done.stderr}")
    stamp.write_text(wanted)


def cluster(host: LabHost, shape: Shape) -> None:
    """The accounts in Slurm and their users, from a dump (sacctmgr(1), `load`)."""
    lines = [
        "Cluster - 'icarus':DefaultQOS='normal'",
        "Parent - 'root'",
        "Account - 'pharos'",
        "Parent - 'pharos'",
    ]
    numbers = range(shape.allocations)
    lines += [f"Account - '{shape.account(n)}':GrpTRES=cpu=16" for n in numbers]
    for number in numbers:
        name = shape.account(number)
        lines += [
            f"Parent - '{name}'",
            *(f"User - '{one}':DefaultAccount='{name}'" for one in shape.people(number)),
        ]
    host.put("/root/accounts.cfg", "\n".join([*lines, ""]).encode())
    host.exec(["sacctmgr", "-i", "load", "/root/accounts.cfg"], timeout=WITHIN)
    listed = host.exec(["sacctmgr", "-nP", "show", "assoc", "format=user"]).stdout
    if sum(line.startswith("m") for line in listed.splitlines()) != shape.accounts:
        raise RuntimeError("Slurm does not hold the accounts that were loaded")


def offering(waldur: WaldurProcess, shape: Shape) -> dict[str, str]:
    """The same at Waldur: a project and a resource an allocation, and its members with their usernames."""
    made = waldur.stand(
        username_generation_policy="service_provider", service_provider_can_create_offering_user=True
    )
    for number in range(shape.allocations):
        project = waldur.act("add_project", name=f"project {number}", customer=made["customer"])
        waldur.act(
            "add_resource", offering=made["offering"], project=project, name=shape.account(number),
            backend_id=shape.account(number), limits={"node": 100},
        )  # fmt: skip
        for name in shape.people(number):
            user = waldur.act("add_user", username=f"{name}@example.org")
            waldur.act("add_offering_user", offering=made["offering"], user=user, username=name)
            waldur.act("add_member", project=project, user=user)
    return made


def configured(host: LabHost, waldur: WaldurProcess, made: dict[str, str]) -> None:
    """The agent's environment and its configuration (one offering, backend slurm in every mode)."""
    backend = {
        "default_account": "pharos", "customer_prefix": "", "project_prefix": "", "allocation_prefix": "",
        "cluster_name": "icarus", "parent_account": "pharos", "qos_default": "normal",
        "enable_user_homedir_account_creation": False,
    }  # fmt: skip
    node = {
        "measured_unit": "node-hours", "unit_factor": 60, "accounting_type": "limit", "label": "Node-hours",
        "limit_period": "total",
    }  # fmt: skip
    sold = {
        "name": "Icarus HPC", "waldur_api_url": waldur.api, "waldur_api_token": made["owner"],
        "waldur_offering_uuid": made["offering"], "backend_type": "slurm",
        "order_processing_backend": "slurm", "membership_sync_backend": "slurm", "reporting_backend": "slurm",
        "username_management_backend": "base", "backend_settings": backend,
        "backend_components": {"node": node},
    }  # fmt: skip
    host.exec(["python3.13", "-m", "venv", f"{FOLDER}/venv"], timeout=WITHIN)
    install = f"{PYTHON} -m pip install --quiet --no-index --no-deps /opt/wheels/*.whl"
    host.exec(["sh", "-ec", install], timeout=WITHIN)
    host.put(f"{FOLDER}/ca.crt", waldur.ca_file.read_bytes())
    # JSON is YAML; the token is in the file because the agent knows no other place for it.
    host.put(f"{FOLDER}/config.yaml", json.dumps({"timezone": "UTC", "offerings": [sold]}).encode(), 0o600)
    host.put(f"{FOLDER}/one_pass.py", (HERE / "on_host_upstream.py").read_bytes())


def measured(keys: Collection[str]) -> dict[str, Result]:
    """The keys' results in the shape `ALONE`, with what they are in `GROUPS` in the detail."""
    found: dict[str, Result] = {}
    with standing(ALONE) as site:
        found |= {key: MEASURES[key](site) for key in keys}
    with standing(GROUPS) as site:
        for key in keys:
            groups = MEASURES[key](site)
            detail = {f"groups_{name}": value for name, value in groups.detail.items()}
            found[key] = replace(
                found[key], detail=found[key].detail | detail | {"groups_ratio": groups.ratio}
            )
    return found


def reporter_vs_upstream(site: Standing) -> Result:
    """A pass of the reporter / of the upstream agent, over 1,000 accounts."""
    detail = {f"ours_{name}": value for name, value in site.ours.settled().items()}
    detail |= {f"report_{name}": value for name, value in site.upstream("report").items()}
    ratios = []
    for _ in range(ROUNDS):
        ours, theirs = site.ours.one_pass(site.shape.accounts), site.upstream("membership_sync")
        net = {name: got["pass_s"] - got["stand_in_s"] for name, got in (("o", ours), ("t", theirs))}
        ratios.append(net["o"] / net["t"])
        detail |= {f"ours_{name}": value for name, value in ours.items()}
        detail |= {f"membership_sync_{name}": value for name, value in theirs.items()}
    detail |= {"lowest": min(ratios), "highest": max(ratios)}
    return Result(median(ratios), ROUNDS, detail)


def reporter_rss_vs_python(site: Standing) -> Result:
    """Resident memory of the idle reporter with 1,000 accounts / of a bare interpreter."""
    site.ours.settled()
    figures = site.ours.resident()
    if figures["ready"] != site.shape.accounts:
        raise RuntimeError(f"the reporter is idle over other accounts: {figures}")
    return Result(figures["reporter_kb"] / figures["python_kb"], 1, figures)


MEASURES: dict[str, Callable[[Standing], Result]] = {
    measure.__name__: measure for measure in (reporter_vs_upstream, reporter_rss_vs_python)
}
