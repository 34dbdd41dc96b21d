"""`BetoTruth` and `ProjectDecisions` asked through the Broker port, in docs/wire.md's form (P14, P15).

An answer that breaks its form, answers another question or another scope is `AnswerMalformed`: no answer
(X1).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Final, Generic, Literal, TypeVar
from uuid import UUID, uuid4

from msgspec import Struct
from msgspec.json import encode

from central.kernel.errors import InvalidTime, Unavailable
from central.kernel.paging import Manifest, Page, PagingLimits, read_whole
from central.kernel.questions import (
    AnswerMalformed,
    Count,
    Encoded,
    Fingerprint,
    ItemMalformed,
    PageQuestion,
    Positive,
    SnapshotGone,
    UuidText,
    page_of,
    read_answer,
    uuid_or_none,
)
from central.kernel.times import parse_rfc3339
from central.projects.application.items import (
    AuthorityBody,
    PartyBody,
    ProjectBody,
    encode_item,
)
from central.projects.domain.ids import PartyId, ProjectId, Scope
from central.projects.domain.revisions import Viewed
from central.projects.domain.roster import ProjectDecision

QUEUE: Final = "beto.questions"
OWNER: Final = "Beto"
PAGING: Final = PagingLimits()

Ask = Callable[[UUID, bytes], bytes]
"""Puts a question with its id to Beto and returns the answer's bytes; `Unavailable` if none came."""
AskAll = Callable[[Mapping[UUID, bytes]], Mapping[UUID, bytes]]
"""As `Ask`, several at once: every answer, or `Unavailable`."""

S = TypeVar("S", bound=Struct)
B = TypeVar("B", ProjectBody, PartyBody, AuthorityBody)


class CheckpointQuestion(Struct, frozen=True, rename="camel"):
    """What is the whole scope now?"""

    schema: int
    query_id: UUID
    query: str
    scope: str


class DecisionQuestion(Struct, frozen=True, rename="camel"):
    """May this Party do that in this Project?"""

    schema: int
    query_id: UUID
    query: str
    project_id: UUID
    party_id: UUID
    permission: str


class CheckpointAnswer(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What the whole scope is."""

    schema: Literal[1]
    query_id: UuidText
    scope: Literal["projects", "parties", "authorities"]
    snapshot_id: UuidText
    position: Count
    count: Count
    fingerprint: Fingerprint


class PageAnswer(Struct, Generic[B], frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A page of one scope's items."""

    schema: Literal[1]
    query_id: UuidText
    scope: Literal["projects", "parties", "authorities"]
    snapshot_id: UuidText
    after: UuidText | None
    items: list[B]
    next: UuidText | None


class DecisionAnswer(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Beto's decision."""

    schema: Literal[1]
    query_id: UuidText
    decision: Literal["allowed", "denied"]
    project_revision: Positive
    management_generation: Count
    valid_until: str


AnyPage = PageAnswer[ProjectBody] | PageAnswer[PartyBody] | PageAnswer[AuthorityBody]
PAGES: Final[
    dict[Scope, type[PageAnswer[ProjectBody]] | type[PageAnswer[PartyBody]] | type[PageAnswer[AuthorityBody]]]
] = {
    Scope.PROJECTS: PageAnswer[ProjectBody],
    Scope.PARTIES: PageAnswer[PartyBody],
    Scope.AUTHORITIES: PageAnswer[AuthorityBody],
}


class BetoQuestions:
    """The adapter. `new_id` makes question ids. Without `ask_all`, questions are put one by one."""

    def __init__(
        self,
        ask: Ask,
        *,
        ask_all: AskAll | None = None,
        limits: PagingLimits = PAGING,
        new_id: Callable[[], UUID] = uuid4,
    ) -> None:
        self._ask = ask
        self._ask_all = ask_all or (
            lambda questions: {one: ask(one, body) for one, body in questions.items()}
        )
        self._limits = limits
        self._new_id = new_id

    def checkpoint(self, scope: Scope) -> Manifest:
        """See `BetoTruth`."""
        question = CheckpointQuestion(1, self._new_id(), "checkpoint", scope.value)
        answer = self._answer(question.query_id, question, CheckpointAnswer)
        if answer.scope != scope.value:
            raise AnswerMalformed("the checkpoint is another scope's")
        return Manifest(UUID(answer.snapshot_id), answer.position, answer.count, answer.fingerprint)

    def items(self, scope: Scope, manifest: Manifest) -> Sequence[Viewed]:
        """See `BetoTruth`."""

        def read_page(after: UUID | None, limit: int) -> Page[Encoded[Viewed]]:
            question = PageQuestion(1, self._new_id(), "page", scope.value, manifest.snapshot, after, limit)
            answer: AnyPage = self._answer(question.query_id, question, PAGES[scope])
            if (answer.scope, UUID(answer.snapshot_id), uuid_or_none(answer.after)) != (
                scope.value,
                manifest.snapshot,
                after,
            ):
                raise AnswerMalformed("the page is another one than was asked for")
            return items_of(answer)

        return [item.value for item in read_whole(manifest, read_page, limits=self._limits)]

    def project_allowed(self, project: ProjectId, party: PartyId, permission: str) -> ProjectDecision:
        """See `ProjectDecisions`."""
        return self.all_allowed([(project, party)], permission)[project, party]

    def all_allowed(
        self, asked: Collection[tuple[ProjectId, PartyId]], permission: str
    ) -> Mapping[tuple[ProjectId, PartyId], ProjectDecision]:
        """See `ProjectDecisions`."""
        ids = {self._new_id(): pair for pair in asked}
        questions = {
            one: encode(DecisionQuestion(1, one, "project_allowed", project, party, permission))
            for one, (project, party) in ids.items()
        }
        answers = self._ask_all(questions) if questions else {}
        return {pair: _decision(one, answers[one]) for one, pair in ids.items()}

    def _answer(self, question_id: UUID, question: Struct, type_: type[S]) -> S:
        return read_answer(self._ask(question_id, encode(question)), type_, question_id, owner=OWNER)


def _decision(question_id: UUID, body: bytes) -> ProjectDecision:
    try:
        answer = read_answer(body, DecisionAnswer, question_id, owner=OWNER)
        until = _time(answer.valid_until)
    except (AnswerMalformed, SnapshotGone) as error:
        raise Unavailable("unavailable", f"Beto's decision is answer_malformed: {error}") from None
    return ProjectDecision(
        answer.decision == "allowed", answer.project_revision, answer.management_generation, until
    )


def items_of(answer: AnyPage) -> Page[Encoded[Viewed]]:
    """A page's items as values. Raises `AnswerMalformed` for one that contradicts itself or its order."""
    try:
        items = [_encoded(body.value()) for body in answer.items]
    except ItemMalformed as error:
        raise AnswerMalformed(str(error)) from None
    return page_of(items, answer.next)


def _time(text: str) -> datetime:
    try:
        return parse_rfc3339(text)
    except InvalidTime as error:
        raise AnswerMalformed(str(error)) from None


def _encoded(value: Viewed) -> Encoded[Viewed]:
    return Encoded(value, value.id, encode_item(value))
