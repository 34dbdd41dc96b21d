"""A Site reads its commands, each with how long it may be acted upon (E2, E3, X13)."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from central.execution.application.ports import (
    AccountAwaits,
    AccountChanged,
    Accounts,
    Authorities,
    Authority,
    CommandPage,
    Listed,
    Runs,
)
from central.execution.domain.authority import ANSWER_LIFETIME, valid_until
from central.execution.domain.command import Submit
from central.execution.domain.permission import Permission, permission_of
from central.kernel.errors import Unavailable
from central.kernel.site_feed import first_page


class AskedOnce:
    """`Authorities` for one page or pass: each question once, and none after one that nobody answered."""

    def __init__(self, authorities: Authorities) -> None:
        self._authorities = authorities
        self._known: dict[tuple[UUID, UUID, Permission], Authority] = {}
        self._silence: Unavailable | None = None

    def decide(self, project: UUID, party: UUID, permission: Permission) -> Authority:
        """See `Authorities`."""
        key = (project, party, permission)
        if key not in self._known:
            if self._silence is not None:
                raise self._silence
            try:
                self._known[key] = self._authorities.decide(*key)
            except Unavailable as silence:
                self._silence = silence
                raise
        return self._known[key]


@dataclass(frozen=True, slots=True)
class Bounded:
    """A command and until when it may be begun; a moment that has passed says: not now, ask again."""

    listed: Listed
    valid_until: datetime


@dataclass(frozen=True, slots=True)
class ListCommands:
    """The use case. It holds no connection while it waits."""

    runs: Runs
    accounts: Accounts
    authorities: Authorities
    account_max_age: timedelta

    def page(
        self, site: str, after: int, limit: int, *, unacknowledged: bool, wait: Callable[[], bool]
    ) -> CommandPage:
        """See `first_page`."""
        return first_page(lambda: self.runs.commands(site, after, limit, unacknowledged=unacknowledged), wait)

    def bound(self, page: CommandPage, now: datetime) -> list[Bounded]:
        """Each command with its validity; one question to Beto a Project, member and permission."""
        asked = AskedOnce(self.authorities)
        return [Bounded(each, self._until(each, asked, now)) for each in page.entries]

    def _until(self, listed: Listed, asked: AskedOnce, now: datetime) -> datetime:
        if not isinstance(listed.action, Submit):
            return now + ANSWER_LIFETIME
        run = listed.run
        if run.ended or run.attempt.attempt_id != listed.attempt_id:
            return listed.issued_at  # it is over, or an earlier attempt's: nothing of it is begun any more
        permission = permission_of(listed.action.stage)
        try:
            decided = asked.decide(run.request.project_id, run.created_by, permission)
            return valid_until(
                now,
                account_observed_at=self.accounts.confirmed_at(run, now),
                account_max_age=self.account_max_age,
                authority_expires_at=decided.valid_until if decided.allowed else listed.issued_at,
                deadline=run.request.deadline,
            )
        except (Unavailable, AccountAwaits, AccountChanged):
            return listed.issued_at
