"""Records what Slurm answers to the reporter's commands: ``python -m tests.lab.record_slurm HOST FOLDER``.

HOST is a lab host of your own. Accounts, limits, comments and jobs are made first; each answer becomes
FOLDER/<command>.txt, byte for byte, and what a command said while slurmdbd or slurmctld was down
FOLDER/<command>-down.txt (standard error).
"""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from site_bundle.slurm.associations import ShowAssociations
from site_bundle.slurm.clusters import ShowClusters, ShowRights
from site_bundle.slurm.command import Command
from site_bundle.slurm.known_tres import ShowTres
from site_bundle.slurm.month_totals import ShowMonth
from site_bundle.slurm.nodes import ShowNodes
from site_bundle.slurm.running_jobs import ShowRunningJobs
from tests.lab.host import LabHost

ENVIRONMENT = ["env", "-i", "PATH=/usr/bin", "LC_ALL=C", "TZ=UTC", "SLURM_TIME_FORMAT=%s"]
READS: dict[str, Command[object]] = {
    "sacctmgr-show-association": ShowAssociations("icarus"),
    "sacctmgr-show-association-unknown-cluster": ShowAssociations("nosuch"),
    "sacctmgr-show-tres": ShowTres(),
    "sacctmgr-show-cluster": ShowClusters(),
    "sacctmgr-show-user-withcoord": ShowRights("pharos-agent"),
    "scontrol-show-node": ShowNodes(),
    "squeue": ShowRunningJobs(),
}
PREPARE = """
set -e
sacctmgr -i add account proj_a,proj_b,proj_c parent=pharos
sacctmgr -i add user alice,bob account=proj_a
sacctmgr -i add user alice account=proj_b
sacctmgr -i add user alice account=proj_a partition=compute
sacctmgr -i modify account proj_a set GrpTRES=cpu=8,mem=1G,gres/gpu:gh200=1
sacctmgr -i modify account proj_c set GrpTRES=gres/gpu=1,node=1
sacctmgr -i modify user where name=alice account=proj_a partition= set \
 comment="kept | words pharos:1:00000000-0000-4000-8000-000000000304:2"
sacctmgr -i modify user where name=bob account=proj_a set comment="line one
icarus|line two"
sacctmgr -i modify user where name=alice account=proj_b set comment="caf\xc3\xa9 \xff"
runuser -u alice -- sbatch -D /tmp -A proj_a -n2 --mem=500M --gres=gpu:gh200:1 -o /dev/null --wrap='sleep 600'
runuser -u alice -- sbatch -D /tmp -A proj_b -n1 --array=1-3%2 -o /dev/null --wrap='sleep 500'
runuser -u alice -- sbatch -D /tmp -A proj_b -n1 -o /dev/null --wrap='sleep 1'
sleep 4
"""


def main(host_name: str, folder: Path) -> int:
    """Records everything into `folder`."""
    host = LabHost.attach(host_name)
    folder.mkdir(parents=True, exist_ok=True)
    _root(host, PREPARE)
    now = datetime.now(UTC)
    month = ShowMonth("icarus", now.replace(day=1, hour=0, minute=0, second=0), now)
    reads = {name: command.argv() for name, command in READS.items()} | {"sacct": month.argv()}
    for name, argv in reads.items():
        (folder / f"{name}.txt").write_bytes(_run(host, argv).stdout)
    for service, names in {
        "slurmdbd": ("sacctmgr-show-association", "sacctmgr-show-tres", "sacct"),
        "slurmctld": ("squeue", "scontrol-show-node"),
    }.items():
        _root(host, f"systemctl stop {service}")
        for name in names:
            done = _run(host, reads[name])
            (folder / f"{name}-down.txt").write_bytes(
                b"exit %d\n" % done.returncode + done.stdout + done.stderr
            )
        _root(host, f"systemctl start {service}; sleep 2")
    return 0


def _run(host: LabHost, argv: list[str]) -> subprocess.CompletedProcess[bytes]:
    command = host.command([*ENVIRONMENT, *argv], user="pharos-agent")
    return subprocess.run(command, capture_output=True, timeout=60, check=False)


def _root(host: LabHost, script: str) -> None:
    subprocess.run(host.command(["bash", "-s"]), input=script.encode("latin-1"), timeout=120, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
