"""A machine that cannot carry a host says so; a changed seed is another tree."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.errors import LabUnavailableError
from tests.lab.prerequisites import PACKAGE_OF, POLICY_TEXT, obstacles, remove_stale_policy, require
from tests.lab.registry import Registry
from tests.lab.tree import SCRIPT, SEED, recipe_digest

ROOT = Path(__file__).parents[2]
ONE_TEST = "tests/lab/test_hosts.py::test_all_services_answer"


def test_without_root_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LabUnavailableError, match="not root: run as root"):
        require()


def test_without_the_commands_and_apt_it_names_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert any("systemd-nspawn" in line and "use Debian 12 or 13" in line for line in obstacles())


FAKE_APT = """#!/bin/sh
echo "$* policy:$([ -x "$POLICY" ] && "$POLICY"; echo $?)" >>"$LOG"
case " $* " in *" install "*) [ -z "$BROKEN" ] || exit 100
  for command in $WANTED; do echo '#!/bin/sh' >"$BIN/$command"; /bin/chmod 755 "$BIN/$command"; done ;;
esac
"""


@pytest.mark.parametrize("broken", ["", "1"])
def test_packages_are_installed_so_that_no_service_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, broken: str
) -> None:
    """invoke-rc.d asks policy-rc.d: it stands with 101 while apt-get runs, and is gone afterwards."""
    policy, log, commands = tmp_path / "policy-rc.d", tmp_path / "log", tmp_path / "bin"
    commands.mkdir()
    (commands / "apt-get").write_text(FAKE_APT)
    (commands / "apt-get").chmod(0o755)
    monkeypatch.setattr("tests.lab.prerequisites.POLICY", policy)
    monkeypatch.setattr("tests.lab.prerequisites.obstacles", list)
    settings = {"PATH": commands, "POLICY": policy, "LOG": log, "BIN": commands, "BROKEN": broken}
    for name, value in {**settings, "WANTED": " ".join(PACKAGE_OF)}.items():
        monkeypatch.setenv(name, str(value))
    if broken:
        with pytest.raises(LabUnavailableError, match="apt-get could not install"):
            require(Registry(tmp_path / "registry"))
    else:
        require(Registry(tmp_path / "registry"))
    update, install = log.read_text().splitlines()
    assert " update policy:101" in update
    assert "--no-install-recommends iproute2 mmdebstrap openssh-client" in install
    assert install.endswith("policy:101")
    assert not policy.exists()


def one_test(lab: str) -> subprocess.CompletedProcess[str]:
    """Run one host test in a pytest of its own, on a machine whose root is taken away."""
    code = (
        "import os, sys, pytest; os.geteuid = lambda: 1000;"
        "sys.exit(pytest.main(['-q', '-rs', '-p', 'no:cacheprovider', sys.argv[1]]))"
    )
    env = {**os.environ, "LAB": lab}
    return subprocess.run(
        [sys.executable, "-c", code, ONE_TEST], cwd=ROOT, env=env, capture_output=True, text=True, timeout=120
    )


def test_host_tests_fail_where_no_host_can_be() -> None:
    done = one_test("")
    assert done.returncode == 1
    assert "not root" in done.stdout
    assert "LAB=off skips" in done.stdout


def test_lab_off_skips_and_says_so() -> None:
    done = one_test("off")
    assert done.returncode == 0, done.stdout
    assert "1 skipped" in done.stdout
    assert "LAB=off" in done.stdout


@pytest.mark.parametrize("change", ["content", "mode", "name", "script"])
def test_a_changed_recipe_is_another_tree(tmp_path: Path, change: str) -> None:
    seed, script = tmp_path / "seed", tmp_path / "build-tree.sh"
    shutil.copytree(SEED, seed)
    shutil.copy(SCRIPT, script)
    assert recipe_digest(script, seed) == recipe_digest()
    victim = seed / "sssd.conf"
    if change == "content":
        victim.write_text(victim.read_text() + "\n")
    elif change == "mode":
        victim.chmod(0o755)
    elif change == "name":
        victim.rename(seed / "zssd.conf")
    else:
        script.write_text(script.read_text() + "\n")
    assert recipe_digest(script, seed) != recipe_digest()


def test_a_policy_of_the_machines_own_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    monkeypatch.setattr("tests.lab.prerequisites.POLICY", policy)
    remove_stale_policy()
    policy.write_text("#!/bin/sh\nexit 101\n")
    remove_stale_policy()
    assert policy.exists()
    policy.write_text(POLICY_TEXT)
    remove_stale_policy()
    assert not policy.exists()


@pytest.mark.parametrize("verb", ["build", "reclaim"])
def test_lab_off_lets_the_steps_before_the_tests_pass(verb: str) -> None:
    env = {**os.environ, "LAB": "off", "PATH": "/nowhere"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.lab", verb],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert "LAB=off" in done.stderr
