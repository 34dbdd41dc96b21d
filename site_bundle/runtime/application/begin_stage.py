"""Begin one received stage: refuse it, leave it, or submit it as the member (S1, S2, E1, E2).

The order keeps S1: who it is for → the token → the helper → the intent, durably → sbatch → its answer,
durably. After the intent only the marker decides; before it nothing has happened at Slurm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from site_bundle.kernel.errors import UnavailableError
from site_bundle.kernel.https import PeerRefusedError
from site_bundle.kernel.ranges import NumberRange
from site_bundle.runtime.application.events import Events
from site_bundle.runtime.application.ports import (
    Accepted,
    Accounts,
    CommandsApi,
    Grants,
    Job,
    Journal,
    MemberToken,
    Rejected,
    Submission,
    Word,
)
from site_bundle.runtime.application.words import Words
from site_bundle.runtime.domain.bounds import OUTSIDE
from site_bundle.runtime.domain.command import Identity, StageName
from site_bundle.runtime.domain.jobs import JobRef
from site_bundle.runtime.domain.marker import marker_of
from site_bundle.runtime.domain.refusals import NOT_OURS
from site_bundle.runtime.domain.rejections import RETRIED
from site_bundle.runtime.domain.resources import Asked, InexactError, asked
from site_bundle.runtime.domain.script import PASSWORD, USERNAME, talks_to_git
from site_bundle.runtime.domain.stage import (
    IDENTITY_CHANGED,
    Stage,
    State,
    identity_stands,
    intend,
    is_associated,
    refused,
    submitted,
    why_not_begun,
)

Render = Callable[[Stage], str]


@dataclass(frozen=True, slots=True)
class Site:
    """Names at this Site."""

    cluster: str
    staging_partition: str
    compute_partition: str

    def partition(self, stage: StageName) -> str:
        return self.compute_partition if stage is StageName.COMPUTE else self.staging_partition


@dataclass(frozen=True, slots=True)
class BeginStage:
    """One stage at a call. UnavailableError and PeerRefusedError: it waits, and nothing was begun."""

    api: CommandsApi
    journal: Journal
    accounts: Accounts
    grants: Grants
    submission: Submission
    render: Render
    words: Words
    site: Site
    uids: NumberRange
    token_user: Callable[[str], str | None]
    events: Events
    observe: bool
    checkpoint: Callable[[str], None] = field(default=lambda _name: None)

    def run(self, stage: Stage, *, may_begin: bool, now: datetime) -> Stage:
        """The stage as it is now. `may_begin` False: only what is certain is refused."""
        command = stage.command
        code = why_not_begun(stage, now, closing=self.journal.is_closing(command.attempt_id))
        if code is not None:
            return self._refuse(stage, code, now)
        if not may_begin:
            return stage
        try:
            wanted = asked(command.submit.resources, command.submit.time_limit_seconds)
        except InexactError as error:
            return self._refuse(stage, error.code, now)
        if command.identity.uid_number not in self.uids:
            return self._refuse(stage, OUTSIDE, now)
        if not self._identity_stands(command.identity):
            return self._refuse(stage, IDENTITY_CHANGED, now)
        if not self.accounts.is_of_platform(command.identity.account):
            return self._refuse(stage, OUTSIDE, now)
        if self.observe:
            self.events.would(stage, "submit")
            return stage
        try:
            token = self.api.member_token(command.command_id, command.attempt_id)
        except PeerRefusedError as error:
            if error.code in NOT_OURS:
                return self._set_aside(stage, error.code)
            raise
        if now > token.valid_until:
            raise UnavailableError("member_token_expired", found="a token that is not valid any more")
        if self.token_user(token.token) != command.identity.username:
            raise UnavailableError(
                "member_token_of_another",
                found="a token that does not name the command's user, and no other",
                wanted="a token of the acting member's own",
                remedy="look at central's issuer, and at userclaimfield= in AuthAltParameters of slurm.conf",
            )
        return self._submit(stage, self._job(stage, wanted, token), token, now)

    def _identity_stands(self, identity: Identity) -> bool:
        account = self.accounts.account(identity.username)
        associations = self.accounts.associations(identity)
        if account is None and is_associated(identity, associations):
            # A directory that is away behind a cache says "no such user" too: two owners that disagree are
            # no proof (X1).
            raise UnavailableError(
                "names_unavailable",
                found="the user does not resolve, and accounting still has the saved association",
                wanted="the directory's names on this host",
                remedy="look at sssd and the directory; for a member who left, remove the association",
            )
        return identity_stands(identity, account, associations)

    def _job(self, stage: Stage, wanted: Asked, token: MemberToken) -> Job:
        action = stage.command.submit
        if action.repository is not None:
            url = action.repository.url
            self.grants.prepare(self.grants.grant(stage.command.attempt_id, url), url)
        environment = dict(action.compute.environment) if action.compute else {}
        if talks_to_git(action.stage):
            if token.credential is None:
                raise UnavailableError("credential_missing", found="a token without repository credential")
            environment = {USERNAME: token.credential.username, PASSWORD: token.credential.password}
        return Job(
            marker_of(stage.command),
            stage.command.identity.account,
            self.site.partition(action.stage),
            wanted,
            self.render(stage),
            environment,
        )

    def _submit(self, stage: Stage, job: Job, token: MemberToken, now: datetime) -> Stage:
        intent = intend(stage, now)
        self._save(stage, intent)
        self.checkpoint("intent-journalled")
        outcome = self.submission.submit(job, token)
        self.checkpoint("submitted")
        if isinstance(outcome, Accepted):
            known = JobRef(outcome.job_id, outcome.cluster or self.site.cluster, None)
            after = submitted(intent, known)
            self._save(intent, after, self.words.acknowledged(stage.command, now, known))
        elif isinstance(outcome, Rejected):
            if outcome.code in RETRIED:
                self._save(intent, replace(stage, intent_at=None))
                raise UnavailableError(f"slurm_{outcome.code}", found=f"sbatch: {outcome.code}")
            return self._refuse(intent, outcome.code, now)
        else:
            return intent
        self.checkpoint("job-journalled")
        return after

    def _refuse(self, stage: Stage, code: str, now: datetime) -> Stage:
        after = refused(stage, code)
        if self.observe:
            self.events.would(stage, f"refuse: {code}")
            return stage
        self._save(stage, after, self.words.refused(after, now))
        return after

    def _set_aside(self, stage: Stage, code: str) -> Stage:
        after = replace(stage, state=State.REFUSED, code=code)
        self._save(stage, after)
        return after

    def _save(self, before: Stage, after: Stage, *words: Word) -> None:
        self.journal.save(after, *words)
        self.events.moved(before, after)
