"""The verbs as people type them: as another user, beside the service, with files that are missing or not
theirs (X1, X5, X6).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.site.agent import AgentProcess
from tests.site.identities import NOBODY, ROOT_ONLY, open_to_all

pytestmark = pytest.mark.slapd

# A verb under another user: root gives itself up, then the console script's own function runs.
AS_NOBODY = (
    "import os, sys; import site_bundle.ssh_access.cli, site_bundle.ssh_access.doctor;"
    "from site_bundle.directory.ldap3_parts import load_ldap3; load_ldap3(); import encodings.idna;"
    "import importlib.metadata;"
    f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY});"
    "from site_bundle.ssh_access.main import main; sys.exit(main(sys.argv[1:]))"
)


def as_nobody(agent: AgentProcess, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-c", AS_NOBODY, *words]
    environment = {name: value for name, value in agent.environment(**more).items() if value}
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, check=False)


@ROOT_ONLY
def test_doctor_of_another_user_names_the_token_it_may_not_read(agent: AgentProcess) -> None:
    open_to_all(agent.folder)
    private = agent.folder / "private"
    private.mkdir(mode=0o700)
    shutil.move(agent.token_file, private / "token")
    done = as_nobody(agent, "doctor", "--json", PHAROS_SITE_API_TOKEN_FILE=str(private / "token"))
    assert (done.returncode, done.stderr) == (3, "")
    (check,) = json.loads(done.stdout)["checks"]
    assert (check["id"], check["status"]) == ("credential", "fail")
    assert check["found"] == f"{private}/token: Permission denied"
    assert "sudo" in check["remedy"]
    text = as_nobody(agent, "doctor", PHAROS_SITE_API_TOKEN_FILE=str(private / "token"))
    assert text.stdout.startswith("fail    credential: ")


@ROOT_ONLY
def test_doctor_of_another_user_without_a_named_token(agent: AgentProcess, tmp_path: Path) -> None:
    """The places of the token are looked for; one that may not be looked at is named, not a traceback."""
    from site_bundle.kernel.credential import first_there

    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    (private / "token").write_text("x")
    assert first_there([tmp_path / "a" / "b", private / "token", tmp_path / "c"]) == private / "token"
    assert first_there([tmp_path / "a", private / "token" / "x", tmp_path / "c"]) == tmp_path / "c"
    open_to_all(tmp_path)
    code = (
        f"import os; from pathlib import Path; from site_bundle.kernel.credential import first_there as f;"
        f"os.setuid({NOBODY}); print(f([Path({str(private)!r}) / 'gone', Path('/')]))"
    )
    argv = [sys.executable, "-c", code]
    done = subprocess.run(
        argv, env=agent.environment(), capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == f"{private}/gone"


@ROOT_ONLY
def test_status_of_another_user(agent: AgentProcess) -> None:
    """0644 in an open folder: anybody may read it. One that is not open is said, not "does not run"."""
    open_to_all(agent.folder)
    agent.start()
    agent.wait_ready()
    done = as_nobody(agent, "status")
    assert (done.returncode, done.stderr) == (0, "")
    assert "last report none yet" in done.stdout
    assert "None" not in done.stdout
    agent.runtime.chmod(0o700)
    done = as_nobody(agent, "status")
    assert (done.returncode, done.stdout) == (3, "")
    assert "status_unreadable" in done.stderr
    assert "Permission denied" in done.stderr
    assert "sudo" in done.stderr


@ROOT_ONLY
def test_environment_file_of_another_user(agent: AgentProcess) -> None:
    open_to_all(agent.folder)
    file = agent.folder / "mine.env"
    file.write_text("")
    file.chmod(0o600)
    for verb in (["status"], ["doctor"], ["accept-feed", "00000000-0000-4000-8000-000000000001"]):
        done = as_nobody(agent, *verb, "--env-file", str(file))
        assert done.returncode == 2
        assert done.stderr.startswith(f"pharos-ssh-access: environment_file_unreadable: {file}: Permission")
    missing = agent.ask("status", "--env-file", str(agent.folder / "none.env"))
    assert (missing.returncode, "No such file" in missing.stderr) == (2, True)


@ROOT_ONLY
def test_accept_feed_of_another_user(agent: AgentProcess) -> None:
    open_to_all(agent.folder)
    agent.state.chmod(0o700)
    done = as_nobody(agent, "accept-feed", "00000000-0000-4000-8000-000000000001")
    assert done.returncode == 3
    assert "journal_unreachable" in done.stderr
    assert "sudo" in done.stderr


def test_status_without_its_folder_and_of_a_dead_process(agent: AgentProcess) -> None:
    agent.runtime.rmdir()
    done = agent.ask("status")
    assert done.returncode == 4
    assert done.stdout.splitlines() == [
        f"pharos-ssh-access does not run: there is no {agent.runtime}/status.json",
        "  remedy: systemctl status pharos-ssh-access",
    ]
    agent.runtime.mkdir()
    agent.start()
    agent.wait_ready()
    agent.kill_now()
    assert "gone is the process of" in agent.ask("status").stdout


@pytest.mark.parametrize("content", [b"", b"{}", b'{"schema":1,', b"\xff" * 10, b"x" * 300_000])
def test_status_that_is_none(agent: AgentProcess, content: bytes) -> None:
    (agent.runtime / "status.json").write_bytes(content)
    done = agent.ask("status")
    assert (done.returncode, done.stdout) == (3, "")
    assert "status_malformed" in done.stderr
    checks = {check["id"]: check for check in json.loads(agent.ask("doctor", "--json").stdout)["checks"]}
    assert checks["process"]["status"] == "unknown"


def test_run_beside_the_service_is_refused_and_harms_nothing(agent: AgentProcess) -> None:
    agent.start()
    agent.wait_ready()
    before = agent.status()
    done = agent.ask("run", NOTIFY_SOCKET="")
    assert done.returncode == 3
    assert "code=journal_locked" in done.stderr
    assert "systemctl stop" in done.stderr
    assert before is not None
    assert (agent.status() or {})["pid"] == before["pid"]
    assert not agent.dead()


def test_journal_that_is_damaged_is_said_by_each_verb(agent: AgentProcess) -> None:
    (agent.state / "journal.sqlite").write_bytes(b"no database at all, but long enough" * 100)
    for words in (["run"], ["accept-feed", "00000000-0000-4000-8000-000000000001"]):
        done = agent.ask(*words, NOTIFY_SOCKET="")
        assert done.returncode == 3
        assert "journal_damaged" in done.stderr
        assert "move it away" in done.stderr


@ROOT_ONLY
def test_journal_of_another_owner_is_no_damage(agent: AgentProcess) -> None:
    """A run by root's hand left it: the remedy is its owner, not throwing it away."""
    open_to_all(agent.folder)
    os.chown(agent.state, NOBODY, NOBODY)
    journal = agent.state / "journal.sqlite"
    journal.touch(mode=0o600)
    done = agent.ask("accept-feed", "00000000-0000-4000-8000-000000000001")
    assert done.returncode == 3
    assert "journal_unreachable" in done.stderr
    assert "owner and mode" in done.stderr


@pytest.mark.parametrize("verb", ["run", "status", "doctor", "accept-feed"])
def test_help_of_each_verb_teaches(agent: AgentProcess, verb: str) -> None:
    done = agent.ask(verb, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "exit codes: 0 " in done.stdout
    assert "example" in done.stdout
    assert f"pharos-ssh-access {verb}" in done.stdout.partition("example")[2]
    assert max(map(len, done.stdout.splitlines())) <= 120
