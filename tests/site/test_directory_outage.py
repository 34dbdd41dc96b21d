"""The directory stops, hangs, forgets and comes back: nothing is lost, nothing is written twice (B07, B11,
B12, I05).
"""

from __future__ import annotations

import json

import pytest

from tests.site.agent import AgentProcess
from tests.site.keys import K1, K2, K9

pytestmark = pytest.mark.slapd

QUICK = json.dumps(
    {"limits": {"directory_retry_seconds": 0.3, "first_retry_seconds": 0.1, "reconcile_seconds": 0.5}}
)
DRIVEN = "tests.site.driven_agent"


def test_I05_comes_up_without_a_directory_and_recovers(agent: AgentProcess) -> None:
    """READY is sent, the state is degraded and says why; when slapd returns all is done without a restart."""
    history = agent.site_api.history
    key = history.present(K1, agent.slapd.target("alice"))
    with agent.slapd.away():
        agent.start(module=DRIVEN, DRIVE=QUICK)
        agent.wait_until(lambda: "READY=1" in agent.notices())
        agent.outcome(key, "pending", "directory_unreachable")
        status = agent.status()
        assert status is not None
        assert status["state"] == "degraded"
        assert status["checks"]["directory"]["code"] == "directory_unreachable"
        assert any(line.startswith("STATUS=degraded") for line in agent.notices())
    agent.outcome(key, "applied")
    agent.wait_ready()
    assert agent.process is not None
    assert agent.process.poll() is None


def test_B11_slapd_restarts_between_two_changes(agent: AgentProcess) -> None:
    """Bound anew by EXTERNAL, who-am-I verified, then written: never as anonymous, never "no keys"."""
    history, alice = agent.site_api.history, agent.slapd.target("alice")
    agent.start(module=DRIVEN, DRIVE=QUICK)
    first = history.present(K1, alice)
    agent.outcome(first, "applied")
    with agent.slapd.away():
        pass
    second = history.present(K2, alice)
    agent.outcome(second, "applied")
    assert agent.slapd.values("alice") == sorted([K1.encode(), K2.encode()])
    assert "directory_refused" not in agent.log()


def test_B07_B12_outage_in_the_middle(agent: AgentProcess) -> None:
    """The server is gone while changes wait: known keys keep their verdict, new ones are pending, a removal
    waits.
    """
    history, alice = agent.site_api.history, agent.slapd.target("alice")
    agent.start(module=DRIVEN, DRIVE=QUICK)
    kept = history.present(K1, alice)
    agent.outcome(kept, "applied")
    with agent.slapd.away():
        history.absent(kept)
        added = history.present(K2, alice)
        agent.outcome(added, "pending", "directory_unreachable")
        agent.outcome(kept, "pending", "directory_unreachable")
    agent.outcome(added, "applied")
    agent.outcome(kept, "removed_from_directory")
    assert agent.slapd.values("alice") == [K2.encode()]
    assert agent.process is not None
    assert agent.process.poll() is None


def test_B07_outage_changes_no_settled_verdict(agent: AgentProcess) -> None:
    history = agent.site_api.history
    agent.start(module=DRIVEN, DRIVE=QUICK)
    key = history.present(K1, agent.slapd.target("alice"))
    agent.outcome(key, "applied")
    reports = len(history.reports)
    with agent.slapd.away():
        agent.wait_until(lambda: (agent.status() or {}).get("state") == "degraded", "degraded")
    agent.wait_ready()
    assert history.outcome(key) == ("applied", None)
    assert len(history.reports) == reports


def test_drift_is_repaired_and_not_reported(agent: AgentProcess) -> None:
    """An administrator takes a wanted key out and puts a revoked one back; a foreign one stays (B17)."""
    history, slapd = agent.site_api.history, agent.slapd
    alice = slapd.target("alice")
    agent.start(module=DRIVEN, DRIVE=QUICK)
    wanted, revoked = history.present(K1, alice), history.present(K2, alice)
    agent.outcome(revoked, "applied")
    history.absent(revoked)
    agent.outcome(revoked, "removed_from_directory")
    agent.outcome(wanted, "applied")
    reports = len(history.reports)
    slapd.take("alice", K1.encode())
    slapd.put("alice", f"{K2} by hand".encode(), K9.encode())
    agent.wait_until(lambda: slapd.values("alice") == sorted([K1.encode(), K9.encode()]), "the repair")
    agent.wait_until(lambda: agent.log().count("drift=True") == 2, "both told")
    assert len(history.reports) == reports


def test_recreated_account_is_another_one(agent: AgentProcess) -> None:
    """The same name and UID with another entryUUID: its keys are not ours to touch; the old target is
    proven absent.
    """
    history, slapd = agent.site_api.history, agent.slapd
    alice = slapd.target("alice")
    agent.start(module=DRIVEN, DRIVE=QUICK)
    key, other = history.present(K1, alice), history.present(K2, alice)
    agent.outcome(key, "applied")
    slapd.delete_person("alice")
    slapd.add_person("alice", 5000001)
    slapd.put("alice", K1.encode())
    history.absent(key)
    agent.outcome(key, "removed_from_directory")
    agent.outcome(other, "refused", "target_mismatch")
    assert slapd.values("alice") == [K1.encode()]


def test_account_deleted_then_key_refused_target_absent(agent: AgentProcess) -> None:
    history, slapd = agent.site_api.history, agent.slapd
    carol = slapd.add_person("carol", 5000003)
    agent.start(module=DRIVEN, DRIVE=QUICK)
    key = history.present(K1, carol)
    agent.outcome(key, "applied")
    slapd.delete_person("carol")
    agent.outcome(key, "refused", "target_absent")
    history.absent(key)
    agent.outcome(key, "removed_from_directory")


@pytest.mark.slow
def test_B12_frozen_directory_times_out_and_recovers(agent: AgentProcess) -> None:
    """slapd takes the connection and never answers: the call ends by its own limit, the loop goes on."""
    history, alice = agent.site_api.history, agent.slapd.target("alice")
    agent.start(module=DRIVEN, DRIVE=QUICK)
    agent.wait_ready()
    with agent.slapd.frozen():
        key = history.present(K1, alice)
        agent.outcome(key, "pending", "directory_no_answer", seconds=60)
    agent.outcome(key, "applied", seconds=60)
