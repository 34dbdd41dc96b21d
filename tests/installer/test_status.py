"""What ``status`` answers, and with which exit code: unreadable is neither absent nor fine (X1, I1, I13)."""

import json
import os

import pytest

from tests.installer.rig import Rig
from tests.installer.systemctl import Behaviour

NOBODY = 65534


def as_nobody(rig: Rig, *arguments: str) -> tuple[int, str]:
    """The command line run by an unprivileged user, in a process of its own; exit code and stdout."""
    rig.root.parent.chmod(0o755)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.close(reading)
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            result = rig.run(*arguments)
            os.write(writing, result.stdout.encode())
            code = result.code
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as said:
        text = said.read()
    _, ended = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(ended), text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_x1_what_another_user_cannot_read_is_not_none(rig: Rig, active: str) -> None:
    code, text = as_nobody(rig, "status")
    assert code == 4
    assert "wanted   <unreadable>" in text and f"linked   {active}" in text
    assert "ssh-access: CANNOT TELL" in text and "Permission denied" in text
    assert "none" not in text.split("wanted")[1].splitlines()[0]
    faults = [line for line in text.splitlines() if line.startswith("unreadable: ")]
    assert faults and len(faults) == len(set(faults)), "each fault once"
    assert "Run it as root" in text
    code, text = as_nobody(rig, "status", "--json")
    answer = json.loads(text.splitlines()[-1])
    assert (code, answer["ok"], answer["exitCode"], answer["bad"]) == (4, False, 4, None)
    assert answer["components"]["ssh-access"]["wanted"] == "<unreadable>"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_x1_releases_that_cannot_be_listed_are_not_none(rig: Rig, active: str) -> None:
    rig.paths.releases.chmod(0o700)
    code, text = as_nobody(rig, "status")
    assert code == 4 and "releases: <unreadable>" in text


def test_i1_nothing_installed_is_proven_and_fine(rig: Rig) -> None:
    result = rig.run("status")
    assert result.code == 0 and "not active" in result.stdout and "releases: none" in result.stdout


def test_i13_as_wanted_is_0_and_anything_else_is_not(rig: Rig, active: str) -> None:
    assert rig.run("status").code == 0
    rig.fake.behaviours[active] = Behaviour(status_code=3)
    result = rig.run("status")
    assert result.code == 3 and "NOT AS WANTED" in result.stdout
    answer = rig.run("status", "--json").events[-1]
    assert (answer["ok"], answer["exitCode"], "code" in answer) == (False, 3, False)


def test_i13_an_open_operation_is_9_whatever_else_holds(rig: Rig, active: str) -> None:
    newer = rig.release("0.2.0")
    words = ("--components", "ssh-access", "--evidence", "/evidence", "--release", newer)
    assert rig.killed("activate/after-links", "activate", *words) == -9
    result = rig.run("status")
    assert result.code == 9 and "UNFINISHED activate" in result.stdout


def test_b22_a_journal_that_cannot_be_judged_is_9(rig: Rig, active: str) -> None:
    rig.paths.journal.write_text("not a record\n")
    result = rig.run("status")
    assert result.code == 9 and "unreadable: journal_" in result.stdout


def test_x1_a_systemd_that_does_not_answer_is_4(
    rig: Rig, active: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from installer.host.systemd import ServiceError, Systemctl

    def silent(_self: Systemctl, unit: str) -> None:
        raise ServiceError(f"systemctl show {unit}: no answer within 30 s")

    monkeypatch.setattr(Systemctl, "show", silent)
    result = rig.run("status")
    assert result.code == 4 and "unit     <unreadable>" in result.stdout
    assert "running  <unreadable>" in result.stdout and "no answer" in result.stdout


def test_x1_a_component_that_cannot_be_asked_is_4_and_not_unhealthy(
    rig: Rig, active: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from installer.host.commands import CommandError
    from installer.phases import status

    def hang(*_arguments: object) -> None:
        raise CommandError("pharos-ssh-access: no answer within 20 s")

    monkeypatch.setattr(status, "ask_component", hang)
    result = rig.run("status")
    assert result.code == 4 and "healthy  <unreadable>" in result.stdout
    assert "component_unanswered" in result.stdout


@pytest.mark.parametrize("quiet", [True, False])
def test_quiet_keeps_a_check_that_warns(rig: Rig, quiet: bool) -> None:
    rig.release("0.1.0")
    rig.profile(sssd={"entry_cache_timeout_seconds": 7})
    result = rig.run("validate", *(["--quiet"] if quiet else []))
    assert result.code == 0
    assert [line for line in result.stderr.splitlines() if line.startswith("warn    sssd.cache")]
    assert ("pass " in result.stderr) is not quiet


@pytest.mark.parametrize("quiet", [True, False])
def test_quiet_tells_every_failed_check(rig: Rig, quiet: bool) -> None:
    rig.release("0.1.0")
    (rig.paths.at("/etc/pharos-hpc/credentials/ssh-access/site-api-token")).unlink()
    rig.write("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
    rig.profile(sssd={"entry_cache_timeout_seconds": 7})
    result = rig.run("validate", *(["--quiet"] if quiet else []))
    told = [line for line in result.stderr.splitlines() if line.startswith(("fail", "unknown"))]
    assert result.code == 3 and len(told) > 1
    assert ("pass " in result.stderr) is not quiet
    assert result.stdout == ""
