"""`RepositoryCredentials` at whoever gives out credentials of the Git host (S2, docs/platform.md).

1. A credential has an id that follows from Run, attempt and purpose: asked for again it replaces the former,
   so that a stage has one at most.
2. It is written down before the host is asked; what is written down is taken back, also if the answer was
   lost. Neither its name nor its password is kept.
3. A refusal counts only where its body names it (`error`): the host knows no such repository, or gives none
   for it; the Run waits and its member is told. Any other answer, a bare 404 too, is `Unavailable`: it says
   nothing of the repository, and only the platform's team can end it (X1).
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal
from uuid import UUID

from msgspec import Meta, Struct

from central.execution.adapters.exchange import Answer, Exchange
from central.execution.adapters.postgres_credentials import PostgresCredentials
from central.execution.application.ports import RepositoryCredential, RepositoryRefused
from central.execution.application.worker_ports import GivenCredential
from central.execution.domain.command import credential_id
from central.execution.domain.run import Run, WaitReason
from central.kernel.errors import InvalidTime
from central.kernel.problems import Problem
from central.kernel.strict_json import decode, encode
from central.kernel.times import format_rfc3339, parse_rfc3339

LIFETIME_MAX: Final = timedelta(days=7)
"""A stage's job may wait for its turn; the deadline of its Run ends it sooner."""
REFUSALS: Final = frozenset({403, 404, 422})
_WORD: Final = re.compile(r"[\x21-\x7e]{1,4096}")


class CredentialWanted(Struct, frozen=True, rename="camel"):
    """`PUT <base>/v1/credentials/{credentialId}`."""

    schema: int
    repository: str
    write_ref: str | None
    expires_at: str


class CredentialAnswer(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What was given."""

    schema: Literal[1]
    username: Annotated[str, Meta(pattern=r"\A[\x21-\x39\x3b-\x7e]{1,255}\Z")]
    password: str
    expires_at: str


class CredentialRefusal(Struct, frozen=True, forbid_unknown_fields=True):
    """Why none is given."""

    schema: Literal[1]
    error: Literal["repository_unknown", "repository_refused"]


@dataclass(frozen=True, slots=True)
class Giver:
    """Where credentials are given out, as whom central asks."""

    url: str
    token: str

    def __repr__(self) -> str:
        return f"Giver({self.url!r})"


class HttpRepositoryCredentials:
    """`RepositoryCredentials` and `GivenCredentials`. Safe to share between threads."""

    def __init__(self, giver: Giver, store: PostgresCredentials, ca_file: str | None = None) -> None:
        self._base = giver.url.rstrip("/") + "/v1/credentials"
        self._headers = {
            "Authorization": f"Bearer {giver.token}",
            "Content-Type": "application/json",
            "Accept": "application/json",
        }
        self._store = store
        self._exchange = Exchange("the Git host's credentials", ca_file)

    def issue(self, run: Run, purpose: str, *, write_ref: str | None, now: datetime) -> RepositoryCredential:
        """See `RepositoryCredentials`."""
        named = credential_id(run, purpose)
        self._store.remember(GivenCredential(named, run.run_id, purpose), now)
        until = min(run.request.deadline, now + LIFETIME_MAX)
        wanted = CredentialWanted(1, run.request.repository.url, write_ref, format_rfc3339(until))
        answer = self._exchange("PUT", f"{self._base}/{named}", self._headers, encode(wanted))
        if answer.status in REFUSALS:
            self._check_refusal(answer)
        if answer.status != 200:
            raise self._exchange.unavailable(f"answer {answer.status}, 200 is needed")
        return self._given(answer)

    def outstanding(self, after: UUID | None, limit: int) -> list[GivenCredential]:
        """See `GivenCredentials`."""
        return self._store.outstanding(after, limit)

    def revoke(self, credential_id: UUID, now: datetime) -> None:
        """See `GivenCredentials`. Only 204 says it is gone: a 404 may be another server's word."""
        answer = self._exchange("DELETE", f"{self._base}/{credential_id}", self._headers)
        if answer.status != 204:
            raise self._exchange.unavailable(f"answer {answer.status} to a revocation, 204 is needed")
        self._store.revoked(credential_id, now)

    def _check_refusal(self, answer: Answer) -> None:
        """Rule 3. Raises `RepositoryRefused` for a refusal that says what it is of."""
        with suppress(Problem):
            raise RepositoryRefused(WaitReason(decode(answer.body, CredentialRefusal).error))

    def _given(self, answer: Answer) -> RepositoryCredential:
        try:
            body = decode(answer.body, CredentialAnswer)
            expires_at = parse_rfc3339(body.expires_at)
        except (Problem, InvalidTime):
            raise self._exchange.unavailable("answer something that is no credential") from None
        if _WORD.fullmatch(body.password) is None:
            raise self._exchange.unavailable("answer a password that is not printable ASCII")
        return RepositoryCredential(body.username, body.password, expires_at)
