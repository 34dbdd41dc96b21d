"""Amounts of resources in canonical units (X3): whole numbers, never rounded, never converted here.

`cpu` millicores; `memory`, `storage`, `ephemeral_storage` bytes; `gpu.<model>` whole devices; 0 … 2^63−1.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from msgspec import Struct

from central.kernel.units import COMPONENT

AMOUNT_MAX: Final = 2**63 - 1


_WHOLE: Final = frozenset({int})
_RANGE: Final = f"wanted a whole number from 0 to {AMOUNT_MAX}"
UNKNOWN: Final = "wanted cpu, memory, storage, ephemeral_storage or gpu.<model>, in canonical units"


@lru_cache(maxsize=1024)
def unknown_component(components: tuple[str, ...]) -> str | None:
    """The first of these names that is no component; remembered, for reports repeat the same few lists."""
    return next((name for name in components if COMPONENT.fullmatch(name) is None), None)


class AmountRefused(ValueError):
    """A component is unknown or its amount is out of range. `component` names it."""

    def __init__(self, component: str, reason: str) -> None:
        super().__init__(f"{component}: {reason}")
        self.component = component


class Amounts(Struct, frozen=True, gc=False):
    """Amounts by component, sorted by name. Empty says *nothing*; not known is `None` instead of this."""

    pairs: tuple[tuple[str, int], ...]

    @staticmethod
    def of(amounts: Mapping[str, int]) -> "Amounts":
        """Checked amounts. Raises `AmountRefused`."""
        # True equals 1, so a remembered answer must not be asked for it.
        kinds = set(map(type, amounts.values()))
        if not kinds <= _WHOLE:
            wrong = next(component for component, amount in amounts.items() if type(amount) is not int)
            raise AmountRefused(wrong, _RANGE)
        return amounts_of(tuple(amounts.items()))


@lru_cache(maxsize=4096)
def amounts_of(pairs: tuple[tuple[str, int], ...]) -> Amounts:
    """Checked amounts of pairs that are certainly of text and `int`, as a typed decode makes them.

    Remembered, for most resources have one of a few limits. Raises `AmountRefused`.
    """
    for component, amount in pairs:
        if not 0 <= amount <= AMOUNT_MAX:
            raise AmountRefused(component, _RANGE)
    unknown = unknown_component(tuple(component for component, _ in pairs))
    if unknown is not None:
        raise AmountRefused(unknown, UNKNOWN)
    return Amounts(tuple(sorted(pairs)))


def by_component(amounts: Amounts | None) -> dict[str, int] | None:
    """The amounts as a new mapping in their order, None where they are not known."""
    return dict(amounts.pairs) if amounts is not None else None
