"""Amounts in canonical units (X3) and what Slurm enforces of them (S8).

`cpu` millicores, `memory` bytes, `gpu.<model>` devices; a component that is left out is not there. Limits may
also hold `gpu`: one number for devices of every model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

Amounts = Mapping[str, int]

MAX_AMOUNT = 2**63 - 1
ANY_GPU = "gpu"
_COMPONENT = re.compile(r"cpu|memory|gpu\.[a-z0-9][a-z0-9_-]{0,31}", re.ASCII)


def checked_capacity(value: object) -> Amounts:
    """What the profile declares one compute node to give (D09, D12). ValueError says what is wanted."""
    if not isinstance(value, dict) or not {"cpu", "memory"} <= value.keys():
        raise ValueError("an object with cpu (millicores) and memory (bytes) is wanted")
    for name, amount in value.items():
        if not _COMPONENT.fullmatch(name):
            raise ValueError("components are cpu, memory and gpu.<model>")
        if isinstance(amount, bool) or not isinstance(amount, int) or not 1 <= amount <= MAX_AMOUNT:
            raise ValueError("amounts are whole numbers 1…2^63-1 in canonical units")
    return dict(sorted(value.items()))


def node_capacity(nodes: Sequence[Amounts], declared: Amounts) -> Amounts:
    """What one compute node gives, of the declared components: of the nodes that cover the declaration the
    least of each; if none does, the node that gives most of it (by component, in order).
    """
    given = [{name: node[name] for name in declared if name in node} for node in nodes]
    covering = [
        node for node in given if all(node.get(name, -1) >= amount for name, amount in declared.items())
    ]
    if covering:
        return {name: min(node[name] for node in covering) for name in declared}
    return max(given, key=lambda node: [node.get(name, -1) for name in declared], default={})


def limit_of(limits: Amounts, component: str) -> int | None:
    """What `limits` say of `component`, None for nothing; a limit of all GPUs is one of each model (W14)."""
    found = [limits[component]] if component in limits else []
    if component.startswith(f"{ANY_GPU}.") and ANY_GPU in limits:
        found.append(limits[ANY_GPU])
    return min(found, default=None)


def lowered(capacity: Amounts, chain: Iterable[Amounts]) -> Amounts:
    """`capacity` under the limits of an account and of every account above it."""
    limits = list(chain)
    result = {}
    for name, amount in capacity.items():
        found = [limit for limit in (limit_of(each, name) for each in limits) if limit is not None]
        result[name] = min([amount, *found])
    return result


def counted(declared: Amounts, limits: Amounts, jobs: Iterable[Amounts]) -> Amounts | None:
    """What running jobs hold of the components that `limits` count; None where none is counted. ValueError
    beyond what an amount can be (D09).
    """
    names = [name for name in declared if limit_of(limits, name) is not None]
    if not names:
        return None
    held = list(jobs)
    found = {name: sum(job.get(name, 0) for job in held) for name in names}
    if any(amount > MAX_AMOUNT for amount in found.values()):
        raise ValueError("an amount beyond 2^63-1")
    return found
