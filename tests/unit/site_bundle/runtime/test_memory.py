"""Memory is bounded on any answer of Slurm's, and below what the unit allows (S10)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from site_bundle.runtime.compose import SLURM_LIMITS

UNIT = Path(__file__).parents[4] / "units" / "pharos-runtime.service.j2"
TIMES = 10
ROWS, FENCE = 12_000, "@abcdefghijklmnopqrst@"
# The widest letters there are, in every row: Python keeps the whole text four bytes a letter.
FIELDS = ("1000000", "5000001", "PENDING", "1700000000", "n" * 80 + "\U0001f600", "c" * 80 + "\U0001f600")
ROW = f"{FENCE.join(FIELDS)}{FENCE}\n".encode()
READ = """
import sys, resource
from pathlib import Path
from site_bundle.runtime.adapters.slurm_jobs import SlurmJobs
from site_bundle.slurm.client import SlurmClient, SlurmLimits
client = SlurmClient(commands=Path(sys.argv[1]), environment={}, limits=SlurmLimits())
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
jobs = SlurmJobs(client, cluster="icarus", fence=sys.argv[2]).queue(["pharos"])
print(len(jobs), peak() - before)
"""


def test_s10_an_answer_takes_a_bounded_number_of_times_its_size(tmp_path: Path) -> None:
    (tmp_path / "answer").write_bytes(ROW * ROWS)
    (tmp_path / "squeue").write_text(f"#!/bin/sh\nexec /bin/cat {tmp_path}/answer\n")
    (tmp_path / "squeue").chmod(0o755)
    words = [sys.executable, "-c", READ, str(tmp_path), FENCE]
    ran = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    read, kibibytes = map(int, ran.stdout.split())
    assert read == ROWS
    assert kibibytes * 1024 <= TIMES * len(ROW) * ROWS, kibibytes


def test_s10_the_largest_answer_fits_into_the_unit() -> None:
    (limit,) = re.findall(r"(?m)^MemoryMax=([0-9]+)M$", UNIT.read_text())
    assert TIMES * SLURM_LIMITS.output_bytes <= int(limit) << 20
