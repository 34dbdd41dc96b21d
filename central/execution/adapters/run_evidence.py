"""What an operator is shown of Runs, as `pharos_operator` (O1). Nothing of a token or a credential."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.kernel.database import Database
from central.kernel.queries import load_queries


@dataclass(frozen=True, slots=True)
class KnownRun:
    """A Run's row."""

    run_id: UUID
    project_id: UUID
    site: str
    created_by: UUID
    state: str
    reason: str | None
    created_at: datetime
    changed_at: datetime
    deadline: datetime
    revision: int
    published: int
    released: bool
    waits_since: datetime | None
    cleanup_refusal: str | None


@dataclass(frozen=True, slots=True)
class KnownCommand:
    """A command in its Site's feed."""

    sequence: int
    command_id: UUID
    issued_at: datetime
    acknowledged_at: datetime | None


@dataclass(frozen=True, slots=True)
class KnownCredentials:
    """How many credentials of the Git host were asked for, and how many still stand."""

    asked: int
    outstanding: int


@dataclass(frozen=True, slots=True)
class KnownConsent:
    """A member's consent without its tokens."""

    consented_at: datetime
    refreshed_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class KnownSilence:
    """Since when nobody answers for a Git host, and when and how that was seen last."""

    since: datetime
    seen: datetime
    what: str


class RunEvidence:
    """The reads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries = load_queries("central.execution", "evidence.sql")

    def runs(self, site: str | None, project: UUID | None, *, live: bool, limit: int) -> Sequence[KnownRun]:
        """Runs that fit, newest first."""
        params = {"site": site, "project_id": project, "live": live, "limit": limit}
        return self._database.run(lambda tx: tx.all(KnownRun, self._queries["runs"], params), repeatable=True)

    def page_of_site(self, site: str, after: UUID | None, limit: int) -> Sequence[KnownRun]:
        """A Site's Runs after one of them, newest first."""
        params = {"site": site, "after": after, "limit": limit}
        return self._database.run(
            lambda tx: tx.all(KnownRun, self._queries["page_of_site"], params), repeatable=True
        )

    def run(self, run_id: UUID) -> KnownRun | None:
        """One Run's row."""
        return self._database.run(
            lambda tx: tx.maybe(KnownRun, self._queries["run"], {"run_id": run_id}), repeatable=True
        )

    def commands(self, run_id: UUID) -> Sequence[KnownCommand]:
        """The Run's commands in their order."""
        params = {"run_id": run_id}
        return self._database.run(
            lambda tx: tx.all(KnownCommand, self._queries["commands_of_run"], params), repeatable=True
        )

    def credentials(self, run_id: UUID) -> KnownCredentials:
        """The Run's credentials of the Git host."""
        params = {"run_id": run_id}
        return self._database.run(
            lambda tx: tx.one(KnownCredentials, self._queries["credentials_of_run"], params), repeatable=True
        )

    def consent(self, party: UUID) -> KnownConsent | None:
        """The member's consent, None where none was given."""
        params = {"party": party}
        return self._database.run(
            lambda tx: tx.maybe(KnownConsent, self._queries["consent_of"], params), repeatable=True
        )

    def silence(self, purpose: str, host: str) -> KnownSilence | None:
        """That of a Git host to questions of one purpose, None where it answered last or was not asked."""
        params = {"purpose": purpose, "host": host}
        return self._database.run(
            lambda tx: tx.maybe(KnownSilence, self._queries["silence_of"], params), repeatable=True
        )
