"""Every refusal an operator's command may meet, with its stable code."""

from typing import Final

from central.evidence.domain.statement import EvidenceRefused
from central.grants.application.ports import GrantUnknown
from central.grants.domain.grant import GrantRefused
from central.kernel.embedded_postgres import EmbeddedPostgresFailed
from central.kernel.errors import CorruptState
from central.kernel.migrations import MigrationRefused
from central.kernel.site_feed import FeedUnknown
from central.ssh_access.application.ports import KeyUnknown


class AllocationUnknown(Exception):
    """No Site ever reported an allocation of this id; the message is the id."""


class MemberUnknown(Exception):
    """Nobody of this id or name is known at the Site; the message says so."""


class ProjectUnknown(Exception):
    """The view has no such Project; the message is its id."""


class ProjectAmbiguous(Exception):
    """Several Projects are meant; the message says which."""


class QueueUnknown(Exception):
    """The broker has no such queue; the message is its name."""


class RunUnknown(Exception):
    """There is no Run of this id; the message is the id."""


class DeadLetterUnknown(Exception):
    """No message is buried there; the message says where."""


class SiteUnknown(Exception):
    """The platform has no such Site; the message says so."""


class SettlementRefused(Exception):
    """A Run's cleanup cannot be settled; with the code of why."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class NothingToAccept(Exception):
    """No earlier position of Beto's was refused; the message is the view's scope."""


class StartRefused(Exception):
    """What the settings ask for must not run; the message says what to change."""


OperatorRefused: Final = (
    EvidenceRefused,
    FeedUnknown,
    GrantRefused,
    GrantUnknown,
    KeyUnknown,
    AllocationUnknown,
    MemberUnknown,
    NothingToAccept,
    ProjectAmbiguous,
    ProjectUnknown,
    DeadLetterUnknown,
    QueueUnknown,
    RunUnknown,
    SettlementRefused,
    SiteUnknown,
    StartRefused,
    CorruptState,
    EmbeddedPostgresFailed,
)


def refusal_of(error: Exception) -> tuple[str, str]:
    """The code and the text."""
    if isinstance(error, EvidenceRefused | GrantRefused | SettlementRefused):
        return error.code, str(error)
    fixed = {
        GrantUnknown: (
            "grant_unknown",
            "there is no grant of this id; `pharos-central grants list` shows them",
        ),
        FeedUnknown: (
            "feed_unknown",
            f"{error} has no feed yet; `pharos-central feeds list` shows those that are",
        ),
        AllocationUnknown: (
            "allocation_unknown",
            f"no Site reported {error}; `pharos-central show allocations` shows those that are",
        ),
        MemberUnknown: (
            "member_unknown",
            f"{error}; `pharos-central show members --site SITE --project PROJECT` shows who is viewed",
        ),
        ProjectUnknown: (
            "project_unknown",
            f"the view, which answers, has no Project {error}; `pharos-central show projects` lists them",
        ),
        ProjectAmbiguous: ("project_ambiguous", f"{error}; name one by its id"),
        QueueUnknown: (
            "queue_unknown",
            f"the broker has no queue {error}; `pharos-central broker queues` shows those that are",
        ),
        DeadLetterUnknown: (
            "dead_letter_unknown",
            f"{error}; `pharos-central broker dead-letters list` shows those that are",
        ),
        RunUnknown: (
            "run_unknown",
            f"there is no Run {error}; `pharos-central show runs` shows those that are",
        ),
        NothingToAccept: (
            "nothing_to_accept",
            f"Beto spoke of no earlier position since the {error} last matched: nothing waits to be accepted;"
            " `pharos-central view list` says when one does, and why a scope does not answer. If Beto was"
            " restored just now, wait for the next comparison (a minute)",
        ),
        KeyUnknown: (
            "key_unknown",
            "there is no key of this id; the member's list at the member API names its own",
        ),
        MigrationRefused: ("schema_refused", str(error)),
        SiteUnknown: ("site_unknown", str(error)),
        StartRefused: ("start_refused", str(error)),
        CorruptState: ("state_corrupt", str(error)),
        EmbeddedPostgresFailed: ("postgres_failed", str(error)),
    }
    return fixed[type(error)]
