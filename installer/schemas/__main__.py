"""``python -m installer.schemas [--check]``: keeps ``profiles/`` equal to the schemas shipped with the
installer.

Writes ``profiles/profile.schema.json`` and the tables in ``profiles/README.md``; with ``--check`` only
compares.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from installer.host.yaml_input import load_schema

PROFILES = Path(__file__).resolve().parents[2] / "profiles"
_BEGIN, _END = "<!-- begin {name} -->", "<!-- end {name} -->"
_NAMES = ("profile", "site-config", "evidence")


def table(name: str) -> str:
    """The schema ``name`` as a Markdown table."""
    schema = load_schema(f"{name}.schema.json")
    rows = ["| key | | meaning |", "|---|---|---|", *_rows(schema, "", _conditional(schema))]
    return "\n".join(rows)


def document(text: str) -> str:
    """``text`` with every marked table written anew. Raises ValueError for a missing mark."""
    for name in _NAMES:
        begin, end = _BEGIN.format(name=name), _END.format(name=name)
        before, after = text.index(begin) + len(begin), text.index(end)
        text = f"{text[:before]}\n{table(name)}\n{text[after:]}"
    return text


def _conditional(schema: dict[str, object]) -> dict[str, str]:
    """Keys that are asked for with some components alone, dotted, and with which: the ``required`` of each
    ``then``.
    """
    found: dict[str, str] = {}

    def collect(part: object, prefix: str, need: str) -> None:
        if isinstance(part, dict):
            found.update({f"{prefix}{name}": need for name in part.get("required", [])})
            for key, entry in part.get("properties", {}).items():
                collect(entry, f"{prefix}{key}.", need)

    rules = schema.get("allOf", [])
    if not isinstance(rules, list):
        raise TypeError("no list of rules")
    for rule in rules:
        wanted = rule["if"]["properties"]["components"]["contains"]
        names = wanted["enum"] if "enum" in wanted else [wanted["const"]]
        collect(rule["then"], "", "with " + " or ".join(f"`{name}`" for name in names))
    return found


def _rows(
    schema: dict[str, object], prefix: str, conditional: dict[str, str], need: str = ""
) -> Iterator[str]:
    properties, required = schema["properties"], schema["required"]
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise TypeError("not an object's schema")
    for key, entry in properties.items():
        name = f"{prefix}{key}"
        own = conditional.get(name, need)
        absent = key not in required and name not in conditional
        if absent and ("properties" not in entry or need):
            own = f"{own}, optional" if own else "optional"
        if "properties" in entry:
            yield from _rows(entry, f"{name}.", conditional, own)
            continue
        yield f"| `{name}` | {own.replace(', optional, optional', ', optional')} | {entry['description']} |"
        items = entry.get("items", {})
        if "properties" in items:
            yield from _rows(items, f"{name}[].", conditional)


def main(arguments: list[str]) -> int:
    """Write, or compare with ``--check``; 1 when something differs."""
    shipped = (Path(__file__).parent / "profile.schema.json").read_text("utf-8")
    readme = (PROFILES / "README.md").read_text("utf-8")
    wanted = {PROFILES / "profile.schema.json": shipped, PROFILES / "README.md": document(readme)}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" not in arguments:
        for path in stale:
            path.write_text(wanted[path], "utf-8")
        return 0
    for path in stale:
        sys.stderr.write(f"{path.name} is not what the schemas say; run: python -m installer.schemas\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
