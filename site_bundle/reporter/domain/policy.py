"""What the Site's profile fixes for every pass."""

from __future__ import annotations

import re
from dataclasses import dataclass

from site_bundle.kernel.ranges import NumberRange
from site_bundle.reporter.domain.amounts import Amounts

POSIX_NAME = re.compile(r"[a-z_][a-z0-9._-]{0,31}", re.ASCII)
"""P22: what a Slurm Site's account may be called."""


@dataclass(frozen=True, slots=True)
class Policy:
    """`capacity`: declared of one compute node. Allocations' accounts are below `parent_account`."""

    capacity: Amounts
    parent_account: str
    uids: NumberRange
