"""What has to be true of retained accounts, said once more and otherwise than the product says it (P27–P29).

The model hears what was told and what became of passes; it knows no epochs, phases or effects.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

ALIVE, HOLD, STALE = 3600, 300, 25 * 3600
Item = dict[str, Any]
ACCOUNT = ("projectId", "partyId", "site", "bindingId", "generation", "managementGeneration")


def content(item: Item) -> tuple[Any, ...]:
    """All an item says but its state."""
    return tuple(value for name, value in item.items() if name != "state")


@dataclass(slots=True)
class Held:
    """The highest revision told, and whether any revision was a release."""

    item: Item
    released: bool


@dataclass(slots=True)
class Model:
    """Times are seconds. `complete`: a pass stands unless it lapsed; `hold`: until when one is at work."""

    told: dict[tuple[str, str], Held] = field(default_factory=dict)
    complete: bool = False
    asked: float = 0
    alive: float = 0
    hold: float = 0

    def hear(self, owner: str, item: Item, *, whole: bool = False) -> None:
        """An item told by an event or read in a whole inventory."""
        if item["bindingId"] is None:
            return
        key = (owner, item["itemId"])
        held = self.told.get(key)
        if held is None:
            self.told[key] = Held(dict(item), item["state"] == "released")
            return
        held.released = held.released or item["state"] == "released"
        same = item["revision"] == held.item["revision"]
        if same and not whole and content(item) != content(held.item):
            self.end()
        elif item["revision"] > held.item["revision"] or (same and whole):
            held.item = dict(item)

    def end(self) -> None:
        """A start or a doubt: nothing stands, nobody holds."""
        self.complete, self.hold = False, 0

    def stood(self, asked: float, now: float) -> None:
        """A pass applied everything."""
        self.complete, self.asked, self.alive, self.hold = True, asked, now + ALIVE, 0

    def died(self, now: float) -> None:
        """A pass died: it goes on holding."""
        self.complete, self.hold = False, now + HOLD

    def beat(self, now: float) -> None:
        """Somebody consumes."""
        if self.complete and now < self.alive:
            self.alive = max(self.alive, now + ALIVE)

    def answer(self, site: str, fences: dict[tuple[Any, ...], Item | None], now: float) -> Any:
        """The list, or the code of why there is none. `fences` by Project, Party, Site and binding."""
        if not self.complete or now >= self.alive or now - self.asked >= STALE:
            return "recovery_pending"
        accounts = set()
        for held in self.told.values():
            if held.released or held.item["site"] != site:
                continue
            account = tuple(held.item[name] for name in ACCOUNT)
            known = fences.get(account[:4])
            if known is None or account[4] > known["generation"] or account[5] > known["management"]:
                return "unavailable"
            exact = (account[4], account[5]) == (known["generation"], known["management"])
            if exact and known["active"] and known["username"]:
                accounts.add((account[0], account[1], account[3], account[4], known["username"]))
        return sorted(accounts)
