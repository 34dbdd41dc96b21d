"""`MemberAccounts` without an owner of account evidence: adding waits, listing and removing work."""

from datetime import datetime

from central.kernel.site_names import Site
from central.ssh_access.domain.account import AccountAnswer, AccountUnavailable
from central.ssh_access.domain.member_key import MemberId


class UnconnectedAccounts:
    """Answers *unavailable*, never "nobody has an account" (X1)."""

    def account_for(self, subject: MemberId, site: Site, now: datetime) -> AccountAnswer:  # noqa: ARG002
        """See `MemberAccounts`."""
        return AccountUnavailable("no source of account evidence is connected to this central")
