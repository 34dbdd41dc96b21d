"""What is so in Beto. Every change is one revision and one event; values are the wire's own
(docs/wire.md).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

WALDUR = "https://waldur.example.org/"
KEYS = {"projects": "projectId", "parties": "partyId", "authorities": "projectId"}
TYPES = {
    "projects": "project.ProjectChanged",
    "parties": "party.PartyChanged",
    "authorities": "project.ProjectAuthorityChanged",
}
PERMISSIONS = frozenset(
    f"{kind}.{act}"
    for kind, acts in {
        "project": ("view", "member"),
        "run": ("view", "create", "cancel", "stage_out", "continue", "retry", "cleanup", "results"),
        "repository": ("credential",),
    }.items()
    for act in acts
)

Data = dict[str, Any]
Change = tuple[str, Data]
"""Scope and an event's `data`."""


@dataclass(slots=True)
class Truth:
    """Projects, Parties and authorities by id, and how many changes there were."""

    projects: dict[str, Data] = field(default_factory=dict)
    parties: dict[str, Data] = field(default_factory=dict)
    authorities: dict[str, Data] = field(default_factory=dict)
    generations: dict[tuple[str, str], int] = field(default_factory=dict)
    """What P17 counts, had every change been seen: by Project and Party."""
    position: int = 0
    made: int = 0

    def scope(self, name: str) -> dict[str, Data]:
        """The items of one scope by id."""
        return {"projects": self.projects, "parties": self.parties, "authorities": self.authorities}[name]

    def items(self, name: str) -> list[Data]:
        """The items of one scope in ascending order."""
        return [dict(item) for _, item in sorted(self.scope(name).items())]

    def new_id(self) -> str:
        """Another id; their order has nothing to do with their age."""
        self.made += 1
        return str(
            UUID(int=(self.made * 0x9E3779B97F4A7C15 % 2**64) << 64 | 0x4000 << 64 | 8 << 60 | self.made)
        )

    def new_party(self, *, site: str | None = None, username: str = "") -> tuple[str, Change]:
        """A Party, with a site binding if a Site is given."""
        party = self.new_id()
        bindings = [self._site_binding(site, username)] if site else []
        return party, self._party(party, "active", bindings)

    def bind_site(self, party: str, site: str, username: str) -> Change:
        """Establishes another site binding."""
        known = self.parties[party]
        return self._party(
            party, known["state"], [*known["providerBindings"], self._site_binding(site, username)]
        )

    def retire_binding(self, party: str, index: int) -> Change:
        """Retires one of the Party's bindings."""
        bindings = [dict(binding) for binding in self.parties[party]["providerBindings"]]
        bindings[index] |= {"state": "retired", "revision": bindings[index]["revision"] + 1}
        return self._party(party, self.parties[party]["state"], bindings)

    def retire_party(self, party: str) -> Change:
        """Retires the Party; its bindings stay as they are."""
        return self._party(party, "retired", self.parties[party]["providerBindings"])

    def new_project(self, ref: str | None = None) -> tuple[str, Change]:
        """A Project, held at Waldur under `ref`, or nowhere."""
        project = self.new_id()
        bindings = [{"provider": "waldur", "instance": WALDUR, "projectRef": ref}] if ref else []
        return project, self._project(project, lifecycle="active", providerBindings=bindings, members=[])

    def bind_project(self, project: str, ref: str | None) -> Change:
        """Holds it under another `ref`, or nowhere."""
        bindings = [{"provider": "waldur", "instance": WALDUR, "projectRef": ref}] if ref else []
        return self._project(project, providerBindings=bindings)

    def close_project(self, project: str) -> Change:
        """Closes it for good."""
        return self._project(project, lifecycle="closed")

    def add_member(self, project: str, party: str, *, pending: bool = False) -> Change:
        """Lists the Party, with a new verified binding or pending; replaces the binding of one that is
        listed.
        """
        return self.add_members(project, [party], pending=pending)

    def add_members(self, project: str, parties: Collection[str], *, pending: bool = False) -> Change:
        """As `add_member`, several in one change."""
        listed = set(parties)
        others = [each for each in self.projects[project]["members"] if each["partyId"] not in listed]
        added = [
            {"partyId": party, "binding": None if pending else {"bindingId": self.new_id(), "revision": 1}}
            for party in parties
        ]
        return self._project(project, members=[*others, *added])

    def touch_binding(self, project: str, party: str) -> Change:
        """A new revision of the same binding: nothing was replaced."""
        members = [dict(member) for member in self.projects[project]["members"]]
        for member in members:
            if member["partyId"] == party and member["binding"]:
                member["binding"] = member["binding"] | {"revision": member["binding"]["revision"] + 1}
        return self._project(project, members=members)

    def remove_member(self, project: str, party: str) -> Change:
        """Lists the Party no more."""
        return self._project(project, members=self._without(project, party))

    def set_authority(self, project: str, state: str, expires: str | None, *, management: int = 1) -> Change:
        """Authority over the Project's present revision."""
        item = {
            "projectId": project,
            "revision": self.projects[project]["revision"],
            "state": state,
            "expiresAt": expires if state == "ready" else None,
            "managementGeneration": management,
        }
        self.authorities[project] = item
        self.position += 1
        return "authorities", dict(item)

    def verified(self, project: str) -> dict[str, str]:
        """Binding ids of the members that count, by Party (P18)."""
        return {
            member["partyId"]: member["binding"]["bindingId"]
            for member in self.projects[project]["members"]
            if member["binding"]
        }

    def holders(self, ref: str) -> set[str]:
        """The Projects held under `ref`."""
        return {
            project
            for project, item in self.projects.items()
            if any(binding["projectRef"] == ref for binding in item["providerBindings"])
        }

    def _site_binding(self, site: str, username: str) -> Data:
        return {
            "bindingId": self.new_id(),
            "revision": 1,
            "provider": "site",
            "instance": site,
            "subject": username,
            "state": "established",
        }

    def _without(self, project: str, party: str) -> list[Data]:
        return [member for member in self.projects[project]["members"] if member["partyId"] != party]

    def _party(self, party: str, state: str, bindings: list[Data]) -> Change:
        revision = self.parties[party]["revision"] + 1 if party in self.parties else 1
        self.parties[party] = {
            "partyId": party,
            "revision": revision,
            "state": state,
            "providerBindings": list(bindings),
        }
        self.position += 1
        return "parties", dict(self.parties[party])

    def _project(self, project: str, **changes: Any) -> Change:
        known = self.projects.get(project, {"projectId": project, "revision": 0})
        before = self.verified(project) if project in self.projects else {}
        item = known | changes | {"revision": known["revision"] + 1}
        order = ("projectId", "revision", "lifecycle", "providerBindings", "members")
        self.projects[project] = {name: item[name] for name in order}
        for party, binding in self.verified(project).items():
            if before.get(party) != binding:
                self.generations[project, party] = self.generations.get((project, party), 0) + 1
        self.position += 1
        return "projects", dict(self.projects[project])
