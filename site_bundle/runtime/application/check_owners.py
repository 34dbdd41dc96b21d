"""Each production owner the Runtime depends on: connected, or not and why (S2, S4, S6, I7, I9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from site_bundle.kernel.errors import SiteError, UnavailableError
from site_bundle.kernel.health import Check, Status
from site_bundle.runtime.application.ports import Accounts, CommandsApi
from site_bundle.slurm.clusters import ShowClusters, ShowRights
from site_bundle.slurm.submission import ShowConfiguration, auth_parameters


class Client(Protocol):
    """Reads one of Slurm's commands."""

    def read(self, command: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class CheckOwners:
    """Runs all of them; none hides another. `scratch` None: not asked, for there is no journal to name it
    from.
    """

    commands: CommandsApi
    client: Client
    accounts: Accounts
    scratch: Callable[[], None] | None
    group: str
    cluster: str
    parent_account: str
    user: Callable[[], str]

    def run(self) -> tuple[Check, ...]:
        return (
            self._try("commands", self._commands),
            self._try("accounts", self._names),
            self._try("submission", self._submission),
            self._try("accounting", self._accounting),
            self._coordinator(),
            self._scratch(),
        )

    def _commands(self) -> str:
        page = self.commands.unacknowledged(after=0, limit=1)
        return f"Site {page.site}, history {page.feed}"

    def _names(self) -> str:
        # No account has this name: an answer proves that the directory's names resolve.
        self.accounts.account("pharos-nobody-has-this")
        return f"names resolve, group {self.group} is there"

    def _submission(self) -> str:
        """Whether tokens can be used, and whether the one way that keeps them out of jobs is there (lab.md
        2).
        """
        settings = self.client.read(ShowConfiguration())
        if "auth/jwt" not in settings.get("AuthAltTypes", ""):
            raise _unfit(
                "AuthAltTypes without auth/jwt", "auth/jwt, so that a member's token submits", "jwt_missing"
            )
        key_set = auth_parameters(settings).get("jwks")
        if not key_set:
            raise _unfit(
                "AuthAltParameters without jwks=",
                "the issuer's key set, or no member's token submits",
                "jwks_missing",
            )
        if "job_env" in settings.get("AccountingStoreFlags", ""):
            raise _unfit(
                "AccountingStoreFlags=job_env",
                "no job_env: it shows jobs' environments to every coordinator",
                "job_env_stored",
            )
        # Whose keys stand in it only the installer can compare: it holds the evidence (S2).
        return (
            f"auth/jwt, key set {key_set} (pharos-installer validate --evidence compares its key ids;"
            " Slurm checks neither issuer nor audience); sbatch --export-file keeps the token out of the job"
        )

    def _accounting(self) -> str:
        known = self.client.read(ShowClusters())
        if self.cluster not in known:
            raise _unfit(
                f"accounting knows {', '.join(sorted(known)) or 'no cluster'}",
                self.cluster,
                "cluster_unknown",
            )
        return f"cluster {self.cluster}"

    def _coordinator(self) -> Check:
        wanted = f"coordinator of {self.parent_account}, and no administrator"
        remedy = f"sacctmgr add coordinator account={self.parent_account} names={self.user()}"
        try:
            rights = self.client.read(ShowRights(self.user()))
        except SiteError as error:
            return Check.of_error("coordinator", error)
        if rights is None or self.parent_account not in rights.coordinates:
            found = f"{self.user()} does not coordinate {self.parent_account}"
            return Check("coordinator", Status.FAIL, found, wanted, remedy, "coordinator_missing")
        if rights.admin_level != "None":
            found = f"{self.user()} has AdminLevel {rights.admin_level}"
            remedy = f"sacctmgr modify user {self.user()} set adminlevel=None"
            return Check("coordinator", Status.FAIL, found, wanted, remedy, "coordinator_too_strong")
        return Check("coordinator", Status.PASS, wanted)

    def _scratch(self) -> Check:
        if self.scratch is None:
            return Check("scratch", Status.UNKNOWN, "not asked", "a journal", "look at the check journal")
        probe = self.scratch

        def probed() -> str:
            probe()
            return "a folder for an Attempt can be made, in the members' group"

        return self._try("scratch", probed)

    @staticmethod
    def _try(check_id: str, act: Callable[[], str]) -> Check:
        try:
            return Check(check_id, Status.PASS, act())
        except SiteError as error:
            return Check.of_error(check_id, error)


def _unfit(found: str, wanted: str, code: str) -> UnavailableError:
    return UnavailableError(
        code,
        found=found,
        wanted=wanted,
        remedy="ask the site's Slurm administrators; docs/policy has the proposal",
    )
