"""The command line: exit codes, output, help, variables, secrets (row 39, B38, H22, X5, X6)."""

import io
import json
from dataclasses import replace

import pytest

from installer import running
from installer.cli import run
from installer.host.reporting import redact
from tests.installer.rig import TOKEN, Rig
from tests.installer.systemctl import Behaviour

PHASES = ("preflight", "install", "validate", "activate", "rollback", "recover", "status")


def helped(rig: Rig, *arguments: str, capture: pytest.CaptureFixture[str]) -> str:
    assert run([*arguments, "--help"], rig.ports) == 0
    return capture.readouterr().out


def test_help_teaches_phases_files_and_exit_codes(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    text = helped(rig, capture=capsys)
    for word in (*PHASES, "/etc/pharos-hpc/site.yaml", "/opt/pharos-hpc", "130, 143", "Exit codes"):
        assert word in text
    for code in range(11):
        assert f" {code}  " in text
    for phase in PHASES:
        assert "--config" in helped(rig, phase, capture=capsys)


def test_i1_preflights_help_says_what_it_leaves_also_with_plan(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    text = " ".join(helped(rig, "preflight", capture=capsys).split())
    assert "the controller, in /opt/pharos-hpc) and the lock file, also with --plan" in text


@pytest.mark.parametrize("words", [["instal"], ["activate"], ["install", "--force"], ["status", "extra"], []])
def test_h22_an_unknown_phase_or_option_is_usage(
    rig: Rig, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words, rig.ports) == 2


@pytest.mark.parametrize("components", ["all", "ssh-access,ssh-access", "", "waldur"])
def test_i12_the_component_set_is_explicit(rig: Rig, components: str) -> None:
    result = rig.run("activate", "--components", components, "--evidence", "/evidence")
    assert result.code == 2 and "components_invalid" in result.stderr


def test_a_refusal_and_a_failed_check_are_three_lines_each(rig: Rig) -> None:
    """What was found, what was wanted, the remedy; in JSON they are fields of one line."""
    release = rig.release("0.1.0")
    token = rig.paths.at("/etc/pharos-hpc/credentials/ssh-access/site-api-token")
    token.chmod(0o644)
    lines = rig.run("validate", "--release", release).stderr.splitlines()
    for head in ("fail    credentials.private [ssh-access]: ", "  found:  validate: credentials.private"):
        (at,) = [number for number, line in enumerate(lines) if line.startswith(head)]
        wanted, remedy = lines[at + 1 : at + 3]
        assert wanted.startswith("  wanted: ") and remedy.startswith("  remedy: chmod 0600"), lines[at:]
    assert "refused: checks_failed" in lines
    events = rig.run("validate", "--release", release, "--json").events
    assert events[-1]["code"] == "checks_failed" and "\n" not in str(events[-1]["text"])


def test_json_is_one_event_a_line_and_the_last_is_the_result(rig: Rig) -> None:
    result = rig.activate(rig.release("0.1.0"), "--json")
    assert result.code == 0 and result.stderr == ""
    kinds = [event["event"] for event in result.events]
    assert kinds[-1] == "result" and {"phase", "check", "step"} <= set(kinds)
    assert (result.events[-1]["ok"], result.events[-1]["exitCode"]) == (True, 0)
    bad = rig.activate(rig.release("0.2.0", behaviour=Behaviour(ready_after=-1)), "--json")
    assert (bad.events[-1]["ok"], bad.events[-1]["exitCode"], bad.events[-1]["code"]) == (
        False,
        7,
        "activation_failed",
    )


def test_quiet_tells_warnings_and_the_result_alone(rig: Rig) -> None:
    result = rig.activate(rig.release("0.1.0"), "--quiet")
    assert result.code == 0 and all(line.startswith("warning:") for line in result.stderr.splitlines())
    assert len(result.stdout.splitlines()) == 1


def test_b38_row_39_no_escape_sequence_is_ever_written(rig: Rig) -> None:
    result = rig.activate(rig.release("0.1.0"))
    assert "\x1b" not in result.stdout + result.stderr


def test_row_39_a_closed_pipe_or_full_disk_ends_no_run(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError(32, "Broken pipe")

    release = rig.release("0.1.0")
    arguments = [
        "activate",
        "--components",
        "ssh-access",
        "--evidence",
        "/evidence",
        "--release",
        release,
        "--json",
    ]
    assert run(arguments, replace(rig.ports, stdout=Closed(), stderr=Closed())) == 0
    assert rig.link() == release


def test_row_9_a_log_that_cannot_be_written_fails_no_run(rig: Rig) -> None:
    rig.paths.memory.mkdir(parents=True, mode=0o700)
    rig.paths.log.write_text("a file in its place")
    assert rig.activate(rig.release("0.1.0")).code == 0


def test_the_log_holds_the_run_and_is_roots_alone(rig: Rig) -> None:
    rig.activate(rig.release("0.1.0"))
    (log,) = rig.paths.log.iterdir()
    assert log.stat().st_mode & 0o777 == 0o600 and log.parent.stat().st_mode & 0o777 == 0o700
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert events[-1]["event"] == "result" and {"schema", "at", "text"} <= events[0].keys()


def test_x5_tokens_are_redacted_on_every_way_out() -> None:
    assert redact(f"a {TOKEN} b eyJhbGciOi.eyJzdWIi.c2ln") == "a [redacted] b [redacted]"


def test_x5_the_credential_is_nowhere_after_all_phases(rig: Rig) -> None:
    release = rig.release("0.1.0")
    said = [rig.activate(release), rig.run("validate"), rig.run("status", "--json"), rig.run("rollback")]
    for result in said:
        assert TOKEN not in result.stdout + result.stderr
    argv = json.dumps(rig.fake.calls)
    assert TOKEN not in argv
    for path in rig.root.rglob("*"):
        if path.is_file() and path.name != "site-api-token":
            assert TOKEN.encode() not in path.read_bytes(), path


def test_x6_an_unknown_variable_is_refused_and_a_service_link_ignored(rig: Rig) -> None:
    rig.environment["PHAROS_SITE_API_SERVICE_HOST"] = "10.0.0.1"
    assert rig.run("recover").code == 0
    rig.environment["PHAROS_ARCHIV"] = "x"
    for phase in ("recover", "status"):
        result = rig.run(phase)
        assert result.code == 2 and "variable_unknown" in result.stderr


@pytest.mark.parametrize("words", [(), ("--plan",), ("--json",)])
@pytest.mark.parametrize("phase", PHASES)
def test_row_40_a_user_is_told_to_be_root_and_nothing_else(
    rig: Rig, phase: str, words: tuple[str, ...]
) -> None:
    rig.user = 1000
    rig.paths.at("/etc/pharos-hpc/site.yaml").unlink()
    if phase == "activate":
        words = (*words, "--components", "ssh-access", "--evidence", "/evidence")
    before = sorted(rig.root.rglob("*"))
    result = rig.run(phase, *words)
    assert sorted(rig.root.rglob("*")) == before
    if phase == "status":
        assert result.code == 0
    elif "--json" in words:
        assert [event.get("code") for event in result.events] == ["host_not_root"] * 2
    else:
        assert result.code == 3 and len(result.stderr.splitlines()) == 4
        assert result.stderr.startswith("refused: host_not_root") and "as root" in result.stderr


def test_status_works_without_a_hand_off(rig: Rig) -> None:
    rig.paths.at("/etc/pharos-hpc/site.yaml").unlink()
    result = rig.run("status")
    assert result.code == 0 and "without the site configuration" in result.stderr


@pytest.mark.parametrize(
    ("asked", "code"), [("7.7.7-000000000000", "release_absent"), (None, "release_ambiguous")]
)
def test_which_release_is_never_guessed(rig: Rig, asked: str | None, code: str) -> None:
    for version in ("0.1.0", "0.2.0"):
        rig.release(version)
    words = ["validate", *(["--release", asked] if asked else [])]
    result = rig.run(*words)
    assert result.code in {2, 4} and code in result.stderr


def test_the_release_the_installer_came_with_is_the_default(rig: Rig) -> None:
    rig.release("0.1.0")
    newer = rig.release("0.2.0")
    rig.own_release = newer
    result = rig.run("validate")
    assert result.code == 0 and newer in result.stdout


@pytest.mark.parametrize("phase", ["validate", "activate"])
def test_x1_an_archive_that_is_not_installed_is_absent_and_no_other_answers_for_it(
    rig: Rig, phase: str
) -> None:
    other = rig.release("0.1.0")
    rig.own_release = "0.2.0-0123456789ab"
    more = ("--components", "ssh-access", "--evidence", "/evidence") if phase == "activate" else ()
    result = rig.run(phase, *more)
    assert result.code == 4 and "release_absent\n  found:  release 0.2.0-0123456789ab is not" in result.stderr
    assert "Run ./install.sh install" in result.stderr and rig.link() is None
    assert rig.run(phase, *more, "--release", other).code == 0


def test_a_fault_of_the_installer_is_exit_1_and_told_as_such(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*_arguments: object) -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(running, "site_of", fault)
    result = rig.run("status")
    assert result.code == 1 and "internal error" in result.stderr and "Traceback" not in result.stderr


def test_status_names_wanted_linked_running_healthy(rig: Rig, active: str) -> None:
    text = rig.run("status").stdout
    for word in ("wanted", "linked", "running", "healthy", active, "ssh-access: ok"):
        assert word in text
    rig.fake.behaviours[active] = Behaviour(status_code=3)
    assert "NOT AS WANTED" in rig.run("status").stdout and "exits 3" in rig.run("status").stdout


@pytest.mark.parametrize("phase", ["preflight", "validate"])
def test_a_plan_of_checks_makes_none(rig: Rig, phase: str) -> None:
    before = sorted(rig.root.rglob("*"))
    result = rig.run(phase, "--plan")
    assert result.code == 0 and "check ldap.socket" in result.stdout and "never waivable" in result.stdout
    assert sorted(rig.root.rglob("*")) == before and rig.fake.calls == []


def test_row_11_a_read_only_memory_is_host_io_failed_with_nothing_switched(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_arguments: object) -> None:
        raise OSError(30, "Read-only file system")

    release = rig.release("0.1.0")
    monkeypatch.setattr("installer.host.state_file.write_file", read_only)
    result = rig.activate(release)
    assert result.code == 6 and "host_io_failed" in result.stderr and rig.link() is None


def test_row_9_a_journal_that_cannot_be_written_changes_nothing(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object, **_more: object) -> None:
        raise OSError(28, "No space left on device")

    release = rig.release("0.1.0")
    monkeypatch.setattr("installer.host.journal_file.JournalFile._append", full)
    result = rig.activate(release)
    assert result.code == 6 and "journal_unwritable" in result.stderr
    assert rig.link() is None and not rig.paths.journal.exists()
    monkeypatch.undo()
