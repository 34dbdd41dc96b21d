"""`sacctmgr show association` of one user in one account: the ids of their incarnations (S8, E1)."""

from __future__ import annotations

from dataclasses import dataclass

from site_bundle.slurm.command import MACHINE_READABLE, lines_of
from site_bundle.slurm.errors import UnreadableOutputError


@dataclass(frozen=True, slots=True)
class ShowAssociationIds:
    """Proven empty when the user is not in the account (A48)."""

    cluster: str
    account: str
    user: str

    def argv(self) -> list[str]:
        which = [f"cluster={self.cluster}", f"account={self.account}", f"user={self.user}"]
        return ["sacctmgr", *MACHINE_READABLE, "show", "association", *which, "format=Account,User,ID"]

    def parse(self, output: str) -> frozenset[int]:
        found = set()
        for line in lines_of(output):
            account, user, number = (*line.split("|"), "", "")[:3]
            if (account, user) != (self.account, self.user) or not (number.isascii() and number.isdecimal()):
                raise UnreadableOutputError("a row of another user or account, or a cut one")
            found.add(int(number))
        return frozenset(found)
