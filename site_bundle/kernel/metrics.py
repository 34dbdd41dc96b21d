"""A text file for node_exporter's textfile collector, in OpenMetrics form; no socket (X9)."""

from __future__ import annotations

from dataclasses import dataclass, field

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Metric:
    """One family. `samples`: label pairs (bounded values, no person) → number. A counter's samples end in
    _total.
    """

    name: str
    kind: str  # gauge or counter
    help: str
    samples: dict[Labels, float] = field(default_factory=dict)


def render_metrics(families: list[Metric]) -> bytes:
    """The exposition of `families`, in their order, ending with `# EOF`."""
    lines: list[str] = []
    for family in families:
        lines.append(f"# HELP {family.name} {family.help}")
        lines.append(f"# TYPE {family.name} {family.kind}")
        suffix = "_total" if family.kind == "counter" else ""
        for labels, value in sorted(family.samples.items()):
            shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
            number = repr(int(value)) if float(value).is_integer() else repr(float(value))
            lines.append(
                f"{family.name}{suffix}{{{shown}}} {number}" if shown else f"{family.name}{suffix} {number}"
            )
    lines.append("# EOF")
    return ("\n".join(lines) + "\n").encode()


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
