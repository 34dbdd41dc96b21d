"""The commands of docs/wire.md "Site API: commands", schema 1, as central lists them and the journal keeps
them (X10): exact in, byte-stable out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Annotated, Any, Literal
from uuid import UUID

from site_bundle.kernel.documents import Between, Length, Matching, Open, read_document, write_document
from site_bundle.kernel.strict_json import parse_object
from site_bundle.runtime.domain.command import (
    Cancel,
    CleanUp,
    Command,
    Compute,
    Foreign,
    Identity,
    Outputs,
    Repository,
    StageName,
    Submit,
)
from site_bundle.runtime.domain.feed import Page

Cursor = Annotated[int, Between(0, 2**63 - 1)]
Sequence64 = Annotated[int, Between(1, 2**63 - 1)]
Positive = Annotated[int, Between(1, 2**63 - 1)]
Amount = Annotated[int, Between(0, 2**63 - 1)]
SiteName = Annotated[str, Matching(r"[a-z][a-z0-9-]{0,31}")]
Name = Annotated[str, Matching(r"[a-z][a-z0-9_]{0,63}")]
_ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_URL = r"https://[A-Za-z0-9.-]+(?::[0-9]{1,5})?/[^?#@\s\x00-\x1f\x7f]+"
MAX_COMMANDS = 100
MAX_BODY = 256 * 1024
_ENVIRONMENT = re.compile(r"(?!SLURM_|SBATCH_|SRUN_|LD_|GIT_|PHAROS_)[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
_COMPONENT = re.compile(r"cpu|memory|gpu\.[a-z0-9][a-z0-9_-]{0,31}", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_WORDS_BYTES = 128 * 1024


@dataclass(frozen=True, slots=True)
class IdentityBody:
    username: Annotated[str, Matching(r"[a-z_][a-z0-9._-]{0,31}")]
    uid_number: Annotated[int, Between(1, 2**31 - 1)]
    native_uid: Annotated[str, Length(1, 255)]
    account: Annotated[str, Matching(r"[a-z0-9][a-z0-9._-]{0,63}")]


@dataclass(frozen=True, slots=True)
class RepositoryBody:
    url: Annotated[str, Length(1, 2048), Matching(_URL)]
    commit: Annotated[str, Matching(r"[0-9a-f]{40}|[0-9a-f]{64}")]


@dataclass(frozen=True, slots=True)
class ComputeBody:
    argv: Annotated[tuple[Annotated[str, Length(0, _WORDS_BYTES)], ...], Length(1, 256)]
    environment: dict[str, str]


@dataclass(frozen=True, slots=True)
class OutputsBody:
    paths: Annotated[tuple[Annotated[str, Length(1, 4096)], ...], Length(0, 256)]
    ref: Annotated[str, Matching(rf"refs/heads/pharos/runs/{_ID}")]
    large_file_bytes: Positive


@dataclass(frozen=True, slots=True)
class SubmitBody:
    act: Literal["submit"]
    stage: Literal["stage-in", "compute", "stage-out"]
    resources: dict[str, Amount]
    time_limit_seconds: Annotated[int, Between(1, 31_536_000)]
    repository: RepositoryBody | None
    compute: ComputeBody | None
    outputs: OutputsBody | None

    def action(self) -> Submit:
        """ValueError for members that do not fit the stage, or contents outside their grammar."""
        stage = StageName(self.stage)
        there = (self.repository is not None, self.compute is not None, self.outputs is not None)
        wanted = {
            StageName.STAGE_IN: (True, False, False),
            StageName.COMPUTE: (False, True, False),
            StageName.STAGE_OUT: (True, False, True),
        }
        if there != wanted[stage]:
            raise ValueError("members of another stage")
        if not all(_COMPONENT.fullmatch(name) for name in self.resources):
            raise ValueError("a component no job can have")
        if not self.resources.get("cpu") or not self.resources.get("memory"):
            raise ValueError("a job without CPU or memory")
        return Submit(
            stage,
            dict(self.resources),
            self.time_limit_seconds,
            Repository(self.repository.url, self.repository.commit) if self.repository else None,
            _compute(self.compute) if self.compute else None,
            _outputs(self.outputs) if self.outputs else None,
        )


def _compute(body: ComputeBody) -> Compute:
    texts = [*body.argv, *body.environment.values()]
    if not all(_ENVIRONMENT.fullmatch(name) for name in body.environment):
        raise ValueError("a name the environment cannot have")
    if any(_CONTROL.search(text) for text in texts):
        raise ValueError("a control character in a word")
    if sum(len(text.encode()) for text in [*texts, *body.environment]) > _WORDS_BYTES:
        raise ValueError("words of more than 128 KiB")
    return Compute(body.argv, dict(body.environment))


def _outputs(body: OutputsBody) -> Outputs:
    for path in body.paths:
        parts = path.removesuffix("/").split("/")
        if (
            {"", ".", ".."} & set(parts)
            or ".git" in {part.lower() for part in parts}
            or _CONTROL.search(path)
        ):
            raise ValueError("a path that leaves the work tree")
    return Outputs(body.paths, body.ref, body.large_file_bytes)


@dataclass(frozen=True, slots=True)
class CancelBody:
    act: Literal["cancel"]
    actor: UUID
    reason: Name

    def action(self) -> Cancel:
        return Cancel(self.actor, self.reason)


@dataclass(frozen=True, slots=True)
class CleanUpBody:
    act: Literal["cleanup"]

    def action(self) -> CleanUp:
        return CleanUp()


@dataclass(frozen=True, slots=True)
class ActBody(Open):
    """Which of the actions an action is."""

    act: str


_ACTIONS: dict[str, type[SubmitBody] | type[CancelBody] | type[CleanUpBody]] = {
    "submit": SubmitBody,
    "cancel": CancelBody,
    "cleanup": CleanUpBody,
}


@dataclass(frozen=True, slots=True)
class CommandBody:
    sequence: Sequence64
    command_id: UUID
    issued_at: datetime
    valid_until: datetime
    run_id: UUID
    attempt_id: UUID
    attempt: Positive
    identity: IdentityBody
    action: Any

    def command(self) -> Command:
        """ValueError."""
        shape = _ACTIONS.get(read_document(self.action, ActBody).act)
        if shape is None:
            raise ValueError("an act nobody knows")
        who = self.identity
        return Command(
            self.sequence,
            self.command_id,
            self.issued_at,
            self.valid_until,
            self.run_id,
            self.attempt_id,
            self.attempt,
            Identity(who.username, who.uid_number, who.native_uid, who.account),
            read_document(self.action, shape).action(),
        )


@dataclass(frozen=True, slots=True)
class NamedBody(Open):
    """What every version can read of a command of any: enough to refuse it by name."""

    sequence: Sequence64
    command_id: UUID
    attempt_id: UUID


def _read(value: Any) -> Command | Foreign:
    """A command this version knows exactly, or its name. ValueError when it has none: nobody could be
    answered.
    """
    try:
        return read_document(value, CommandBody).command()
    except ValueError:
        named = read_document(value, NamedBody)
        return Foreign(named.sequence, named.command_id, named.attempt_id)


@dataclass(frozen=True, slots=True)
class CommandsBody:
    schema: Literal[1]
    site: SiteName
    feed: UUID
    after: Cursor
    commands: Annotated[tuple[Any, ...], Length(0, MAX_COMMANDS)]
    next: Cursor
    more: bool

    def page(self) -> Page:
        """ValueError for a page that contradicts itself or names no command: it is refused whole. A command
        that is not of this version's form is handed on by its name, so that it blocks none behind it.
        """
        listed = tuple(_read(value) for value in self.commands)
        sequences = [self.after, *(each.sequence for each in listed)]
        if any(later <= earlier for earlier, later in pairwise(sequences)):
            raise ValueError("sequences that do not rise")
        if len({each.command_id for each in listed}) != len(listed):
            raise ValueError("a command that stands twice")
        if self.next < sequences[-1] or (self.more and not listed):
            raise ValueError("a next or a more that contradicts the commands")
        commands = tuple(each for each in listed if isinstance(each, Command))
        foreign = tuple(each for each in listed if isinstance(each, Foreign))
        return Page(self.site, self.feed, self.after, commands, self.next, self.more, foreign)


def encode_command(command: Command) -> bytes:
    """As the journal keeps it: the wire's own form."""
    who = command.identity
    body = CommandBody(
        command.sequence,
        command.command_id,
        command.issued_at,
        command.valid_until,
        command.run_id,
        command.attempt_id,
        command.attempt,
        IdentityBody(who.username, who.uid_number, who.native_uid, who.account),
        _action_body(command.action),
    )
    return write_document(body)


def decode_command(raw: bytes) -> Command:
    """What `encode_command` kept. ValueError: corruption."""
    return read_document(parse_object(raw, max_bytes=4 * MAX_BODY), CommandBody).command()


def _action_body(action: Submit | Cancel | CleanUp) -> SubmitBody | CancelBody | CleanUpBody:
    if isinstance(action, Cancel):
        return CancelBody("cancel", action.actor, action.reason)
    if isinstance(action, CleanUp):
        return CleanUpBody("cleanup")
    repository, compute, outputs = action.repository, action.compute, action.outputs
    return SubmitBody(
        "submit",
        action.stage.value,
        dict(action.resources),
        action.time_limit_seconds,
        RepositoryBody(repository.url, repository.commit) if repository else None,
        ComputeBody(compute.argv, dict(compute.environment)) if compute else None,
        OutputsBody(outputs.paths, outputs.ref, outputs.large_file_bytes) if outputs else None,
    )
