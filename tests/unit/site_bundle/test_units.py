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
import yaml

from tests.unit.site_bundle.units import ALL, CREDENTIALS, NAME, OF_RUNTIME, ROOT, UNITS, USERS, VALUES, Unit


@pytest.fixture(params=ALL, ids=tuple(USERS))
def unit(request: pytest.FixtureRequest) -> Unit:
    chosen: Unit = request.param
    return chosen


def test_every_component_of_a_release_has_its_unit_here() -> None:
    described = yaml.safe_load((ROOT / "release/components.yaml").read_text())["components"]
    assert {name: entry["user"] for name, entry in described.items()} == USERS
    assert {entry["unit"] for entry in described.values()} == {path.stem for path in UNITS.glob("*.j2")}


def test_only_plain_names_are_rendered(unit: Unit) -> None:
    own = OF_RUNTIME if unit.component == "runtime" else {}
    assert set(NAME.findall(unit.template)) == {*VALUES, *own, "component"}
    assert "{" not in unit.text
    assert "%" not in unit.text.replace("%d/", "")


def test_starts_the_console_script_of_pyproject(unit: Unit) -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    (start,) = unit.directive("ExecStart")
    path, verb = start.split(" ")
    script = f"pharos-{unit.component}"
    assert path == f"/opt/pharos-hpc/components/{unit.component}/current/venv/bin/{script}"
    assert script in scripts
    assert verb == "run"


def test_runs_as_its_own_user(unit: Unit) -> None:
    (user,), (group,) = unit.directive("User"), unit.directive("Group")
    assert user == group == USERS[unit.component]
    made = (UNITS / "sysusers.d" / "pharos-hpc.conf").read_text()
    assert re.search(rf"^u +{user} +- ", made, re.MULTILINE)


def test_S4_members_group_is_the_runtimes_alone(unit: Unit) -> None:
    wanted = ["pharos-users"] if unit.component == "runtime" else []
    assert unit.directive("SupplementaryGroups") == wanted


def test_I02_credential_has_a_path(unit: Unit) -> None:
    """The long form: a missing file fails the start; no other component's is loaded (I7)."""
    folder = f"/etc/pharos-hpc/credentials/{unit.component}"
    wanted = [f"{name}:{folder}/{name}" for name in CREDENTIALS[unit.component]]
    assert unit.directive("LoadCredential") == wanted


def test_no_secret_in_the_unit(unit: Unit) -> None:
    files = [f"{variable}=%d/{name}" for name, variable in CREDENTIALS[unit.component].items()]
    assert unit.directive("Environment") == [*files, "PYTHONDONTWRITEBYTECODE=1"]
    assert "phs1_" not in unit.text
    assert unit.directive("SetCredential") == []


def test_state_and_status_have_folders_of_their_own(unit: Unit) -> None:
    for kind, mode in (("State", "0700"), ("Runtime", "0755")):
        assert unit.directive(f"{kind}Directory") == [f"pharos-{unit.component}"]
        assert unit.directive(f"{kind}DirectoryMode") == [mode]


def test_I05_restarts_without_a_limit(unit: Unit) -> None:
    assert unit.directive("StartLimitIntervalSec") == ["0"]
    assert unit.directive("Restart") == ["on-failure"]
    assert unit.directive("RestartSec") == ["5"]


def test_settings_errors_are_not_retried(unit: Unit) -> None:
    assert unit.directive("RestartPreventExitStatus") == ["2"]


def test_I06_notifies_and_is_watched(unit: Unit) -> None:
    assert unit.directive("Type") == ["notify"]
    assert unit.directive("NotifyAccess") == ["main"]
    assert int(unit.directive("WatchdogSec")[0]) >= 2 * (50 + 30)


def test_I17_nothing_takes_a_port_of_its_choice(unit: Unit) -> None:
    """The reporter's LDAP library binds each socket to port 0, any free one, before it connects."""
    wanted = {"ssh-access": "any", "reporter": "1-65535", "runtime": "1-65535"}
    assert unit.directive("SocketBindDeny") == [wanted[unit.component]]


def test_I7_each_sees_what_its_work_needs_and_no_more(unit: Unit) -> None:
    """The access agent has no business with Slurm, the reporter none with the directory's socket."""
    (hidden,) = unit.directive("InaccessiblePaths")
    wanted = {
        "ssh-access": "-/etc/slurm -/etc/munge -/run/munge -/scratch",
        "reporter": "-/etc/munge -/run/slapd -/scratch",
        "runtime": "-/etc/munge -/run/slapd",
    }
    assert hidden == wanted[unit.component]
    written = ["/scratch/pharos/.runtime"] if unit.component == "runtime" else []
    assert unit.directive("ReadWritePaths") == written


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LimitCORE", "0"),
        ("OOMPolicy", "stop"),
        ("IPAddressDeny", "multicast"),
        ("NoNewPrivileges", "yes"),
        ("CapabilityBoundingSet", ""),
        ("MemoryDenyWriteExecute", "yes"),
        ("ProtectSystem", "strict"),
    ],
)
def test_directives(unit: Unit, name: str, value: str) -> None:
    assert unit.directive(name) == [value]


def test_every_directive_has_its_reason() -> None:
    """units/README.md names each directive of the service, alone or by a family (`ProtectKernel*=`)."""
    named = re.findall(r"`([A-Za-z]+)(\*?)=", (UNITS / "README.md").read_text())
    exact, families = {n for n, star in named if not star}, tuple(n for n, star in named if star)
    used = {name for each in ALL for name in each.directives} - {"Description", "WantedBy"}
    assert {name for name in used if name not in exact and not name.startswith(families)} == set()


def test_readme_names_no_directive_that_is_gone() -> None:
    text = (UNITS / "README.md").read_text().partition("Not set on purpose")[0]
    named = re.findall(r"^\| (.+?) \|", text, re.MULTILINE)
    used = {name for each in ALL for name in each.directives}
    listed = {n for cell in named for n in re.findall(r"`([A-Z][A-Za-z]+)=", cell)}
    assert listed - used == set()


def test_tests_named_in_the_readme_exist() -> None:
    text = (UNITS / "README.md").read_text()
    own = Path(__file__).read_text()
    missing = [n for n in re.findall(r"`(test_[A-Za-z0-9_]+)`", text) if f"def {n}(" not in own]
    assert missing == []
    assert [p for p in re.findall(r"`(tests/[a-z_/]+\.py)`", text) if not (ROOT / p).is_file()] == []


@pytest.fixture
def rendered(unit: Unit, tmp_path: Path) -> Path:
    path = tmp_path / f"pharos-{unit.component}.service"
    path.write_text(unit.text)
    return path


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    tool = shutil.which("systemd-analyze")
    assert tool, "systemd-analyze is missing (package systemd)"
    command = [tool, *arguments, "--no-pager"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_exposure_is_at_most_1_5(rendered: Path) -> None:
    done = analyze("security", "--offline=true", "--threshold=15", str(rendered))
    assert done.returncode == 0, done.stdout[-2000:]


def test_exposure_sees_a_weakened_unit(unit: Unit, rendered: Path) -> None:
    weak = "\n".join(
        line for line in unit.text.splitlines() if not line.startswith(("SystemCall", "PrivateUsers"))
    )
    rendered.write_text(weak)
    assert analyze("security", "--offline=true", "--threshold=15", str(rendered)).returncode != 0


def test_verify_finds_no_unknown_key(unit: Unit, rendered: Path) -> None:
    """A misspelt key passes plain `verify`; the missing program of another host is the only complaint
    allowed.
    """
    done = analyze("verify", "--recursive-errors=yes", str(rendered))
    complaints = [line for line in done.stderr.splitlines() if rendered.stem in line]
    assert [line for line in complaints if "is not executable" not in line] == []
    rendered.write_text(unit.text.replace("ProtectHome=", "ProtectHomes="))
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
