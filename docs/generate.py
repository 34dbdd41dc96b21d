"""Writes docs/settings.md, docs/errors.md, the published schemas and the help blocks of the guides.

    python docs/generate.py            writes them
    python docs/generate.py --check    exit 1 and the first differences when one is out of date

Settings come from the tables `SETTINGS` and `TABLE` (X6), problems from each `PROBLEMS`, refusals from the
tables `CODES` and from the calls that raise them: a call with a literal code and `found=` is a refusal.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import help_blocks
import http_api
import message_schemas

ROOT = Path(__file__).resolve().parent.parent
HOUSES = ("central", "site_bundle", "installer", "release")
CODE = re.compile(r"[a-z][a-z0-9_]{2,63}")
VARIABLE = re.compile(r"(?:PHAROS|RESOURCE_PROVISIONING)_[A-Z0-9]+(?:_[A-Z0-9]+)*")
NOTE = "<!-- Written by `make docs` from the code; change that, not this page. -->\n"

SETTINGS_HEAD = """Every variable with our prefix that no table knows is refused, the forms orchestrators
inject for a service (`…_SERVICE_HOST`, `…_PORT…`) aside: these are ignored and named in the log. A secret
comes from its variable or from the file its `_FILE` twin names, never both (X5, X6).
"""
LOGGING = {"debug", "error", "event", "info", "say", "warning", "write"}
"""Calls with a literal first word that tell, and refuse nothing."""

OTHER_VARIABLES = {
    "PHAROS_PYTHON": "`install.sh`: the Python 3.13 to use; otherwise `python3.13` is looked for and run",
    "PHAROS_ARCHIVE": "set by the bootstrap for the phases: the verified archive",
    "PHAROS_ARCHIVE_SHA256": "set by the bootstrap for the phases: its SHA-256, verified again before use",
    "PHAROS_INDEX_URL": "set by the bootstrap for the phases: `--index-url`, to be the profile's",
    "PHAROS_REPOSITORY_USERNAME": "in the job of a stage that talks to Git: whom its askpass helper names",
    "PHAROS_REPOSITORY_PASSWORD": "in that job alone: the credential of one repository, for one stage (S4)",
    "PHAROS_LAB_CHECKPOINT": "laboratory only: where to stop or die; a production profile ignores it",
}
"""Variables that are no component's setting."""


@dataclass(frozen=True, slots=True)
class Code:
    """One refusal as a row: `status` is an HTTP status or an exit code, empty where it depends."""

    code: str
    status: str
    title: str
    remedy: str
    where: str


def python_files(root: Path, house: str) -> Iterator[Path]:
    """The house's modules, sorted."""
    yield from sorted((root / house).rglob("*.py"))


def module_name(root: Path, path: Path) -> str:
    """The dotted name of a file below `root`."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def problem_specs() -> list[tuple[str, Any]]:
    """`(module, ProblemSpec)` of every PROBLEMS table of central."""
    found = []
    for path in python_files(ROOT, "central"):
        if path.name.endswith("problems.py"):
            name = module_name(ROOT, path)
            found += [(name, spec) for spec in importlib.import_module(name).PROBLEMS.values()]
    return found


def code_tables() -> list[Code]:
    """Rows of every `CODES` table: a text, or an object with `exit_code`, `meaning` and `remedy`."""
    rows = []
    for house in HOUSES:
        for path in python_files(ROOT, house):
            if path.name == "errors.py":
                name = module_name(ROOT, path)
                for code, entry in getattr(importlib.import_module(name), "CODES", {}).items():
                    text = entry if isinstance(entry, str) else entry.meaning
                    status = "" if isinstance(entry, str) else str(entry.exit_code)
                    remedy = "" if isinstance(entry, str) else entry.remedy
                    rows.append(Code(code, status, text, remedy, name))
    return rows


def raised_codes(name: str, tree: ast.Module) -> list[Code]:
    """The refusals a module raises with a literal code."""
    rows = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        first, keywords = node.args[0], {k.arg: k.value for k in node.keywords}
        called = ast.unparse(node.func).rpartition(".")[2]
        if not (
            isinstance(first, ast.Constant) and isinstance(first.value, str) and CODE.fullmatch(first.value)
        ):
            continue
        if called not in LOGGING and ("found" in keywords or called == "Unavailable"):
            wanted, remedy = _words(keywords.get("wanted")), _words(keywords.get("remedy"))
            status = ast.unparse(keywords["exit_code"]) if "exit_code" in keywords else ""
            rows.append(Code(first.value, status, wanted, remedy, name))
    return rows


def all_raised(house: str) -> list[Code]:
    """The refusals a house raises with literal codes, in the order of its files."""
    rows = []
    for path in python_files(ROOT, house):
        rows += raised_codes(module_name(ROOT, path), ast.parse(path.read_text(encoding="utf-8")))
    return rows


def _words(node: ast.expr | None) -> str:
    """A text as written; what is filled in at run time stands as an ellipsis."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else "…" for v in node.values)
    return ""


def setting_tables() -> list[tuple[str, tuple[Any, ...]]]:
    """`(module, rows)` of every settings table of the programs that read variables."""
    found = []
    for house in ("central", "site_bundle"):
        for path in python_files(ROOT, house):
            if path.name == "settings.py" and "kernel" not in path.parts:
                name = module_name(ROOT, path)
                module = importlib.import_module(name)
                rows = getattr(module, "SETTINGS", None) or getattr(module, "TABLE", None) or ()
                found.append((name, tuple(rows)))
    return found


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table; pipes in cells are escaped."""
    lines = [list(head)]
    lines += [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def setting_rows(rows: tuple[Any, ...]) -> list[list[str]]:
    """Name, default, readers, meaning of each setting."""
    cells = []
    for row in rows:
        name = f"`{row.name}`" + (f", `{row.name}_FILE`" if row.secret else "")
        default = getattr(row, "default", None)
        required = getattr(row, "required", default is None)
        shown = "required" if required else ("empty" if default in {None, ""} else f"`{default}`")
        kind = getattr(row, "kind", "")
        readers = ", ".join(sorted(getattr(row, "processes", ())))
        group = f" Group `{row.group}`: all of it or none." if getattr(row, "group", None) else ""
        notes = "; ".join(part for part in (kind, f"read by {readers}" if readers else "") if part)
        meaning = row.meaning.rstrip(".") + (f" ({notes})" if notes else "")
        cells.append([name, shown, f"{meaning}.{group}"])
    return cells


def settings_page() -> str:
    """docs/settings.md."""
    text = f"# Settings\n\n{NOTE}\n{SETTINGS_HEAD}"
    for name, rows in setting_tables():
        text += f"\n## `{name}`\n\n" + (
            table(("variable", "default", "meaning"), setting_rows(rows)) if rows else "None yet.\n"
        )
    text += "\n## Elsewhere\n\n" + table(
        ("variable", "meaning"), ([f"`{n}`", m] for n, m in OTHER_VARIABLES.items())
    )
    return text


def merged(rows: Iterable[Code]) -> list[Code]:
    """One row a code: the first with words wins."""
    best: dict[str, Code] = {}
    for row in rows:
        known = best.get(row.code)
        if known is None or (not known.title and row.title):
            best[row.code] = row
    return [best[code] for code in sorted(best)]


SITE_EXITS = (
    ("0", "healthy"),
    ("1", "a bug"),
    ("2", "usage or settings"),
    ("3", "unhealthy, or a check failed"),
    ("4", "not running"),
)
TITLES = {
    "installer": "the installer",
    "release": "the release tool",
    "site_bundle": "the site components",
    "central": "central's own processes",
}


def errors_page() -> str:
    """docs/errors.md."""
    refusal = importlib.import_module("installer.domain.refusal")
    exits = {n: v for n, v in vars(refusal).items() if n.isupper() and isinstance(v, int)}
    named = ([str(v), f"`{n.lower()}`"] for n, v in sorted(exits.items(), key=lambda item: item[1]))
    parts = [f"# Errors\n\n{NOTE}\n## Exit codes of the installer\n\n", table(("exit", "name"), named)]
    parts += ["\n130 and 143: interrupted, after what was begun was put back.\n"]
    parts += ["\n## Exit codes of the site components\n\n", table(("exit", "meaning"), SITE_EXITS)]
    specs = sorted((spec for _, spec in problem_specs()), key=lambda spec: str(spec.code))
    rows = ([f"`{s.code}`", str(s.status), s.title, s.meaning, s.remedy] for s in specs)
    parts += ["\n## Problems of central (RFC 9457)\n\n"]
    parts += [table(("code", "status", "title", "when", "remedy"), rows)]
    parts += [refusals_of(house, {spec.code for spec in specs}, exits) for house in TITLES]
    return "".join([*parts, checks_section()])


def refusals_of(house: str, problems: set[str], exits: Mapping[str, int]) -> str:
    """The section of a house, or nothing."""
    tabled = [row for row in code_tables() if row.where.startswith(house)]
    raised = [row for row in all_raised(house) if house != "central" or row.code not in problems]
    rows = merged([*tabled, *raised])
    if not rows:
        return ""
    head = ("code", "exit", "meaning or what is wanted", "remedy", "raised in")
    cells = ([f"`{r.code}`", _exit(r.status, exits), r.title, r.remedy, f"`{r.where}`"] for r in rows)
    return f"\n## Refusals of {TITLES[house]}\n\n" + table(head, cells)


def checks_section() -> str:
    """The installer's named checks."""
    checks = importlib.import_module("installer.domain.checks").CHECKS.values()
    cells = (
        [f"`{c.id}`", c.title, ", ".join(c.guards), c.severity, "yes" if c.waivable else "no"] for c in checks
    )
    head = ("check", "holds when", "guards", "severity", "waivable")
    return "\n## Checks of the installer\n\n" + table(head, cells)


def _exit(status: str, exits: Mapping[str, int]) -> str:
    named = [str(exits[name]) for name in re.findall(r"\w+", status) if name in exits]
    return " or ".join(named) or status


def openapi() -> str:
    """docs/openapi.json."""
    return json.dumps(http_api.document(), indent=1, ensure_ascii=False) + "\n"


def messages() -> str:
    """docs/messages.schema.json."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    document = {"$schema": dialect, "title": "Pharos HPC messages", "$defs": message_schemas.MESSAGES}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


PAGES = {
    "settings.md": settings_page,
    "errors.md": errors_page,
    "openapi.json": openapi,
    "messages.schema.json": messages,
}


def _with_help(path: Path) -> str:
    return help_blocks.filled(path.read_text(encoding="utf-8"))


def main(arguments: list[str]) -> int:
    """Write the pages, or with --check say whether they are current."""
    stale = 0
    texts = {ROOT / "docs" / name: page for name, page in PAGES.items()}
    texts |= {path: partial(_with_help, path) for path in help_blocks.pages() if path not in texts}
    for path, page in texts.items():
        wanted, name = page(), path.name
        found = path.read_text(encoding="utf-8") if path.exists() else ""
        if "--check" not in arguments:
            path.write_text(wanted, encoding="utf-8")
        elif found != wanted:
            stale = 1
            lines = difflib.unified_diff(found.splitlines(), wanted.splitlines(), name, "from the code", n=0)
            sys.stderr.write("\n".join([*list(lines)[:12], f"{name} is out of date: make docs", ""]))
    return stale


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main(sys.argv[1:]))
