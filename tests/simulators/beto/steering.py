"""What Beto's process obeys, one command at a time: acts of `Truth` by name, and what several of them make
together.

`{"act": "add_member", "project": "…", "party": "…"}` is one act; `found`, `join` and `leave` also set the
Project's authority over its new revision, so that the change counts at once. `accept` and `release` are the
owners' of accepted work.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from central.kernel.broker import Broker
from central.kernel.times import utc_now
from tests.simulators.beto.beto import Beto, Faults, ready_for
from tests.simulators.beto.truth import Change, Truth
from tests.simulators.owner.owner import WorkOwner

ACTS = frozenset(
    {
        "new_party",
        "bind_site",
        "retire_binding",
        "retire_party",
        "new_project",
        "bind_project",
        "close_project",
        "add_member",
        "touch_binding",
        "remove_member",
        "set_authority",
    }
)
AUTHORITY_SECONDS = 30 * 86_400.0
Answer = dict[str, Any]


@dataclass(slots=True)
class World:
    """Beto and the owners of accepted work, at one broker. `path` keeps the truth between runs."""

    broker: Broker
    path: Path | None = None
    beto: Beto = field(default_factory=Beto)
    owners: dict[str, WorkOwner] = field(default_factory=dict)

    @classmethod
    def load(cls, broker: Broker, path: Path | None, owners: list[str]) -> World:
        """What the file keeps, or an empty world. Message ids go on where they were."""
        kept = json.loads(path.read_text(encoding="utf-8")) if path and path.exists() else {}
        items = kept.pop("acceptedWork", {})
        made = kept.pop("acceptedWorkMade", {})
        if kept:
            kept["generations"] = {tuple(key.split("/")): count for key, count in kept["generations"].items()}
        truth = Truth(**kept)
        speakers = {
            name: WorkOwner(clock=utc_now, name=name, items=items.get(name, {}), _made=made.get(name, 0))
            for name in owners
        }
        return cls(broker, path, Beto(truth=truth, clock=utc_now, _messages=truth.position), speakers)

    def save(self) -> None:
        """Keeps it, whole or not at all."""
        if self.path is None:
            return
        truth = self.beto.truth
        kept: Answer = {each.name: getattr(truth, each.name) for each in fields(truth)}
        kept["generations"] = {"/".join(key): count for key, count in truth.generations.items()}
        kept["acceptedWork"] = {name: owner.items for name, owner in self.owners.items()}
        kept["acceptedWorkMade"] = {name: owner._made for name, owner in self.owners.items()}
        draft = self.path.with_suffix(".new")
        draft.write_text(json.dumps(kept), encoding="utf-8")
        draft.replace(self.path)

    def obey(self, command: Answer) -> Answer:
        """Does one command and keeps what it changed; what cannot be done is told as `error`."""
        try:
            done = self._obey(dict(command))
        except (ValueError, KeyError, TypeError) as error:
            return {"error": f"{type(error).__name__}: {error}"}
        self.save()
        return done

    def _obey(self, command: Answer) -> Answer:
        act = str(command.pop("act", None))
        together: dict[str, Callable[..., Answer]] = {
            "found": self._found,
            "join": self._join,
            "leave": self._leave,
            "accept": self._accept,
            "release": self._release,
        }
        if act in together:
            return together[act](**command)
        if act == "faults":
            self.beto.faults = Faults(**command)
            return {"faults": command}
        if act == "restart":
            self.beto.restart()
            return {}
        if act == "deliver":
            self.beto.faults = Faults()
            return {"delivered": self.beto.flush(self.broker)}
        if act == "truth":
            return {scope: self.beto.truth.items(scope) for scope in ("projects", "parties", "authorities")}
        if act not in ACTS:
            known = [*sorted(ACTS), *together, "faults", "restart", "deliver", "truth"]
            raise ValueError(f"no such act; known: {', '.join(known)}")
        made = getattr(self.beto.truth, act)(**command)
        made_id, change = made if isinstance(made[1], tuple) else (None, made)
        self._tell(change)
        return {"id": made_id, "scope": change[0], "data": change[1]}

    def _tell(self, *changes: Change) -> None:
        self.beto.tell(*changes)
        self.beto.flush(self.broker)

    def _ready(self, project: str) -> Change:
        known = self.beto.truth.authorities.get(project, {"managementGeneration": 1})
        expires = ready_for(self.beto.clock, AUTHORITY_SECONDS)
        management = known["managementGeneration"]
        return self.beto.truth.set_authority(project, "ready", expires, management=management)

    def _found(self, *, ref: str) -> Answer:
        """A Project held at Waldur under `ref`, with authority."""
        if self.beto.truth.holders(ref):
            raise ValueError("a Project holds this ref already")
        project, change = self.beto.truth.new_project(ref)
        self._tell(change, self._ready(project))
        return {"project": project}

    def _join(self, *, project: str, site: str, username: str) -> Answer:
        """A member of the Project, once more if it is or was one, known at the Site by this name."""
        project = self._project(project)
        party, changes = self._known_as(site, username), list[Change]()
        if party is None:
            party, made = self.beto.truth.new_party(site=site, username=username)
            changes.append(made)
        changes.append(self.beto.truth.add_member(project, party))
        self._tell(*changes, self._ready(project))
        generation = self.beto.truth.generations[project, party]
        return {"project": project, "party": party, "generation": generation}

    def _leave(self, *, project: str, site: str, username: str) -> Answer:
        """A member no more."""
        project = self._project(project)
        party = self._known_as(site, username)
        if party is None or party not in self.beto.truth.verified(project):
            raise ValueError("nobody of this name is a member of the Project")
        change = self.beto.truth.remove_member(project, party)
        self._tell(change, self._ready(project))
        return {"project": project, "party": party}

    def _project(self, named: str) -> str:
        """The Project of this id, or the one held under this ref."""
        holders = {named} if named in self.beto.truth.projects else self.beto.truth.holders(named)
        if len(holders) != 1:
            raise ValueError(f"{len(holders)} Projects have this id or ref")
        return holders.pop()

    def _known_as(self, site: str, username: str) -> str | None:
        for party, item in self.beto.truth.parties.items():
            for binding in item["providerBindings"]:
                named = (binding["provider"], binding["instance"], binding["subject"], binding["state"])
                if named == ("site", site, username, "established") and item["state"] == "active":
                    return party
        return None

    def _accept(self, *, owner: str, project: str, site: str, username: str, kind: str = "run") -> Answer:
        """Work of a member is accepted."""
        project = self._project(project)
        party = self._known_as(site, username)
        if party is None or party not in self.beto.truth.verified(project):
            raise ValueError("nobody of this name is a member of the Project")
        bindings = self.beto.truth.parties[party]["providerBindings"]
        (held,) = [one for one in bindings if (one["instance"], one["subject"]) == (site, username)]
        account = {
            "projectId": project,
            "partyId": party,
            "site": site,
            "bindingId": held["bindingId"],
            "generation": self.beto.truth.generations[project, party],
            "managementGeneration": self.beto.truth.authorities[project]["managementGeneration"],
        }
        item = self.owners[owner].accept(account, kind=kind)
        self.owners[owner].flush(self.broker)
        return {"item": item}

    def _release(self, *, owner: str, item: str) -> Answer:
        """Work needs its account no more."""
        self.owners[owner].release(item)
        self.owners[owner].flush(self.broker)
        return {"item": item}
