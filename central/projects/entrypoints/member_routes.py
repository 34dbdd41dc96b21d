"""`GET /resource-provisioning/<site>/members[/<username>]` and `POST …/project-members`: who a Site's
accounts belong to (P15–P19).

Mounted by the intake's composition root, which knows the Sites and their keys.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import BoundedSemaphore
from typing import Final

from flask import Blueprint, Response

from central.kernel.errors import Unavailable
from central.kernel.http import answer, read_json, read_query
from central.kernel.problems import BODY_INVALID, BODY_TOO_LARGE, QUERY_INVALID, FieldError, Problem
from central.kernel.site_names import Site
from central.kernel.strict_json import JsonLimits
from central.kernel.times import Clock
from central.projects.application.find_member import FindMember
from central.projects.application.list_members import ListMembers
from central.projects.entrypoints.wire import (
    ProjectMembersRequest,
    member_body,
    members_body,
    project_members_body,
)
from central.projects.problems import MEMBER_UNKNOWN, PROJECT_UNKNOWN

_REF: Final = "providerProjectRef"
_REF_MAX: Final = 255
REFS_MAX: Final = 1_000
REQUEST_BYTES_MAX: Final = 1_048_576
LIMITS: Final = JsonLimits()


@dataclass(frozen=True, slots=True)
class MemberRoutes:
    """The routes of every Site. `admit` checks the caller's credential and schema range for a Site.

    `turns`: so many questions wait for Beto at once; one more is told to come back, so that a silent Beto
    never holds the threads that Sites' reports need.
    """

    find_member: FindMember
    list_members: ListMembers
    instance: str
    admit: Callable[[Site], None]
    clock: Clock
    turns: BoundedSemaphore

    def blueprints(self, sites: Iterable[Site]) -> list[Blueprint]:
        """One blueprint a Site, ready to be mounted."""
        return [self._blueprint(site) for site in sites]

    def _blueprint(self, site: Site) -> Blueprint:
        blueprint = Blueprint(f"members_{site}", __name__, url_prefix=f"/resource-provisioning/{site}")
        blueprint.add_url_rule("/members/<username>", "member", partial(self.member, site), methods=["GET"])
        blueprint.add_url_rule("/members", "members", partial(self.members, site), methods=["GET"])
        asked = partial(self.project_members, site)
        blueprint.add_url_rule("/project-members", "project_members", asked, methods=["POST"])
        return blueprint

    def member(self, site: Site, username: str) -> Response:
        """Answers one member. Absence is proven; everything else that is not an answer is 503."""
        self.admit(site)
        with self._turn():
            member = self.find_member(site, self.instance, _asked(), username, self.clock())
        if member is None:
            raise Problem(MEMBER_UNKNOWN, "nobody by this name is a member of this Project at this Site")
        return answer(member_body(member))

    def members(self, site: Site) -> Response:
        """Answers every member of a Project, or nothing: a short list would read as departures (X1)."""
        self.admit(site)
        with self._turn():
            found = self.list_members(site, self.instance, _asked(), self.clock())
        if found is None:
            raise Problem(PROJECT_UNKNOWN, "no Project with an allocation at this Site holds this ref")
        return answer(members_body(found))

    def project_members(self, site: Site) -> Response:
        """Answers the members of the first of several Projects: each whole, or with what stands in the way.

        Nothing is changed: it is a POST because a thousand refs fit into no URL.
        """
        self.admit(site)
        read_query()
        body = read_json(ProjectMembersRequest, limits=LIMITS, body_bytes=REQUEST_BYTES_MAX)
        refs = _refs(body.provider_project_refs)
        now = self.clock()
        with self._turn():
            found = self.list_members.of_each(site, self.instance, refs, now)
        return answer(project_members_body(refs, found, now))

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self.turns.acquire(blocking=False):
            raise Unavailable("unavailable", "other questions about members wait for Beto now; come back")
        try:
            yield
        finally:
            self.turns.release()


def _refs(refs: Sequence[str]) -> Sequence[str]:
    """The refs of a request, each once and of a form a Project may have."""
    if len(refs) > REFS_MAX:
        raise Problem(
            BODY_TOO_LARGE, f"{len(refs)} Projects are asked for, at most {REFS_MAX} are; split the question"
        )
    for place, ref in enumerate(refs):
        if not (0 < len(ref) <= _REF_MAX and ref.isprintable()):
            pointer = f"/providerProjectRefs/{place}"
            reason = f"wanted 1 to {_REF_MAX} printable characters"
            raise Problem(BODY_INVALID, f"{pointer}: {reason}", errors=[FieldError(pointer, reason)])
    if len(set(refs)) != len(refs):
        pointer, reason = "/providerProjectRefs", "a Project is named twice; name each once"
        raise Problem(BODY_INVALID, f"{pointer}: {reason}", errors=[FieldError(pointer, reason)])
    return refs


def _asked() -> str:
    """The provider's Project the question is about."""
    ref = read_query(_REF).text(_REF, max_length=_REF_MAX)
    if not ref:
        raise Problem(
            QUERY_INVALID,
            f"query parameter {_REF}: name the provider's Project",
            errors=[FieldError(_REF, "absent or empty")],
        )
    return ref
