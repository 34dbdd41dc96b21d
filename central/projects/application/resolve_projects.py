"""Provider Projects are resolved to Beto's (P3, P13): the `ProjectBindings` that allocations are decided
with.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from central.kernel.times import Clock
from central.projects.application.ports import ViewReads
from central.projects.domain.ids import comparable
from central.projects.domain.resolution import Resolution, Unresolved, resolve

R = TypeVar("R", bound=str)


@dataclass(frozen=True, slots=True)
class ResolveProjects:
    """The use case over one provider. A closed Project still resolves."""

    reads: ViewReads
    clock: Clock
    provider: str = "waldur"

    def __call__(self, instance: str, refs: Collection[R]) -> Mapping[R, Resolution]:
        """What each ref is. `Unavailable` while the view cannot answer: nothing is proven then (X1)."""
        forms = {ref: comparable(ref) for ref in refs}
        holders = self.reads.holders(self.provider, instance, set(forms.values()), self.clock())
        return {ref: resolve(holders.get(form, ())) for ref, form in forms.items()}

    def resolve(self, instance: str, refs: Collection[R]) -> Mapping[R, UUID | None]:
        """As a call, None where it is proven that not exactly one Project holds the ref."""
        found = self(instance, refs)
        return {ref: None if isinstance(what, Unresolved) else what for ref, what in found.items()}
