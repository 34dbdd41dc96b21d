"""How a benchmark is measured and told: interleaved rounds, medians, one table, one JSON file."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Better = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class Target:
    """What a key must reach and what it aims for; ``better`` says in which direction."""

    must: float
    aim: float
    better: Better


@dataclass(frozen=True, slots=True)
class Result:
    """One measured key. ``ratio`` is the figure compared with the target; ``detail`` holds its parts."""

    ratio: float
    runs: int
    detail: dict[str, float] = field(default_factory=dict)


def seconds(action: Callable[[], object]) -> float:
    """Wall time of one call, by the monotonic clock."""
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def interleaved(rounds: int, **actions: Callable[[], float]) -> dict[str, float]:
    """Median of each figure, the actions taken in turn so that a busy minute meets them all alike."""
    figures: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            figures[name].append(action())
    return {name: statistics.median(values) for name, values in figures.items()}


def paired(rounds: int, *, over: Callable[[], float], under: Callable[[], float]) -> Result:
    """Median of the rounds' own ratios of rates, each round two short turns in alternating order.

    What slows the machine for a while slows both turns of a round; what slows one alone is an outlier.
    `by_cpu` is the same ratio in rows a second of processor time of this process and all it started: it does
    not depend on who else uses the machine, but a side that mostly waits for the disk looks better in it.
    """
    rates: dict[str, list[float]] = {"over": [], "under": []}
    costs: dict[str, list[float]] = {"over": [], "under": []}
    for number in range(rounds):
        for name, action in [("over", over), ("under", under)][:: 1 if number % 2 == 0 else -1]:
            before = cpu_seconds(os.getpid())
            rates[name].append(action())
            costs[name].append((cpu_seconds(os.getpid()) - before) / rates[name][-1])
    ratios = sorted(top / bottom for top, bottom in zip(rates["over"], rates["under"], strict=True))
    detail = {name: statistics.median(figures) for name, figures in rates.items()}
    detail |= {"lowest": ratios[0], "highest": ratios[-1]}
    detail["by_cpu"] = statistics.median(
        bottom / top for top, bottom in zip(costs["over"], costs["under"], strict=True)
    )
    return Result(statistics.median(ratios), rounds, detail)


def cpu_seconds(root: int) -> float:
    """Processor time of a process and all below it, as far as they still run (proc(5), `stat`)."""
    spent: dict[int, tuple[int, int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        spent[int(stat.parent.name)] = (int(fields[1]), int(fields[11]) + int(fields[12]))
    family, young = {root}, {root}
    while young:
        young = {pid for pid, (parent, _) in spent.items() if parent in young}
        family |= young
    return sum(spent[pid][1] for pid in family if pid in spent) / os.sysconf("SC_CLK_TCK")


def holds(target: Target, ratio: float) -> bool:
    """Does the figure reach what it must?"""
    return ratio >= target.must if target.better == "higher" else ratio <= target.must


def table(results: dict[str, Result], targets: dict[str, Target]) -> str:
    """The results as a person reads them, one key a line."""
    lines = [f"{'key':24} {'ratio':>9} {'must':>9} {'aim':>9}  runs"]
    for key, result in results.items():
        target = targets[key]
        sign = ">=" if target.better == "higher" else "<="
        verdict = "" if holds(target, result.ratio) else "   MISSED"
        bounds = f"{sign + format(target.must, 'g'):>9} {format(target.aim, 'g'):>9}"
        lines.append(f"{key:24} {result.ratio:9.3f} {bounds}  {result.runs}{verdict}")
    return "\n".join(lines)


def write(path: Path, results: dict[str, Result], targets: dict[str, Target]) -> None:
    """``build/bench.json``: the same as data. A key that was not run keeps what an earlier run said."""
    path.parent.mkdir(parents=True, exist_ok=True)
    known: dict[str, object] = json.loads(path.read_text()) if path.exists() else {}
    for key, result in results.items():
        target = targets[key]
        known[key] = {
            "ratio": round(result.ratio, 4),
            "must": target.must,
            "aim": target.aim,
            "better": target.better,
            "runs": result.runs,
            "detail": {name: round(value, 5) for name, value in result.detail.items()},
        }
    path.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")
