"""`GET /resource-provisioning/<site>/members[/<username>]`: who a Site's accounts belong to (P15–P19).

Mounted by the intake's composition root, which knows the Sites and their keys.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import BoundedSemaphore
from typing import Final

from flask import Blueprint, Response

from central.kernel.errors import Unavailable
from central.kernel.http import answer, read_query
from central.kernel.problems import QUERY_INVALID, FieldError, Problem
from central.kernel.site_names import Site
from central.kernel.times import Clock
from central.projects.application.find_member import FindMember
from central.projects.application.list_members import ListMembers
from central.projects.entrypoints.wire import member_body, members_body
from central.projects.problems import MEMBER_UNKNOWN, PROJECT_UNKNOWN

_REF: Final = "providerProjectRef"
_REF_MAX: Final = 255


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

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self.turns.acquire(blocking=False):
            raise Unavailable("unavailable", "other questions about members wait for Beto now; come back")
        try:
            yield
        finally:
            self.turns.release()


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
