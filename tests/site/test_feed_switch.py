"""Another history at central: nothing is removed until an operator accepts it (docs/wire.md)."""

from __future__ import annotations

import json
import uuid

import pytest

from tests.simulators.site_api.history import History
from tests.site.agent import AgentProcess
from tests.site.keys import K1, K2, K3, K9

pytestmark = pytest.mark.slapd

QUICK = json.dumps({"limits": {"first_retry_seconds": 0.1, "reconcile_seconds": 0.5, "wait_seconds": 1}})
DRIVEN = "tests.site.driven_agent"


def switch(agent: AgentProcess, history: History) -> None:
    """central now answers from `history`."""
    agent.site_api.history = history
    agent.site_api.server.history = history
    agent.site_api.server.cut()


def test_restored_central(agent: AgentProcess) -> None:
    slapd, old = agent.slapd, agent.site_api.history
    alice = slapd.target("alice")
    slapd.put("alice", K9.encode())
    agent.start(module=DRIVEN, DRIVE=QUICK)
    lost, kept = old.present(K1, alice), old.present(K2, alice)
    agent.outcome(lost, "applied")
    agent.outcome(kept, "applied")
    # A history that never knew K1, wants K3, and says K2 is out.
    new = History()
    new.present(K2, alice, kept)
    new.absent(kept)
    wanted = new.present(K3, alice)
    switch(agent, new)
    agent.outcome(wanted, "applied")
    agent.outcome(kept, "held", "feed_not_accepted")
    everything = sorted(line.encode() for line in (K1, K2, K3, K9))
    assert slapd.values("alice") == everything
    status = agent.status()
    assert status is not None
    assert status["state"] == "degraded"
    assert status["checks"]["feed"]["code"] == "feed_not_accepted"
    assert new.feed in status["checks"]["feed"]["remedy"]
    assert status["feed"]["current"] == new.feed != status["feed"]["accepted"]

    wrong = agent.ask("accept-feed", str(uuid.uuid4()))
    assert wrong.returncode == 0, "asked; the running agent decides"
    agent.wait_until(lambda: "feed_not_current" in agent.log(), "the refusal")
    assert slapd.values("alice") == everything

    done = agent.ask("accept-feed", new.feed)
    assert done.returncode == 0
    assert "asked the running agent" in done.stdout
    agent.outcome(kept, "removed_from_directory")
    agent.wait_until(
        lambda: slapd.values("alice") == sorted([K3.encode(), K9.encode()]), "the unlisted key removed"
    )
    agent.wait_ready()
    assert not (agent.state / "accept-feed").exists()


def test_accepting_while_the_agent_does_not_run(agent: AgentProcess) -> None:
    slapd, old = agent.slapd, agent.site_api.history
    alice = slapd.target("alice")
    agent.start(module=DRIVEN, DRIVE=QUICK)
    key = old.present(K1, alice)
    agent.outcome(key, "applied")
    new = History()
    wanted = new.present(K2, alice)
    switch(agent, new)
    agent.outcome(wanted, "applied")
    assert agent.stop() == 0
    wrong = agent.ask("accept-feed", old.feed)
    assert wrong.returncode == 3
    assert "feed_not_current" in wrong.stderr
    assert agent.ask("accept-feed", "nonsense").returncode == 2
    done = agent.ask("accept-feed", new.feed)
    assert (done.returncode, "1 key(s)" in done.stdout) == (0, True)
    agent.start(module=DRIVEN, DRIVE=QUICK)
    agent.wait_until(lambda: slapd.values("alice") == [K2.encode()], "the unlisted key removed")


def test_X1_restored_central_of_the_same_feed_id(agent: AgentProcess) -> None:
    """A backup keeps the id and lowers the head: nothing is removed until the id is accepted anew."""
    slapd, old = agent.slapd, agent.site_api.history
    alice = slapd.target("alice")
    agent.start(module=DRIVEN, DRIVE=QUICK)
    kept, lost = old.present(K1, alice), old.present(K2, alice)
    agent.outcome(lost, "applied")
    agent.outcome(kept, "applied")
    agent.wait_ready()
    # The backup is from before both; since then K1 was granted again and taken back.
    restored = History(feed=old.feed)
    restored.present(K1, alice, kept)
    switch(agent, restored)
    agent.wait_until(
        lambda: (
            (agent.status() or {}).get("checks", {}).get("feed", {}).get("code") == "feed_position_unknown"
        ),
        "the feed's own check",
    )
    restored.absent(kept)
    agent.outcome(kept, "held", "feed_not_accepted")
    assert slapd.values("alice") == sorted([K1.encode(), K2.encode()])
    agent.stop()
    agent.start(module=DRIVEN, DRIVE=QUICK)
    agent.wait_until(lambda: (agent.status() or {}).get("state") == "degraded", "a start that remembers")
    assert agent.ask("accept-feed", old.feed).returncode == 0
    agent.wait_until(lambda: slapd.values("alice") == [], "both keys removed")
    agent.outcome(kept, "removed_from_directory")
    agent.wait_ready()


def test_known_history_comes_back(agent: AgentProcess) -> None:
    """A second central answered for a while: what it alone wanted goes again, by the accepted history."""
    slapd, old = agent.slapd, agent.site_api.history
    alice = slapd.target("alice")
    agent.start(module=DRIVEN, DRIVE=QUICK)
    key = old.present(K1, alice)
    agent.outcome(key, "applied")
    other = History()
    foreign = other.present(K2, alice)
    switch(agent, other)
    agent.outcome(foreign, "applied")
    switch(agent, old)
    agent.wait_until(lambda: slapd.values("alice") == [K1.encode()], "the accepted state")
    agent.wait_ready()


def test_another_site_is_refused(agent: AgentProcess) -> None:
    """A token of another Site: its keys do not reach this directory."""
    alice = agent.slapd.target("alice")
    agent.start(module=DRIVEN, DRIVE=QUICK)
    agent.wait_ready()
    other = History(site="other")
    other.present(K1, alice)
    switch(agent, other)
    agent.wait_until(
        lambda: (agent.status() or {}).get("checks", {}).get("feed", {}).get("code") == "feed_broken",
        "the refusal",
    )
    assert agent.slapd.values("alice") == []


def test_lost_journal_is_read_again(agent: AgentProcess) -> None:
    """The complete desired state comes from after=0; nothing is written twice, removals are known again."""
    slapd, history = agent.slapd, agent.site_api.history
    alice = slapd.target("alice")
    agent.start(module=DRIVEN, DRIVE=QUICK)
    kept, gone = history.present(K1, alice), history.present(K2, alice)
    agent.outcome(gone, "applied")
    agent.stop()
    for path in agent.state.glob("journal.sqlite*"):
        path.unlink()
    history.absent(gone)
    agent.start(module=DRIVEN, DRIVE=QUICK)
    agent.outcome(gone, "removed_from_directory")
    agent.outcome(kept, "applied")
    assert slapd.values("alice") == [K1.encode()]
