"""Records what Slurm answers to the Runtime's commands: ``python -m tests.lab.record_jobs HOST FOLDER``.

HOST is a lab host of your own. Jobs of every kind are made first, with names that hold line ends, bars and
another job's row; each answer becomes FOLDER/<name>.txt, byte for byte.
"""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from site_bundle.slurm.accounted_jobs import ShowRuns
from site_bundle.slurm.association_ids import ShowAssociationIds
from site_bundle.slurm.command import Command
from site_bundle.slurm.queued_jobs import ShowQueue
from site_bundle.slurm.submission import ShowVersion
from tests.lab.host import LabHost
from tests.lab.record_slurm import ENVIRONMENT

FENCE = "@abcdefghijklmnop@"
MARKER = "pharos:00000000-0000-4000-8000-000000000202:compute:00000000-0000-4000-8000-000000000204"
ACCOUNTS = ("pharos",)
SINCE = datetime(2020, 1, 1, tzinfo=UTC)
READS: dict[str, Command[object]] = {
    "runtime-squeue": ShowQueue(ACCOUNTS, FENCE),
    "runtime-sacct": ShowRuns("icarus", ACCOUNTS, SINCE, FENCE),
    "runtime-association-ids": ShowAssociationIds("icarus", "pharos", "alice"),
    "runtime-version": ShowVersion(),
}
PREPARE = rf"""
as() {{ who=$1; shift; runuser -u "$who" -- sbatch --parsable -D /tmp -A pharos -o /dev/null "$@"; }}
as alice -J '{MARKER}' --comment '{MARKER}' -n2 --mem=500M --gres=gpu:gh200:1 --wrap='sleep 2'
as alice -J failed --wrap='exit 7'
as alice -J killed --wrap='kill -9 $$'
as alice -J 'two
lines' --wrap='true'
as bob -J $'forged\n77|icarus|5000001|COMPLETED|0:0|1|1|1|0|cpu=1|{MARKER}' --wrap='true'
as bob -J $'caf\xe9' --wrap='sleep 100'
as alice -J array --array=3-10%2 --wrap='sleep 100'
as alice -J het -n1 : -n1 --wrap='sleep 100'
as alice -J unlimited --time=UNLIMITED --hold --wrap='true'
held=$(as alice -J held --hold --wrap='true')
requeued=$(as alice -J requeued --wrap='sleep 100')
running=$(as alice -J cancelled --wrap='sleep 100')
timed=$(as alice -J timed --time=0:01 --signal=9@0 --wrap='sleep 100')
sleep 3
scontrol requeue $requeued
runuser -u bob -- true
runuser -u pharos-runtime -- scancel $held
runuser -u pharos-runtime -- scancel $running
sleep 4
"""


def main(host_name: str, folder: Path) -> int:
    """Records everything into `folder`."""
    host = LabHost.attach(host_name)
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(host.command(["bash", "-s"]), input=PREPARE.encode(), check=False, timeout=120)
    for name, command in READS.items():
        (folder / f"{name}.txt").write_bytes(_run(host, command.argv()))
    for words in (["scancel", "999999"], ["scancel", "1"]):
        asked = host.command([*ENVIRONMENT, *words], user="pharos-runtime")
        done = subprocess.run(asked, capture_output=True, timeout=60, check=False)
        sys.stderr.write(f"{words}: exit {done.returncode} {done.stdout!r} {done.stderr!r}\n")
    return 0


def _run(host: LabHost, argv: list[str]) -> bytes:
    command = host.command([*ENVIRONMENT, *argv], user="pharos-runtime")
    return subprocess.run(command, capture_output=True, timeout=60, check=True).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
