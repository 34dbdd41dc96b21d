"""What a profile says when ``runtime`` is among its components: partitions, scratch, the members' group with
its recorded approval, Git hosts, members' tokens, graces (I9, S1–S6, S12).

Names and shapes are the schema's; here stands what it cannot say.
"""

from dataclasses import dataclass, field
from datetime import date
from urllib.parse import urlsplit

from installer.domain.profile_rules import check_path, refuse
from installer.domain.profile_slurm import Slurm

SECTION = "runtime"
GRANTS = ".runtime"
"""The Runtime's own folder below scratch (S4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """Who of the site's administrators approved something, and on which day (ISO 8601)."""

    by: str
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Internet:
    """Who said, and when, that exactly these nodes reach the Git hosts (I9).

    ``nodes`` is the hostlist of ``scontrol show partition``.
    """

    nodes: str
    by: str
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """The partition of stage-in and stage-out. ``max_time_seconds``: its MaxTime; 0 is UNLIMITED."""

    partition: str
    max_time_seconds: int
    internet: Internet


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """The partition of compute. ``max_time_seconds``: its MaxTime; 0 is UNLIMITED."""

    partition: str
    max_time_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MembersGroup:
    """The members' group; the unit gets it only with the recorded approval (S4)."""

    name: str
    approved: Approval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """The Git servers, ``HOST[:PORT]``, and their certificate authority; empty: the nodes' own store."""

    hosts: tuple[str, ...]
    ca_file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberTokens:
    """How Slurm knows members' tokens (S2). ``jwks_file``: the controller's key set as this host reads it;
    empty: where AuthAltParameters says.
    """

    user_claim: str
    jwks_file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graces:
    """How long the Runtime waits before it concludes, in seconds (S1, S12)."""

    lookup_seconds: int = 180
    requeue_seconds: int = 60
    missing_seconds: int = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """The section ``runtime``."""

    staging: Staging
    compute: Compute
    scratch: str
    members_group: MembersGroup
    repository: Repository
    member_tokens: MemberTokens
    graces: Graces = field(default_factory=Graces)

    @property
    def grants_root(self) -> str:
        """The Runtime's own folder (S4)."""
        return f"{self.scratch}/{GRANTS}"

    @property
    def supplementary_group(self) -> str:
        """What the unit is given besides its own group; empty without the approval (S4)."""
        return self.members_group.name if self.members_group.approved is not None else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeProfile:
    """All of it, whole and checked."""

    slurm: Slurm
    section: Runtime

    @property
    def recorded_inputs(self) -> dict[str, str]:
        """Endpoints and identities an activation records (I4)."""
        return {
            "slurm.cluster": self.slurm.cluster,
            "slurm.parent_account": self.slurm.parent_account,
            "runtime.staging.partition": self.section.staging.partition,
            "runtime.compute.partition": self.section.compute.partition,
            "runtime.scratch": self.section.scratch,
            "runtime.members_group.name": self.section.members_group.name,
            "runtime.repository.hosts": " ".join(self.section.repository.hosts),
            "runtime.member_tokens.user_claim": self.section.member_tokens.user_claim,
        }


def check_runtime(runtime: RuntimeProfile) -> None:
    """Raise Refusal ``profile_invalid`` for what the schema cannot say."""
    section = runtime.section
    check_path("slurm.commands", runtime.slurm.commands)
    check_path("runtime.scratch", section.scratch)
    check_path("runtime.repository.ca_file", section.repository.ca_file, optional=True)
    check_path("runtime.member_tokens.jwks_file", section.member_tokens.jwks_file, optional=True)
    _check_date("runtime.staging.internet.date", section.staging.internet.date)
    if section.members_group.approved is not None:
        _check_date("runtime.members_group.approved.date", section.members_group.approved.date)
    for host in section.repository.hosts:
        _check_host(host)
    if section.graces.missing_seconds < section.graces.lookup_seconds:
        refuse(
            "runtime.graces.missing_seconds",
            "at least lookup_seconds: a job that was known is waited for no shorter than one that was not",
            "Raise it, or lower lookup_seconds.",
        )


def _check_date(where: str, text: str) -> None:
    try:
        date.fromisoformat(text)
    except ValueError:
        refuse(where, "a day of the calendar, YYYY-MM-DD", "Write the day of the approval.")


def _check_host(text: str) -> None:
    try:
        parts = urlsplit(f"https://{text}")
        named = parts.hostname is not None and (parts.port is None or parts.port > 0)
    except ValueError:
        parts, named = urlsplit(""), False
    if not named or parts.netloc != text or parts.username is not None:
        refuse("runtime.repository.hosts", "HOST or HOST:PORT each", "Name the Git servers alone, no URL.")
