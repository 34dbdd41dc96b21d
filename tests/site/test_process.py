"""The process as systemd and an administrator see it (I06, X9, S10, S14): states, verbs, limits, an orderly
end.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.simulators.site_api.server import TOKEN
from tests.site.agent import AgentProcess
from tests.site.keys import K1, K2, K9
from tests.site.slapd import SUFFIX

pytestmark = pytest.mark.slapd

DRIVEN = "tests.site.driven_agent"
QUICK = json.dumps(
    {"limits": {"reconcile_seconds": 0.5, "first_retry_seconds": 0.1, "refused_retry_seconds": 0.5}}
)


def test_I06_ready_status_watchdog_stopping(agent: AgentProcess) -> None:
    agent.start()
    agent.wait_ready()
    told = agent.notices()
    assert told.count("READY=1") == 1
    assert "WATCHDOG=1" in told
    agent.wait_until(lambda: "STATUS=ready, applying" in agent.notices())
    agent.wait_until(lambda: agent.site_api.server.parked == 1, "a parked poll")
    assert agent.stop(seconds=30) == 0, "the poll would be parked for longer"
    agent.wait_until(lambda: "STOPPING=1" in agent.notices(), "the farewell")


def test_watchdog_is_fed_by_finished_steps_only(agent: AgentProcess) -> None:
    """A loop that hangs is not kept alive by anything else: systemd restarts it (WatchdogSec=)."""
    limits = {"reconcile_seconds": 0.2, "wait_seconds": 1, "reconcile_share": 1, "least_poll_seconds": 0.1}
    hangs = agent.folder / "hangs"
    drive = {"limits": limits, "hang_at": "before-modify", "hangs": str(hangs)}
    agent.start(module=DRIVEN, DRIVE=json.dumps(drive))
    agent.wait_ready()
    fed = agent.notices().count("WATCHDOG=1")
    agent.wait_until(lambda: agent.notices().count("WATCHDOG=1") >= fed + 3, "a fed watchdog")
    agent.site_api.history.present(K1, agent.slapd.target("alice"))
    agent.wait_until(hangs.exists, "the hang")
    fed = agent.all_notices().count("WATCHDOG=1")
    time.sleep(1)
    assert agent.notices().count("WATCHDOG=1") == fed
    assert not agent.dead()


def test_X2_clock_ahead_then_right(agent: AgentProcess) -> None:
    """Reports go again as soon as the clock is right; the check names the clock meanwhile."""
    ahead = agent.folder / "ahead"
    ahead.touch()
    drive = {**json.loads(QUICK), "ahead": str(ahead)}
    drive["limits"]["refused_retry_seconds"] = 3600
    agent.start(module=DRIVEN, DRIVE=json.dumps(drive))
    key = agent.site_api.history.present(K1, agent.slapd.target("alice"))

    def reports() -> dict[str, str]:
        found: dict[str, str] = (agent.status() or {}).get("checks", {}).get("reports", {})
        return found

    agent.wait_until(lambda: reports().get("code") == "observed_in_future", "the refusal")
    assert "clock" in reports()["remedy"]
    ahead.unlink()
    agent.outcome(key, "applied")
    agent.wait_until(lambda: reports().get("status") == "pass", "reports that pass")


def test_status_of_each_state(agent: AgentProcess) -> None:
    assert agent.ask("status").returncode == 4
    assert json.loads(agent.ask("status", "--json").stdout)["state"] == "not_running"
    agent.start()
    agent.wait_ready()
    done = agent.ask("status", "--json")
    document = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert {
        "schema",
        "component",
        "release",
        "pid",
        "state",
        "since",
        "checks",
        "feed",
        "sequence",
        "keys",
    } <= set(document)
    assert {"lastPollAt", "lastErrors"} <= set(document)
    assert (document["schema"], document["component"], document["state"]) == (1, "ssh-access", "ready")
    assert {check["status"] for check in document["checks"].values()} == {"pass"}
    text = agent.ask("status")
    assert text.stdout.startswith("ready since ")
    assert "a removed key may let in for 5400 s more" in text.stdout
    agent.kill_now()
    assert agent.ask("status").returncode == 4, "a killed agent's file does not speak for it"


def test_wrong_identity_is_degraded_and_named(agent: AgentProcess) -> None:
    """Active but never silently unusable: READY, degraded, the reason in STATUS, status and doctor (B11,
    I06).
    """
    key = agent.site_api.history.present(K1, agent.slapd.target("alice"))
    wrong = {"PHAROS_SSH_ACCESS_LDAP_IDENTITY": f"cn=somebody,{SUFFIX}"}
    agent.start(**wrong)
    agent.outcome(key, "pending", "directory_identity")
    agent.wait_until(lambda: "READY=1" in agent.notices())
    assert any("directory_identity" in line for line in agent.notices() if line.startswith("STATUS=degraded"))
    assert agent.ask("status").returncode == 3
    done = agent.ask("doctor", "--json", **wrong)
    checks = {check["id"]: check for check in json.loads(done.stdout)["checks"]}
    assert done.returncode == 3
    assert checks["directory_identity"]["status"] == "fail"
    assert "olcAuthzRegexp" in checks["directory_identity"]["remedy"]
    assert checks["directory_base"]["status"] == checks["directory_rights"]["status"] == "unknown"
    assert agent.slapd.values("alice") == []


def test_refused_token_is_degraded_and_recovers_when_replaced(agent: AgentProcess) -> None:
    """I03: a revoked token is said; the new one is used without a restart when the file itself changes."""
    tokens = agent.site_api.server.tokens
    agent.start(module=DRIVEN, DRIVE=QUICK)
    agent.wait_ready()
    tokens.clear()
    agent.site_api.server.cut()
    agent.wait_until(lambda: (agent.status() or {}).get("state") == "degraded", "degraded")
    assert (agent.status() or {})["checks"]["site_api"]["code"] == "unauthenticated"
    assert json.loads(agent.ask("doctor", "--json").stdout)["checks"][2]["status"] == "fail"
    tokens["phs1_" + "1" * 32 + "_" + "B" * 43] = ["ssh-access"]
    agent.token_file.write_text("phs1_" + "1" * 32 + "_" + "B" * 43)
    agent.wait_ready()
    assert TOKEN not in agent.log()


def test_doctor_says_all_is_well(agent: AgentProcess) -> None:
    agent.start()
    agent.wait_ready()
    done = agent.ask("doctor", "--json")
    document = json.loads(done.stdout)
    assert (document["schema"], document["component"]) == (1, "ssh-access")
    assert {check["id"]: check["status"] for check in document["checks"]} == {
        "settings": "pass",
        "process": "pass",
        "site_api": "pass",
        "directory_identity": "pass",
        "directory_base": "pass",
        "directory_rights": "pass",
        "removal_delay": "pass",
    }
    assert done.returncode == 0
    assert all(set(check) == {"id", "status", "found", "wanted", "remedy"} for check in document["checks"])
    assert "pass    directory_identity" in agent.ask("doctor").stdout
    assert agent.slapd.values("pharos-probe") == []


def test_doctor_names_the_scope_that_is_missing(agent: AgentProcess) -> None:
    agent.site_api.server.tokens[TOKEN] = ["commands"]
    done = agent.ask("doctor", "--json")
    check = next(c for c in json.loads(done.stdout)["checks"] if c["id"] == "site_api")
    assert (check["status"], done.returncode) == ("fail", 3)
    assert "commands" in check["found"]
    assert "scope ssh-access" in check["wanted"]


def test_doctor_warns_of_a_grant_that_ends(agent: AgentProcess) -> None:
    agent.site_api.server.expires_at = "2026-12-01T00:00:00Z"
    agent.start()
    agent.wait_ready()
    done = agent.ask("doctor", "--json")
    check = next(c for c in json.loads(done.stdout)["checks"] if c["id"] == "site_api")
    assert check["status"] in {"warn", "pass"}
    assert done.returncode == 0


def test_wrong_settings_end_with_2_and_no_secret(agent: AgentProcess) -> None:
    done = agent.ask("run", PHAROS_SITE_API_TOKEN="phs1_verysecret", PHAROS_TYPO="1")
    assert done.returncode == 2
    assert "settings_refused" in done.stderr
    assert "PHAROS_TYPO" in done.stderr
    assert "PHAROS_SITE_API_TOKEN and PHAROS_SITE_API_TOKEN_FILE are both set" in done.stderr
    assert "verysecret" not in done.stderr + done.stdout


def test_settings_from_the_environment_file(agent: AgentProcess, tmp_path: Path) -> None:
    """`doctor` beside the unit: the rendered file fills what the caller's environment lacks (X6)."""
    environment = agent.environment()
    path = tmp_path / "ssh-access.env"
    ours = {name: value for name, value in environment.items() if name.startswith("PHAROS_")}
    path.write_text("".join(f"{name}={value}\n" for name, value in ours.items()))
    kept = {name: value for name, value in environment.items() if name not in ours}
    command = [
        sys.executable,
        "-m",
        "site_bundle.ssh_access.main",
        "doctor",
        "--json",
        "--env-file",
        str(path),
    ]
    done = subprocess.run(command, env=kept, capture_output=True, text=True, timeout=60, check=False)
    checks = {check["id"]: check["status"] for check in json.loads(done.stdout)["checks"]}
    assert checks["settings"] == checks["directory_rights"] == "pass"
    assert checks["process"] == "fail"


def test_usage_teaches(agent: AgentProcess) -> None:
    for arguments in ([], ["nonsense"], ["accept-feed"], ["run", "--json"]):
        done = agent.ask(*arguments)
        assert done.returncode == 2
        assert "usage: pharos-ssh-access" in done.stderr
    done = agent.ask("--help")
    assert done.returncode == 0
    assert "exit codes: 0 healthy" in done.stdout
    assert agent.ask("--version").stdout.startswith("pharos-ssh-access ")


def test_S14_observe_tells_and_writes_nothing(agent: AgentProcess) -> None:
    slapd, history = agent.slapd, agent.site_api.history
    slapd.put("alice", K1.encode(), K9.encode())
    there, missing = history.present(K1, slapd.target("alice")), history.present(K2, slapd.target("alice"))
    agent.start(module=DRIVEN, DRIVE=QUICK, PHAROS_SSH_ACCESS_MODE="observe")
    agent.outcome(there, "applied")
    agent.outcome(missing, "held", "observe_mode")
    history.absent(there)
    agent.outcome(there, "held", "observe_mode")
    assert slapd.values("alice") == sorted([K1.encode(), K9.encode()])
    assert f"directory_change change=add result=would key={missing}" in agent.log()
    assert f"directory_change change=delete result=would key={there}" in agent.log()
    agent.wait_until(lambda: "STATUS=ready, observing" in agent.notices())
    assert "MOD dn=" not in (slapd.folder / "log").read_text().replace("cn=administrator", "")[-1:]
    agent.stop()
    agent.start(module=DRIVEN, DRIVE=QUICK)
    agent.outcome(missing, "applied")
    agent.outcome(there, "removed_from_directory")
    assert slapd.values("alice") == sorted([K2.encode(), K9.encode()])


def test_files_name_no_person_and_end_well(agent: AgentProcess) -> None:
    """X9: status and metrics may be read by anybody on the host."""
    key = agent.site_api.history.present(K1, agent.slapd.target("alice"))
    agent.start()
    agent.outcome(key, "applied")
    agent.wait_until(lambda: (agent.status() or {}).get("keys", {}).get("applied") == 1)
    ready = 'pharos_ssh_access_state{state="ready"} 1'
    added = 'pharos_ssh_access_directory_operations_total{change="add",result="done"} 1'

    def told() -> str:
        """The metrics of that status: they are written after it."""
        text = (agent.runtime / "metrics.prom").read_text()
        return text if ready in text and added in text else ""

    metrics: str = agent.wait_until(told, "both in the metrics")
    assert metrics.endswith("# EOF\n")
    shown = metrics + (agent.runtime / "status.json").read_text() + agent.log()
    assert "alice" not in shown
    assert "5000001" not in shown
    assert TOKEN not in shown
    assert K1.split(" ")[1] not in shown
    for name in ("metrics.prom", "status.json"):
        assert (agent.runtime / name).stat().st_mode & 0o777 == 0o644


def test_idle_agent_asks_little(agent: AgentProcess) -> None:
    """No busy polling: one parked poll, no search, no write while nothing happens (S10)."""
    agent.start()
    agent.wait_ready()
    agent.wait_until(lambda: agent.site_api.server.parked == 1, "a parked poll")
    requests, searches = len(agent.site_api.server.requests), agent.slapd.searches()
    journal = [(p.name, p.stat().st_mtime_ns) for p in sorted(agent.state.iterdir())]
    ticks = cpu_ticks(agent)
    time.sleep(1.5)
    assert len(agent.site_api.server.requests) == requests
    assert agent.slapd.searches() == searches
    assert [(p.name, p.stat().st_mtime_ns) for p in sorted(agent.state.iterdir())] == journal
    assert cpu_ticks(agent) - ticks <= 15, "a loop without a pause takes some 150"


def test_polls_of_a_hasty_central_do_not_spin(agent: AgentProcess) -> None:
    """A central that answers at once instead of parking is asked once a second."""
    agent.start()
    agent.wait_ready()
    agent.site_api.server.history.page = lambda after, limit, wait: {  # type: ignore[method-assign]
        **type(agent.site_api.history).page(agent.site_api.history, after, limit, 0)
    }
    agent.site_api.server.cut()
    before, began = len(agent.site_api.server.requests), time.monotonic()
    agent.wait_until(lambda: len(agent.site_api.server.requests) >= before + 3, "three polls")
    asked, took = len(agent.site_api.server.requests) - before, time.monotonic() - began
    assert took >= asked - 2, "one a second, whatever was on its way"


def cpu_ticks(agent: AgentProcess) -> int:
    assert agent.process is not None
    fields = Path(f"/proc/{agent.process.pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_S10_idle_memory_is_at_most_four_times_pythons(agent: AgentProcess) -> None:
    alice = agent.slapd.target("alice")
    keys = [agent.site_api.history.present(line, alice) for line in (K1, K2)]
    agent.start(PYTHONWARNINGS="default")
    for key in keys:
        agent.outcome(key, "applied")
    agent.wait_ready()
    assert agent.process is not None
    idle = [sys.executable, "-I", "-c", "print(flush=True); input()"]
    with subprocess.Popen(idle, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as bare:
        assert bare.stdout is not None
        bare.stdout.readline()
        ratio = resident(agent.process.pid) / resident(bare.pid)
        bare.communicate(b"\n")
    assert ratio <= 4, f"{ratio:.2f}"


def resident(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")
