"""The whole way: a key at central, in the directory, reported; out again, reported (S7)."""

from __future__ import annotations

import pytest

from tests.site.agent import AgentProcess
from tests.site.keys import K1, K2

pytestmark = pytest.mark.slapd


def test_key_in_and_out(agent: AgentProcess) -> None:
    alice = agent.slapd.target("alice")
    history = agent.site_api.history
    agent.start()
    first = history.present(K1, alice)
    agent.outcome(first, "applied")
    second = history.present(K2, alice)
    agent.outcome(second, "applied")
    assert agent.slapd.values("alice") == sorted([K1.encode(), K2.encode()])
    history.absent(first)
    agent.outcome(first, "removed_from_directory")
    assert agent.slapd.values("alice") == [K2.encode()]
    assert agent.stop() == 0
