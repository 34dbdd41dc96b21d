"""What Beto decides about Runs, each by name (E7): the one table of permissions.

1. Each is asked of Beto when it is used, for the Project and the actor; no answer is no decision.
2. `Subject.ASKER` is who calls. `Subject.CREATOR` is the member whose Run it is, and whose token and account
   the Site acts with: a leaver's next stage is refused, whoever else is in the Project. What runs, runs on.
3. Every use that was allowed is kept with its actor (`execution.audit`); what central does of its own accord
   has none of these permissions and no member's name on it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from central.execution.domain.run import StageName


class Permission(StrEnum):
    """The names, as Beto knows them."""

    CREATE = "run.create"
    VIEW = "run.view"
    RESULTS = "run.results"
    CANCEL = "run.cancel"
    RETRY = "run.retry"
    CLEANUP = "run.cleanup"
    CONTINUE = "run.continue"
    STAGE_OUT = "run.stage_out"
    REPOSITORY = "repository.credential"


class Subject(StrEnum):
    """Whom Beto is asked about (rule 2)."""

    ASKER = "asker"
    CREATOR = "creator"


@dataclass(frozen=True, slots=True)
class Row:
    """What a permission lets its holder do, and whose it has to be."""

    permission: Permission
    subject: Subject
    act: str


PERMISSIONS: Final = (
    Row(Permission.CREATE, Subject.ASKER, "ask for a Run"),
    Row(Permission.VIEW, Subject.ASKER, "see the Project's Runs and one of them"),
    Row(Permission.RESULTS, Subject.ASKER, "read usage, exit codes and where the outputs are"),
    Row(Permission.CANCEL, Subject.ASKER, "end a Run"),
    Row(Permission.RETRY, Subject.ASKER, "try an ended Run again"),
    Row(Permission.CLEANUP, Subject.ASKER, "have a refused cleanup asked for again"),
    Row(Permission.CONTINUE, Subject.CREATOR, "have stage-in and compute submitted with its token"),
    Row(Permission.STAGE_OUT, Subject.CREATOR, "have stage-out submitted with its token"),
    Row(Permission.REPOSITORY, Subject.CREATOR, "have a credential of its repository for a stage"),
)
"""One row a permission; docs/wire.md prints it."""


def permission_of(stage: StageName) -> Permission:
    """What continuing an accepted Run with this stage needs (E7)."""
    return Permission.STAGE_OUT if stage is StageName.STAGE_OUT else Permission.CONTINUE
