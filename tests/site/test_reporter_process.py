"""The reporter as a process: killed at each durable step, stopped, asked; its status names nobody (S8, S10,
X9).
"""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from tests.site.reporter import Scene

pytestmark = pytest.mark.slapd

CHECKPOINTS = [
    "before-apply",
    "after-apply",
    "applied-journalled",
    "reports-journalled",
    "report-sent",
    "receipt-journalled",
]


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_s8_killed_at(scene: Scene, name: str) -> None:
    """Whatever step it died at: every account is applied once, every report arrives under one body an id."""
    scene.start(die_at=name)
    assert scene.wait_dead() == -signal.SIGKILL
    scene.start()
    wanted = {"alice": ("ready", 1), "bob": ("ready", 1)}
    scene.wait_until(lambda: scene.states() == wanted, "ready accounts")
    scene.wait_until(lambda: scene.status().get("state") == "ready", "ready")
    assert scene.stop() == 0
    assert scene.cluster.comment(scene.associations["alice"]) == f"pharos:1:{scene.alice}:1"
    by_id: dict[str, set[bytes]] = {}
    for _, raw in scene.platform.arrived:
        by_id.setdefault(json.loads(raw)["reportId"], set()).add(raw)
    assert all(len(found) == 1 for found in by_id.values())
    assert not scene.platform.refused


def test_s8_x9_a_running_reporter_says_what_it_does(scene: Scene) -> None:
    scene.start()
    scene.wait_until(lambda: scene.status().get("state") == "ready", "ready")
    scene.wait_until(lambda: scene.status().get("differences") == {}, "a pass with nothing to apply")
    status = scene.status()
    assert status["accounts"] == {"ready": 2, "incomplete": 0, "notes": {}}
    assert status["pass"]["commands"] == 4, "associations, nodes, jobs and TRES, and nothing an account"
    assert status["usage"] == {"compared": 0, "above": 0, "behind": 0}
    shown = scene.ask("status")
    assert shown.returncode == 0 and "2 ready, 0 incomplete" in shown.stdout
    metrics = (scene.folder / "run" / "metrics.prom").read_text()
    assert 'pharos_reporter_accounts{state="ready"} 2' in metrics and metrics.endswith("# EOF\n")
    for text in (metrics, json.dumps(status), scene.log()):
        assert "alice" not in text and "agentpw" not in text and scene.token not in text
    assert scene.stop() == 0
    assert "stopping" in scene.log()
    assert scene.ask("status").returncode == 4


def test_s8_sources_come_and_go(scene: Scene) -> None:
    """Each has its own check; all is well again by itself."""
    scene.start()
    scene.wait_until(lambda: scene.status().get("state") == "ready", "ready")
    scene.cluster.down("squeue")
    scene.wait_until(lambda: check(scene, "slurm") == ("fail", "slurm_unavailable"), "slurm failing")
    scene.cluster.down()
    scene.wait_until(lambda: scene.status()["state"] == "ready", "ready again")
    with scene.slapd.away():
        scene.wait_until(lambda: check(scene, "directory")[0] == "fail", "directory failing")
    scene.wait_until(lambda: scene.status()["state"] == "ready", "ready again")
    scene.waldur.fault("status", call="", times=None)
    scene.wait_until(lambda: check(scene, "waldur") == ("fail", "waldur_unavailable"), "waldur failing")
    scene.waldur.clear()
    scene.wait_until(lambda: scene.status()["state"] == "ready", "ready again")
    with scene.intake.away():
        scene.wait_until(lambda: check(scene, "intake")[0] == "fail", "intake failing")
    scene.wait_until(lambda: scene.status()["state"] == "ready", "ready again")
    assert scene.stop() == 0


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_s10_a_waiting_reporter_has_no_helper_no_tls_and_no_ldap(scene: Scene) -> None:
    """What a pass needs of the world is gone with the child that asked it."""
    scene.start(limits={"interval_seconds": 30.0, "least_pause_seconds": 30.0})
    scene.wait_until(lambda: scene.status().get("lastReceiptAt"), "a delivered pass")
    assert scene.process is not None
    pid = scene.process.pid
    scene.wait_until(lambda: not children(pid), "a reporter without children")
    maps = Path(f"/proc/{pid}/maps").read_text()
    assert "libpython" in maps or "python" in maps
    assert not [name for name in ("_ssl.", "_hashlib.", "libssl", "libcrypto") if name in maps]
    assert scene.stop() == 0


def test_x1_s8_a_helper_that_is_killed_costs_a_pass_and_nothing_else(scene: Scene) -> None:
    scene.start()
    scene.wait_until(lambda: scene.states() == {"alice": ("ready", 1), "bob": ("ready", 1)}, "ready accounts")
    assert scene.process is not None
    for _ in range(5):
        for child in scene.wait_until(lambda: children(scene.process.pid), "a child"):  # type: ignore[union-attr]
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
    newest = max(seen for seen, _ in scene.platform.resources.values())
    scene.wait_until(
        lambda: max(one for one, _ in scene.platform.resources.values()) > newest, "a later report"
    )
    scene.wait_until(lambda: scene.status()["state"] == "ready", "ready again")
    assert scene.states() == {"alice": ("ready", 1), "bob": ("ready", 1)}
    assert scene.stop() == 0


def test_b06_a_hidden_directory_is_told_by_status_and_doctor(scene: Scene) -> None:
    """A search that succeeds and shows no group is no healthy directory."""
    scene.start()
    scene.wait_until(lambda: scene.status().get("state") == "ready", "ready")
    scene.wait_until(lambda: scene.status()["accounts"].get("ready") == 2, "ready accounts")
    scene.slapd.stop()
    scene.slapd.set_access(
        "to attrs=userPassword by anonymous auth by * none",
        'to dn.children="ou=groups,ou=pharos,dc=icarus,dc=example" by * none',
        "to * by * read",
    )
    scene.slapd.start()
    scene.wait_until(lambda: check(scene, "directory") == ("fail", "directory_empty"), "directory failing")
    assert scene.status()["state"] == "degraded"
    (asked,) = [
        item
        for item in json.loads(scene.ask("doctor", "--json").stdout)["checks"]
        if item["id"] == "directory"
    ]
    assert asked["status"] == "warn" and " 0 groups" in asked["found"]
    assert scene.stop() == 0


def check(scene: Scene, name: str) -> tuple[str, str | None]:
    found = scene.status()["checks"].get(name, {"status": "", "code": None})
    return found["status"], found["code"]


def test_firecrest_f09_s8_stop_ends_a_hanging_command(scene: Scene) -> None:
    scene.cluster.set(faults={"sacctmgr": {"hang": 600}})
    scene.start()
    scene.wait_until(scene.cluster.calls, "a command")
    assert scene.stop() == 0


def test_s10_doctor_asks_everything(scene: Scene) -> None:
    scene.cluster.set(coordinators={"root": ["pharos"]})
    done = scene.ask("doctor", "--json")
    checks = {item["id"]: item for item in json.loads(done.stdout)["checks"]}
    assert {name: item["status"] for name, item in checks.items()} == {
        "settings": "pass",
        "process": "fail",
        "waldur": "pass",
        "intake": "pass",
        "directory": "pass",
        "slurm": "pass",
        "capacity": "pass",
        "coordinator": "pass",
    }
    assert done.returncode == 3
    scene.cluster.set(nodes={"cn01": "cpu=8,mem=16000M,gres/gpu=2,gres/gpu:gh200=2"}, coordinators={})
    checks = {item["id"]: item for item in json.loads(scene.ask("doctor", "--json").stdout)["checks"]}
    assert checks["capacity"]["status"] == checks["coordinator"]["status"] == "fail"
    assert "cpu=8000" in checks["capacity"]["found"]


def test_x6_settings_are_refused_before_anything_is_asked(scene: Scene) -> None:
    done = scene.ask("once", PHAROS_REPORTER_LDAP_URL="ldap://ldap.example:389", PHAROS_REPORTER_TYPO="1")
    assert done.returncode == 2
    assert "PHAROS_REPORTER_TYPO is not a setting" in done.stderr and "loopback" in done.stderr
    assert scene.cluster.calls() == []


def test_s8_one_journal_one_writer(scene: Scene) -> None:
    scene.start()
    scene.wait_until(lambda: scene.status().get("state") == "ready", "ready")
    done = scene.ask("once")
    assert done.returncode == 3 and "journal_locked" in done.stderr
    assert scene.stop() == 0
