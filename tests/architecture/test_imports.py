"""Who may import whom (docs/architecture.md): the houses, their rooms, and what a domain may touch."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from typing import Any, TypeGuard

import pytest

from tests.architecture.sources import HOUSES, Module, imports, modules, product_modules, top

HOUSE_MAY_IMPORT = {
    "central": ("central",),
    "site_bundle": ("site_bundle",),
    "installer": ("installer",),
    "release": ("release", "installer.domain", "installer.bootstrap"),
}
"""X10: what the houses share is data. `release` shares the manifest model and the verifier."""

LAYERS = {
    "domain": ("domain",),
    "application": ("domain", "application"),
    "adapters": ("domain", "application", "adapters"),
    "entrypoints": ("domain", "application", "entrypoints"),
}
"""Inside a context. An entrypoint never names an adapter: composition roots hand it over."""

ROOTS = (
    "central.processes",
    "central.cli",
    "central.commands",
    "central.dev",
    "installer.cli",
    "installer.phases",
)
SHARED_CONTEXTS = {"central.grants": ("entrypoints",), "central.identity": ("entrypoints",)}
"""Contexts every HTTP entrypoint may use: who is calling."""

NO_CONTEXTS = ("kernel", "processes", "dev")
"""Folders of a house that are no context."""

IMPURE_MODULES = frozenset(
    re.findall(
        r"\w+",
        "asyncio concurrent ctypes fcntl glob http logging multiprocessing os pathlib random secrets select "
        "shutil signal socket socketserver sqlite3 ssl subprocess sys tempfile threading time urllib",
    )
)
PURE_PARTS = frozenset(
    {"pathlib.PurePath", "pathlib.PurePosixPath", "urllib.parse"}
    | {f"urllib.parse.{name}" for name in ("urlsplit", "urlunsplit", "quote", "unquote", "SplitResult")}
)
IMPURE_CALLS = {"open", "input", "print", "breakpoint", "exec", "eval"}
IMPURE_METHODS = {("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today"), ("date", "today")} | {
    ("uuid", "uuid1"),
    ("uuid", "uuid4"),
}
DOMAIN_LIBRARIES = ("msgspec",)
KERNEL_FOR_DOMAIN = {
    "central": (
        "central.kernel.times",
        "central.kernel.units",
        "central.kernel.errors",
        "central.kernel.integers",
        "central.kernel.site_feed",
        "central.kernel.site_names",
        "central.kernel.secret_digests",
        "central.kernel.uuids",
    ),
    "site_bundle": ("site_bundle.kernel.times", "site_bundle.kernel.ranges", "site_bundle.kernel.errors"),
}


def within(name: str, allowed: Iterable[str]) -> bool:
    """Whether `name` is one of `allowed` or below it."""
    return any(name == prefix or name.startswith(prefix + ".") for prefix in allowed)


def house_faults(module: Module) -> list[str]:
    """Imports that leave the module's house; nothing of the product imports tests."""
    ours = {*HOUSES, "release", "tests"}
    allowed = HOUSE_MAY_IMPORT.get(top(module.name), tuple(ours))
    return [
        f"{module.name}:{line} imports {name}"
        for name, line in imports(module)
        if top(name) in ours and not within(name, allowed)
    ]


def context_of(name: str) -> tuple[str, str] | None:
    """`("central.ssh_access", "domain")` for a module in a layer of a context, `("central.ssh_access", "")`
    for one beside the layers, such as its problems; None outside the contexts.
    """
    parts = name.split(".")
    if len(parts) < 3 or parts[0] not in HOUSES or parts[1] in NO_CONTEXTS:
        return None
    if parts[2] in LAYERS:
        return ".".join(parts[:2]), parts[2]
    return (".".join(parts[:2]), "") if parts[0] == "central" else None


def layer_faults(module: Module) -> list[str]:
    """Imports against the direction domain ← application ← adapters, entrypoints, or into another context."""
    here = context_of(module.name)
    if here is None or module.name.startswith(ROOTS):
        return []
    faults = []
    for name, line in imports(module):
        there = context_of(name)
        if there is None:
            continue
        same = there[0] == here[0]
        shared = here[1] in SHARED_CONTEXTS.get(there[0], ()) and there[1] != "adapters"
        inside = not here[1] or not there[1] or there[1] in LAYERS[here[1]]
        if not (inside if same else shared):
            faults.append(f"{module.name}:{line} imports {name}")
    return faults


def room_faults(module: Module) -> list[str]:
    """A kernel knows no context; a site component knows no other component."""
    parts = module.name.split(".")
    faults = []
    for name, line in imports(module):
        other = name.split(".")
        if other[0] != parts[0] or len(other) < 2 or len(parts) < 2:
            continue
        kernel_out = parts[1] == "kernel" and other[1] != "kernel"
        components = {"ssh_access", "runtime", "reporter"}
        sideways = parts[0] == "site_bundle" and {parts[1], other[1]} <= components and parts[1] != other[1]
        if kernel_out or sideways:
            faults.append(f"{module.name}:{line} imports {name}")
    return faults


def purity_faults(module: Module) -> list[str]:
    """I/O, clocks, randomness, logging and foreign libraries in a module of a `domain` folder."""
    if "domain" not in module.name.split("."):
        return []
    faults = []
    for name, line in imports(module):
        library = top(name)
        foreign = library not in sys.stdlib_module_names and library not in {*HOUSES, *DOMAIN_LIBRARIES}
        impure = library in IMPURE_MODULES and name not in PURE_PARTS
        own = library in HOUSES and "domain" not in name.split(".")
        if foreign or impure or (own and not within(name, KERNEL_FOR_DOMAIN.get(library, ()))):
            faults.append(f"{module.name}:{line} imports {name}")
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and _impure(node.func):
            faults.append(f"{module.name}:{node.lineno} calls {ast.unparse(node.func)}")
    return faults


def _impure(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in IMPURE_CALLS | {"uuid4", "uuid1"}
    if isinstance(function, ast.Attribute):
        owner = ast.unparse(function.value).rpartition(".")[2]
        return (owner, function.attr) in IMPURE_METHODS
    return False


def closure_faults(start: str, known: dict[str, Module]) -> list[str]:
    """What a module below `start` reaches outside the standard library and our own modules (I2, I4)."""
    faults, todo, seen = [], [name for name in known if within(name, (start,))], set[str]()
    while todo:
        current = known[todo.pop()]
        if current.name in seen:
            continue
        seen.add(current.name)
        for name, line in imports(current):
            if top(name) == top(start):
                target = name if name in known else name.rpartition(".")[0]
                todo += [target] if target in known else []
            elif top(name) not in sys.stdlib_module_names:
                faults.append(f"{current.name}:{line} imports {name}")
    return faults


@pytest.mark.parametrize(
    "rule", [house_faults, layer_faults, room_faults, purity_faults], ids=lambda f: f.__name__
)
def test_product_keeps(rule: object) -> None:
    assert callable(rule)
    assert [fault for module in product_modules() for fault in rule(module)] == []


def test_bootstrap_needs_the_standard_library_alone() -> None:
    known = {m.name: m for m in modules() if top(m.name) == "installer"}
    assert closure_faults("installer.bootstrap", known) == []
    rooms = {
        n.split(".")[1]
        for m in known.values()
        if within(m.name, ("installer.bootstrap",))
        for n, _ in imports(m)
        if top(n) == "installer" and "." in n
    }
    assert rooms <= {"bootstrap", "domain"}


def test_tests_are_imported_by_tests_alone() -> None:
    assert [
        m.name
        for m in modules()
        if top(m.name) not in {"tests"} and any(top(n) == "tests" for n, _ in imports(m))
    ] == []


SHARED = re.compile(r"\btests\.(\w+\.)*test_\w+")


def shared_test_faults(module: Module) -> list[str]:
    """What a test module shares stands beside it: an import would run its fixtures and parameters elsewhere,
    and bind two files together that are run apart. Code in a string is code.
    """
    texts = [(node.value, node.lineno) for node in ast.walk(module.tree) if _is_text(node)]
    named = [*imports(module), *(found for found in texts if "import" in found[0])]
    return [f"{module.name}:{line} imports {hit[0]}" for text, line in named for hit in SHARED.finditer(text)]


def _is_text(node: ast.AST) -> TypeGuard[Any]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_nothing_is_imported_from_a_test_module() -> None:
    everywhere = [m for m in modules() if m.name != __name__]
    assert [fault for module in everywhere for fault in shared_test_faults(module)] == []


PLANTED = [
    (shared_test_faults, "tests.unit.test_a", "from tests.unit.test_b import fixture"),
    (shared_test_faults, "tests.unit.conftest", "from .test_b import fixture"),
    (shared_test_faults, "tests.unit.test_a", "run('from tests.unit.test_b import ACTS')"),
    (house_faults, "central.kernel.http", "from site_bundle.kernel import journal"),
    (house_faults, "site_bundle.kernel.http", "import installer.domain.plan"),
    (house_faults, "release.build", "from installer.phases import install"),
    (house_faults, "installer.cli", "def f():\n    import tests.simulators"),
    (layer_faults, "central.ssh_access.domain.key", "from central.ssh_access.application import ports"),
    (layer_faults, "central.ssh_access.application.add", "from central.ssh_access.adapters.store import S"),
    (
        layer_faults,
        "central.ssh_access.entrypoints.routes",
        "from central.ssh_access.adapters.store import S",
    ),
    (layer_faults, "central.ssh_access.adapters.store", "from central.projects.domain.party import Party"),
    (layer_faults, "central.ssh_access.entrypoints.routes", "from central.grants.adapters.store import S"),
    (layer_faults, "central.ssh_access.application.add", "from ..adapters import store"),
    (layer_faults, "central.provisioning.entrypoints.a", "from central.ssh_access.problems import FULL"),
    (layer_faults, "central.provisioning.problems", "from central.ssh_access.problems import FULL"),
    (layer_faults, "central.provisioning.problems", "from central.projects.domain.party import Party"),
    (room_faults, "central.kernel.http", "from central.grants import problems"),
    (room_faults, "site_bundle.reporter.main", "from site_bundle.ssh_access.domain import feed"),
    (purity_faults, "central.x.domain.a", "import os"),
    (purity_faults, "central.x.domain.a", "from pathlib import Path"),
    (purity_faults, "central.x.domain.a", "from datetime import datetime\nNOW = datetime.now()"),
    (purity_faults, "central.x.domain.a", "import datetime\nNOW = datetime.datetime.now(datetime.UTC)"),
    (purity_faults, "central.x.domain.a", "import uuid\nX = uuid.uuid4()"),
    (purity_faults, "central.x.domain.a", "def f(p: str) -> str:\n    return open(p).read()"),
    (purity_faults, "central.x.domain.a", "import urllib.request"),
    (purity_faults, "central.x.domain.a", "import psycopg"),
    (purity_faults, "central.x.domain.a", "from central.kernel import database"),
    (purity_faults, "central.x.domain.deep.a", "import logging"),
]


@pytest.mark.parametrize(("rule", "name", "text"), PLANTED)
def test_rule_sees(rule: object, name: str, text: str) -> None:
    assert callable(rule)
    assert rule(Module(name, text))


ALLOWED = [
    (
        shared_test_faults,
        "tests.unit.test_a",
        "from tests.unit.rig import made\nimport tests.latest_a",
    ),
    (house_faults, "release.build", "from installer.domain.manifest import Manifest"),
    (layer_faults, "central.ssh_access.adapters.store", "from central.ssh_access.application.ports import P"),
    (
        layer_faults,
        "central.ssh_access.entrypoints.routes",
        "from central.grants.entrypoints import site_caller",
    ),
    (
        purity_faults,
        "central.x.domain.a",
        "from pathlib import PurePosixPath\nfrom central.kernel.times import Clock",
    ),
    (purity_faults, "central.x.adapters.a", "import os"),
]


@pytest.mark.parametrize(("rule", "name", "text"), ALLOWED)
def test_rule_lets_pass(rule: object, name: str, text: str) -> None:
    assert callable(rule)
    assert rule(Module(name, text)) == []


def test_closure_rule_sees_what_is_reached_through_another_module() -> None:
    known = {
        "installer.bootstrap.main": Module(
            "installer.bootstrap.main", "from installer.domain.manifest import M"
        ),
        "installer.domain.manifest": Module("installer.domain.manifest", "import msgspec"),
    }
    assert closure_faults("installer.bootstrap", known) == ["installer.domain.manifest:1 imports msgspec"]
