"""Who a user name is on this host: getpwnam(3), never a number derived from anything (E1, A43, A47)."""

from __future__ import annotations

import pwd
from collections.abc import Callable
from dataclasses import dataclass

from site_bundle.kernel.errors import UnavailableError
from site_bundle.runtime.adapters.slurm_jobs import SlurmJobs
from site_bundle.runtime.domain.command import Identity
from site_bundle.runtime.domain.stage import Account


@dataclass(frozen=True, slots=True)
class HostAccounts:
    """The port Accounts. `anchor`: a name the directory surely has, proven before an absence is believed.
    `parent`: the account above the allocations' accounts.
    """

    jobs: SlurmJobs
    anchor: str
    group_exists: Callable[[str], bool]
    parent: str

    def account(self, username: str) -> Account | None:
        """None: proven absent. UnavailableError while the directory's names do not resolve (X1)."""
        try:
            found = pwd.getpwnam(username)
        except KeyError:
            if self.group_exists(self.anchor):
                return None
            raise UnavailableError(
                "names_unavailable",
                found=f"neither user {username} nor group {self.anchor} resolves",
                wanted="the directory's names on this host",
                remedy="look at sssd; it is tried again",
            ) from None
        return Account(found.pw_uid, found.pw_dir)

    def associations(self, identity: Identity) -> frozenset[int]:
        return self.jobs.associations(identity)

    def is_of_platform(self, account: str) -> bool:
        return self.jobs.stands_below(account, self.parent)
