"""Amounts of resources in canonical units (X3): whole numbers, never rounded, never converted here.

`cpu` millicores; `memory`, `storage`, `ephemeral_storage` bytes; `gpu.<model>` whole devices; 0 … 2^63−1.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

AMOUNT_MAX: Final = 2**63 - 1
COMPONENT: Final = re.compile(r"cpu|memory|storage|ephemeral_storage|gpu\.[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class AmountRefused(ValueError):
    """A component is unknown or its amount is out of range. `component` names it."""

    def __init__(self, component: str, reason: str) -> None:
        super().__init__(f"{component}: {reason}")
        self.component = component


@dataclass(frozen=True, slots=True)
class Amounts:
    """Amounts by component, sorted by name. Empty says *nothing*; not known is `None` instead of this."""

    pairs: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, amounts: Mapping[str, int]) -> Self:
        """Checked amounts. Raises `AmountRefused`."""
        for component, amount in amounts.items():
            if COMPONENT.fullmatch(component) is None:
                raise AmountRefused(
                    component,
                    "wanted cpu, memory, storage, ephemeral_storage or gpu.<model>, in canonical units",
                )
            if not isinstance(amount, int) or isinstance(amount, bool) or not 0 <= amount <= AMOUNT_MAX:
                raise AmountRefused(component, f"wanted a whole number from 0 to {AMOUNT_MAX}")
        return cls(tuple(sorted(amounts.items())))

    def by_component(self) -> dict[str, int]:
        """The amounts as a new mapping, in their order."""
        return dict(self.pairs)
