"""The units as files: rendered, scored, started by the console script, no secret inside (I02, I05, I7, I10,
I17).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
UNITS = ROOT / "units"
TEMPLATE = UNITS / "pharos-ssh-access.service.j2"
VALUES = {
    "release_root": "/opt/pharos-hpc",
    "component": "ssh-access",
    "credentials_dir": "/etc/pharos-hpc/credentials",
}
NAME = re.compile(r"\{\{ ([a-z_]+) \}\}")


def render(**values: str) -> str:
    """As the installer renders: plain names, an undefined one is an error."""
    return NAME.sub(lambda match: values[match[1]], TEMPLATE.read_text())


UNIT = render(**VALUES)


def directive(name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", UNIT, re.MULTILINE)


def test_only_plain_names_are_rendered() -> None:
    assert set(NAME.findall(TEMPLATE.read_text())) == set(VALUES)
    assert "{" not in UNIT
    assert "%" not in UNIT.replace("%d/", "")


def test_starts_the_console_script_of_pyproject() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    (start,) = directive("ExecStart")
    path, verb = start.split(" ")
    assert path == "/opt/pharos-hpc/components/ssh-access/current/venv/bin/pharos-ssh-access"
    assert Path(path).name in scripts
    assert verb == "run"


def test_runs_as_its_own_user() -> None:
    (user,), (group,) = directive("User"), directive("Group")
    assert user == group == "pharos-ssh-access"
    made = (UNITS / "sysusers.d" / "pharos-hpc.conf").read_text()
    assert re.search(rf"^u +{user} +- ", made, re.MULTILINE)
    assert "SupplementaryGroups" not in UNIT


def test_I02_credential_has_a_path() -> None:
    """The long form: a missing file fails the start."""
    (load,) = directive("LoadCredential")
    assert load == "site-api-token:/etc/pharos-hpc/credentials/ssh-access/site-api-token"


def test_no_secret_in_the_unit() -> None:
    assert directive("Environment") == [
        "PHAROS_SITE_API_TOKEN_FILE=%d/site-api-token",
        "PYTHONDONTWRITEBYTECODE=1",
    ]
    assert "phs1_" not in UNIT
    assert directive("SetCredential") == []


def test_I05_restarts_without_a_limit() -> None:
    assert directive("StartLimitIntervalSec") == ["0"]
    assert directive("Restart") == ["on-failure"]
    assert directive("RestartSec") == ["5"]


def test_settings_errors_are_not_retried() -> None:
    assert directive("RestartPreventExitStatus") == ["2"]


def test_I06_notifies_and_is_watched() -> None:
    assert directive("Type") == ["notify"]
    assert directive("NotifyAccess") == ["main"]
    assert int(directive("WatchdogSec")[0]) >= 2 * (50 + 30)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LimitCORE", "0"),
        ("OOMPolicy", "stop"),
        ("SocketBindDeny", "any"),
        ("IPAddressDeny", "multicast"),
        ("NoNewPrivileges", "yes"),
        ("CapabilityBoundingSet", ""),
        ("MemoryDenyWriteExecute", "yes"),
        ("ProtectSystem", "strict"),
    ],
)
def test_directives(name: str, value: str) -> None:
    assert directive(name) == [value]


def test_every_directive_has_its_reason() -> None:
    """units/README.md names each directive of the service, alone or by a family (`ProtectKernel*=`)."""
    named = re.findall(r"`([A-Za-z]+)(\*?)=", (UNITS / "README.md").read_text())
    exact, families = {n for n, star in named if not star}, tuple(n for n, star in named if star)
    used = set(re.findall(r"^([A-Za-z]+)=", UNIT, re.MULTILINE)) - {"Description", "WantedBy"}
    assert {name for name in used if name not in exact and not name.startswith(families)} == set()


def test_readme_names_no_directive_that_is_gone() -> None:
    text = (UNITS / "README.md").read_text().partition("Not set on purpose")[0]
    named = re.findall(r"^\| (.+?) \|", text, re.MULTILINE)
    used = set(re.findall(r"^([A-Za-z]+)=", UNIT, re.MULTILINE))
    listed = {n for cell in named for n in re.findall(r"`([A-Z][A-Za-z]+)=", cell)}
    assert listed - used == set()


def test_tests_named_in_the_readme_exist() -> None:
    text = (UNITS / "README.md").read_text()
    own = Path(__file__).read_text()
    missing = [n for n in re.findall(r"`(test_[A-Za-z0-9_]+)`", text) if f"def {n}(" not in own]
    assert missing == []
    assert [p for p in re.findall(r"`(tests/[a-z_/]+\.py)`", text) if not (ROOT / p).is_file()] == []


@pytest.fixture
def rendered(tmp_path: Path) -> Path:
    path = tmp_path / "pharos-ssh-access.service"
    path.write_text(UNIT)
    return path


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    tool = shutil.which("systemd-analyze")
    assert tool, "systemd-analyze is missing (package systemd)"
    command = [tool, *arguments, "--no-pager"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_exposure_is_at_most_1_5(rendered: Path) -> None:
    done = analyze("security", "--offline=true", "--threshold=15", str(rendered))
    assert done.returncode == 0, done.stdout[-2000:]


def test_exposure_sees_a_weakened_unit(rendered: Path) -> None:
    weak = "\n".join(
        line for line in UNIT.splitlines() if not line.startswith(("SystemCall", "PrivateUsers"))
    )
    rendered.write_text(weak)
    assert analyze("security", "--offline=true", "--threshold=15", str(rendered)).returncode != 0


def test_verify_finds_no_unknown_key(rendered: Path) -> None:
    """A misspelt key passes plain `verify`; the missing program of another host is the only complaint
    allowed.
    """
    done = analyze("verify", "--recursive-errors=yes", str(rendered))
    complaints = [line for line in done.stderr.splitlines() if "pharos-ssh-access" in line]
    assert [line for line in complaints if "is not executable" not in line] == []
    rendered.write_text(UNIT.replace("ProtectHome=", "ProtectHomes="))
    assert "ProtectHomes" in analyze("verify", "--recursive-errors=yes", str(rendered)).stderr


def test_folders_are_root_owned_and_credentials_private() -> None:
    rows = {}
    for line in (UNITS / "tmpfiles.d" / "pharos-hpc.conf").read_text().splitlines():
        if line and not line.startswith("#"):
            kind, path, mode, user, group, age = line.split()
            rows[path] = (kind, mode, user, group, age)
    assert rows["/etc/pharos-hpc/credentials"][1] == "0700"
    assert {row[2:4] for row in rows.values()} == {("root", "root")}
    assert {row[0] for row in rows.values()} == {"d"}
