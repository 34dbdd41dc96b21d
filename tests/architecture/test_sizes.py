"""No module over 400 lines (docs/architecture.md); generated files would be named here, with a date."""

from __future__ import annotations

from tests.architecture.sources import ROOT, Module, files, modules

LIMIT = 400
SHELL_LIMIT = {"install.sh": 80}


def too_long(module: Module) -> bool:
    """Whether the module has more lines than allowed."""
    return len(module.text.splitlines()) > LIMIT


def test_modules() -> None:
    assert [f"{m.name} {len(m.text.splitlines())}" for m in modules() if too_long(m)] == []


def test_launcher_stays_thin() -> None:
    for path, limit in SHELL_LIMIT.items():
        if path in files():
            assert len((ROOT / path).read_text(encoding="utf-8").splitlines()) < limit, f"{path} (I2)"


def test_rule_sees() -> None:
    assert too_long(Module("a", "x = 1\n" * (LIMIT + 1)))
    assert not too_long(Module("a", "x = 1\n" * LIMIT))
