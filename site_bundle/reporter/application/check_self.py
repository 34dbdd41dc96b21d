"""`doctor`: every check that says whether the reporter can do its work, each asked of the real thing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from site_bundle.kernel.errors import SiteError
from site_bundle.kernel.health import Check, Status
from site_bundle.reporter.application.ports import Cluster, People, Platform
from site_bundle.reporter.domain.amounts import Amounts, node_capacity
from site_bundle.reporter.domain.decide import EMPTY
from site_bundle.reporter.domain.policy import Policy
from site_bundle.reporter.domain.sources import Slurm

Made = tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class CheckSelf:
    """Runs all checks; none hides another. `offering`: how many resources Waldur shows. `rights`: whether
    this user coordinates the parent account. `process`: what the running reporter says of itself.
    """

    offering: Callable[[], int]
    cluster: Cluster
    people: People
    platform: Platform
    rights: Callable[[], bool]
    process: Callable[[], Check]
    policy: Policy
    observe: bool

    def run(self) -> Made:
        return (
            self.process(),
            self._try("waldur", lambda: f"{self.offering()} resources of the offering"),
            self._try("intake", self._intake),
            self._directory(),
            *self._slurm(),
            self._rights(),
        )

    def _intake(self) -> str:
        try:
            return f"{len(self.platform.retained())} retained accounts"
        except SiteError as error:
            # It answered and knows the key; it only has no list yet (P28).
            if error.code != "recovery_pending":
                raise
            return "it answers; no retained list stands yet, so every account is kept"

    def _directory(self) -> Check:
        try:
            found = self.people.read()
        except SiteError as error:
            return Check.of_error("directory", error)
        shown = f"{len(found.people)} people, {len(found.group_ids)} groups in the range"
        if found.people and found.group_ids:
            return Check("directory", Status.PASS, shown)
        return Check(
            "directory",
            Status.WARN,
            shown,
            "somebody and a group, unless there has never been a member: a rule can hide what is there",
            "compare slapd's access rules with the proposed policy",
            EMPTY,
        )

    def _slurm(self) -> Made:
        try:
            slurm = self.cluster.read()
        except SiteError as error:
            asked = Check("capacity", Status.UNKNOWN, "not asked", "a readable cluster", error.remedy)
            return Check.of_error("slurm", error), asked
        below = sum(self.policy.parent_account in [a.name for a in slurm.chain(n)] for n in slurm.accounts)
        found = f"{below - 1} accounts below {self.policy.parent_account}, {len(slurm.nodes)} nodes"
        return Check("slurm", Status.PASS, found), self._capacity(slurm)

    def _capacity(self, slurm: Slurm) -> Check:
        declared = self.policy.capacity
        given = node_capacity(slurm.nodes, declared)
        uncounted = sorted(set(declared) - slurm.known)
        if uncounted:
            return Check(
                "capacity",
                Status.FAIL,
                f"Slurm does not count {', '.join(uncounted)}",
                "every declared component among sacctmgr show tres",
                "add it to AccountingStorageTRES, or take it out of slurm.capacity",
                "component_unknown",
            )
        if given != declared:
            return Check(
                "capacity",
                Status.FAIL,
                f"one node gives {_shown(given)}",
                f"the declared {_shown(declared)}: allocations stay pending while they differ",
                "correct slurm.capacity in the profile",
                "capacity_differs",
            )
        return Check("capacity", Status.PASS, f"one node gives {_shown(given)}, as declared")

    def _rights(self) -> Check:
        wanted = f"coordinator of {self.policy.parent_account}"
        try:
            able = self.rights()
        except SiteError as error:
            return Check.of_error("coordinator", error)
        if able:
            return Check("coordinator", Status.PASS, wanted)
        return Check(
            "coordinator",
            Status.WARN if self.observe else Status.FAIL,
            f"this user is no {wanted}",
            f"{wanted}, so that applied identities can be written",
            f"sacctmgr add coordinator account={self.policy.parent_account} names=pharos-agent",
            "coordinator_missing",
        )

    @staticmethod
    def _try(check_id: str, act: Callable[[], str]) -> Check:
        try:
            return Check(check_id, Status.PASS, act())
        except SiteError as error:
            return Check.of_error(check_id, error)


def _shown(amounts: Amounts) -> str:
    return " ".join(f"{name}={number}" for name, number in amounts.items()) or "nothing"
