"""A Site fetches the member's token for one unacknowledged submission (E5, E7, S2). Nothing of it is kept."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from central.execution.application.permitted import Use
from central.execution.application.ports import (
    Accounts,
    AttemptMismatch,
    Audit,
    Authorities,
    ConsentExpired,
    MemberToken,
    MemberTokens,
    RepositoryCredential,
    RepositoryCredentials,
    RepositoryRefused,
    Runs,
    StoreCommand,
)
from central.execution.domain.authority import valid_until
from central.execution.domain.command import runs_ref
from central.execution.domain.permission import Permission, permission_of
from central.execution.domain.progress import Refusal, Step, StepRefused, hold
from central.execution.domain.run import Run, RunState, Stage, StageName, StageState, WaitReason
from central.execution.domain.waiting import resume, stands_still
from central.kernel.errors import Unavailable


@dataclass(frozen=True, slots=True)
class TokenAnswer:
    """What the Site gets. `valid_until` is not after the token's own end."""

    token: MemberToken
    valid_until: datetime
    credential: RepositoryCredential | None


@dataclass(frozen=True, slots=True)
class FetchMemberToken:
    """The use case."""

    runs: Runs
    authorities: Authorities
    audit: Audit
    accounts: Accounts
    tokens: MemberTokens
    credentials: RepositoryCredentials
    account_max_age: timedelta

    def __call__(self, site: str, target: tuple[UUID, UUID], now: datetime) -> TokenAnswer:
        """Raises `RunUnknown`, `AttemptMismatch`, `StepRefused`, `NotAllowed`, `ConsentExpired`,
        `AccountAwaits`, `AccountChanged`, `Unavailable`.
        """
        named, attempt = target
        run_id = self.runs.run_of_command(site, named)
        run = self.runs.by_id(run_id)
        if run is None or run.attempt.attempt_id != attempt:
            raise AttemptMismatch
        stage = _unacknowledged(run, named)
        use = Use(self.authorities, self.audit, run.request.project_id, run.run_id)
        authority = use.by(run.created_by, permission_of(stage.name), now)
        if stands_still(run):
            raise Unavailable("unavailable", f"the Run waits: {run.reason}; nothing of it is begun now")
        observed = self.accounts.confirmed_at(run, now)
        try:
            token = self.tokens.token(run.created_by, site, now)
        except ConsentExpired:
            self._move(run, lambda at: hold(at, WaitReason.CONSENT_EXPIRED, now), now)
            raise
        credential = self._credential(run, stage, use, now)
        if run.state is RunState.WAITING:
            self._move(run, lambda at: resume(at, now), now)
        until = valid_until(
            now,
            account_observed_at=observed,
            account_max_age=self.account_max_age,
            authority_expires_at=authority.valid_until,
            deadline=run.request.deadline,
        )
        return TokenAnswer(token, min(until, token.expires_at), credential)

    def _move(self, run: Run, step: Callable[[Run], Step], now: datetime) -> None:
        """One command a revision: asked twice at once, it is one hold, or one resumption. A step that changes
        nothing leaves no receipt that would stand in the next one's way.
        """
        if step(run).run is run:
            return
        command = StoreCommand.named(f"token {run.run_id} {run.revision}")
        self.runs.move(command, run.run_id, step, now)

    def _credential(self, run: Run, stage: Stage, use: Use, now: datetime) -> RepositoryCredential | None:
        """Only for the stages that talk to Git, and only while the member may have one. A host that refuses
        makes the Run wait and say so: only who keeps the repository, or the platform's team, can end that.
        """
        if stage.name is StageName.COMPUTE:
            return None
        use.by(run.created_by, Permission.REPOSITORY, now)
        ref = runs_ref(run.run_id) if stage.name is StageName.STAGE_OUT else None
        try:
            return self.credentials.issue(run, stage.name.value, write_ref=ref, now=now)
        except RepositoryRefused as refused:
            reason = refused.reason
            self._move(run, lambda at: hold(at, reason, now), now)
            raise Unavailable("unavailable", f"the Run waits: {reason.value}") from None


def _unacknowledged(run: Run, command: UUID) -> Stage:
    for stage in run.attempt.stages:
        if stage.command_id == command:
            if stage.state is not StageState.ISSUED or run.ended:
                raise StepRefused(Refusal.COMMAND_ACKNOWLEDGED)
            return stage
    raise StepRefused(Refusal.COMMAND_ACKNOWLEDGED)
