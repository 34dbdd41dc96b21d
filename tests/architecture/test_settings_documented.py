"""Every setting is in one table, and docs/settings.md is what the tables say (X6)."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

from installer.domain.settings import SETTINGS
from tests.architecture.generated import generate
from tests.architecture.sources import ROOT, Module, files, product_modules

VARIABLE = re.compile(r"(?:PHAROS|RESOURCE_PROVISIONING)_[A-Z0-9]+(?:_[A-Z0-9]+)*")
IN_SHELL = re.compile(r"\bPHAROS_[A-Z0-9_]*[A-Z0-9]\b")


def variables(module: Module) -> set[str]:
    """Variables a module names whole in a text (not in its docstrings' prose)."""
    texts = (
        n.value for n in ast.walk(module.tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)
    )
    return {text for text in texts if VARIABLE.fullmatch(text)}


def documented() -> set[str]:
    """Every variable docs/settings.md names."""
    page: str = generate().settings_page()
    return {name for name in re.findall(r"`([A-Z0-9_]+)`", page) if VARIABLE.fullmatch(name)}


def duplicated(rows: list[str]) -> list[str]:
    """Names that stand twice in one table."""
    return sorted({name for name in rows if rows.count(name) > 1})


def test_pages_are_current() -> None:
    command = [sys.executable, "docs/generate.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_every_variable_in_the_code_is_documented() -> None:
    named = set().union(*(variables(m) for m in product_modules()))
    assert named - documented() == set()


def test_every_variable_of_install_sh_is_documented() -> None:
    scripts = [path for path in files() if path == "install.sh"]
    named = set().union(*(IN_SHELL.findall((ROOT / path).read_text(encoding="utf-8")) for path in scripts))
    assert named - documented() == set()


def test_other_variables_are_really_used() -> None:
    text = "".join(m.text for m in product_modules()) + (ROOT / "install.sh").read_text(encoding="utf-8")
    assert [name for name in generate().OTHER_VARIABLES if name not in text] == []


def test_tables_name_a_variable_once_and_say_what_it_means() -> None:
    tables = generate().setting_tables()
    assert len(tables) >= 2
    for module, rows in tables:
        assert rows, module
        assert duplicated([row.name for row in rows]) == []
        names = {row.name: row.name.replace("<SITE>", "SITE") for row in rows}
        assert [row.name for row in rows if not row.meaning or not VARIABLE.fullmatch(names[row.name])] == []


def test_installer_renders_what_the_component_reads() -> None:
    """Both ends of `/etc/pharos-hpc/<component>.env` name the same variables (docs/architecture.md)."""
    rendered = {row.name for rows in SETTINGS.values() for row in rows}
    read = {
        row.name for module, rows in generate().setting_tables() if module.startswith("site_") for row in rows
    }
    assert rendered - read == set()


def test_rules_see() -> None:
    assert variables(Module("a", 'import os\nX = os.environ["PHAROS_SECRET_SWITCH"]')) == {
        "PHAROS_SECRET_SWITCH"
    }
    assert variables(Module("a", '"""PHAROS_X is told of here."""')) == set()
    assert duplicated(["A", "B", "A"]) == ["A"]


def test_check_mode_sees_a_stale_page(tmp_path: Path) -> None:
    copy = tmp_path / "docs"
    copy.mkdir()
    for house in ("central", "site_bundle", "installer", "release"):
        (tmp_path / house).symlink_to(ROOT / house)
    (tmp_path / "README.md").write_text("# Nothing\n")
    for script in (ROOT / "docs").glob("*.py"):
        (copy / script.name).write_text(script.read_text(encoding="utf-8"))
    command = [sys.executable, "-B", str(copy / "generate.py")]
    assert subprocess.run(command, timeout=60, check=False).returncode == 0
    assert subprocess.run([*command, "--check"], timeout=60, check=False).returncode == 0
    page = copy / "settings.md"
    page.write_text(page.read_text(encoding="utf-8").replace("PHAROS_SITE_API_URL", "PHAROS_OTHER_URL"))
    stale = subprocess.run([*command, "--check"], capture_output=True, text=True, timeout=60, check=False)
    assert stale.returncode == 1
    assert "PHAROS_OTHER_URL" in stale.stderr
