"""`sacctmgr show association` of an account's own row: what stands above it (W28, W29)."""

from __future__ import annotations

from dataclasses import dataclass

from site_bundle.slurm.command import MACHINE_READABLE, lines_of
from site_bundle.slurm.errors import UnreadableOutputError


@dataclass(frozen=True, slots=True)
class ShowAccountParent:
    """The name of the account above, "" at the top of the tree; None when the cluster has no such account."""

    cluster: str
    account: str

    def argv(self) -> list[str]:
        # An account's own row is the one without a user.
        which = [f"cluster={self.cluster}", f"account={self.account}", "user="]
        return [
            "sacctmgr",
            *MACHINE_READABLE,
            "show",
            "association",
            *which,
            "format=Account,User,ParentName",
        ]

    def parse(self, output: str) -> str | None:
        rows = lines_of(output)
        if not rows:
            return None
        parts = rows[0].split("|")
        # Slurm keeps names in lower case whatever case was asked for (W02).
        if len(rows) != 1 or len(parts) != 3 or parts[0] != self.account.lower() or parts[1]:
            raise UnreadableOutputError("a row that is not the account's own")
        if parts[2].endswith("+"):
            raise UnreadableOutputError("a name cut by its column")
        return parts[2]
