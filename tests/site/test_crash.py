"""Killed at each durable step and started again: every key is in the directory once, every result at
central once.
"""

from __future__ import annotations

import json
import signal
import sqlite3

import pytest

from tests.site.agent import AgentProcess
from tests.site.keys import K1, K2, K3, K9

pytestmark = pytest.mark.slapd

CHECKPOINTS = [
    "before-modify",
    "after-modify",
    "after-read-back",
    "verdicts-journalled",
    "report-journalled",
    "report-sent",
    "receipts-journalled",
]


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("name", CHECKPOINTS)
def test_killed_at(agent: AgentProcess, name: str, times: int) -> None:
    slapd, history = agent.slapd, agent.site_api.history
    slapd.put("alice", K9.encode())
    alice, bob = slapd.target("alice"), slapd.target("bob")
    gone = history.present(K3, bob)
    agent.start(module="tests.site.driven_agent")
    agent.outcome(gone, "applied")
    agent.stop()
    keys = [history.present(K1, alice), history.present(K2, alice), history.present(K1, bob)]
    history.absent(gone)
    # The second death is at the next change, report or pass of the same run.
    agent.start(module="tests.site.driven_agent", DRIVE=json.dumps({"die_at": name, "times": times}))
    if times == 1 or name in {"before-modify", "after-modify"}:
        assert agent.wait_dead() == -signal.SIGKILL
    else:
        agent.wait_until(
            lambda: agent.dead() or history.outcome(keys[0]) == ("applied", None), "death or done"
        )
        agent.kill_now()
    agent.start(module="tests.site.driven_agent")
    agent.wait_ready()
    for key in keys:
        agent.outcome(key, "applied")
    agent.outcome(gone, "removed_from_directory")
    assert slapd.values("alice") == sorted([K1.encode(), K2.encode(), K9.encode()])
    assert slapd.values("bob") == [K1.encode()]
    assert agent.stop() == 0
    assert history.results.keys() >= {history.changes[key]["changeId"] for key in [*keys, gone]}


def test_report_is_retried_byte_for_byte(agent: AgentProcess) -> None:
    """X7, S8: the answer is lost, the process is killed, the same bytes come again under the same id."""
    history = agent.site_api.history
    agent.site_api.server.faults.plan("results", "lose", "drop")
    key = history.present(K1, agent.slapd.target("alice"))
    agent.start(module="tests.site.driven_agent", DRIVE=json.dumps({"limits": {"first_retry_seconds": 30}}))
    agent.wait_until(lambda: len(history.reports) == 1, "a report received")
    agent.kill_now()
    sent = dict(history.reports)
    agent.start(module="tests.site.driven_agent", DRIVE=json.dumps({"limits": {"first_retry_seconds": 0.1}}))
    agent.wait_until(lambda: "report_received" in agent.log(), "a receipt")
    assert history.reports == sent
    assert history.outcome(key) == ("applied", None)


def test_journal_that_cannot_be_written_for_a_while(agent: AgentProcess) -> None:
    """Nothing is done that was not recorded first; when the journal takes writes again all goes on."""
    history, alice = agent.site_api.history, agent.slapd.target("alice")
    agent.start(module="tests.site.driven_agent", DRIVE=json.dumps({"limits": {"first_retry_seconds": 0.1}}))
    agent.wait_ready()
    blocker = sqlite3.connect(agent.state / "journal.sqlite", isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    key = history.present(K1, alice)
    agent.wait_until(
        lambda: (
            (agent.status() or {}).get("checks", {}).get("journal", {}).get("code") == "journal_unwritable"
        ),
        "said",
    )
    assert agent.slapd.values("alice") == []
    blocker.execute("ROLLBACK")
    blocker.close()
    agent.outcome(key, "applied")
    agent.wait_ready()


def test_second_writer_is_refused(agent: AgentProcess) -> None:
    agent.start()
    agent.wait_ready()
    second = agent.ask("run")
    assert second.returncode == 3
    assert "journal_locked" in second.stderr
    assert agent.stop() == 0
