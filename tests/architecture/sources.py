"""The repository as its rules see it: files under version control, modules, what they import."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOUSES = ("central", "site_bundle", "installer")


@dataclass(frozen=True, slots=True)
class Module:
    """One Python file by its dotted name."""

    name: str
    text: str
    package: bool = False

    @property
    def tree(self) -> ast.Module:
        """The parsed source."""
        return ast.parse(self.text)


@cache
def files() -> tuple[str, ...]:
    """Every file git tracks or would track, as relative POSIX paths, sorted."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return tuple(sorted(path for path in listed.split("\0") if path and (ROOT / path).is_file()))


@cache
def modules() -> tuple[Module, ...]:
    """Every Python file of the repository."""
    return tuple(read_module(path) for path in files() if path.endswith(".py"))


def product_modules() -> tuple[Module, ...]:
    """Those that run in production or build what does: the three houses and release."""
    return tuple(m for m in modules() if top(m.name) in {*HOUSES, "release"})


def read_module(path: str) -> Module:
    """The file at `path` as a module."""
    parts = path.removesuffix(".py").split("/")
    package = parts[-1] == "__init__"
    return Module(
        ".".join(parts[:-1] if package else parts), (ROOT / path).read_text(encoding="utf-8"), package
    )


def top(name: str) -> str:
    """The first part of a dotted name."""
    return name.partition(".")[0]


def imports(module: Module) -> Iterator[tuple[str, int]]:
    """Dotted names a module imports anywhere in it, with their lines; relative ones made absolute."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(module, node)
            for alias in node.names:
                yield f"{base}.{alias.name}", node.lineno


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    kept = parts[: len(parts) - node.level + (1 if module.package else 0)]
    return ".".join([*kept, node.module] if node.module else kept)
