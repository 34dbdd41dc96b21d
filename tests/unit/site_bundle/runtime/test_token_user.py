"""Whom Slurm takes a token for follows the setting as it is now (S2, X1)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from site_bundle.kernel.errors import UnavailableError
from site_bundle.kernel.ranges import NumberRange
from site_bundle.runtime.adapters.token_user import CurrentTokenUsers
from site_bundle.runtime.adapters.wire_words import encode_ack, encode_result
from site_bundle.runtime.application.begin_stage import BeginStage, Site
from site_bundle.runtime.application.words import Words
from site_bundle.runtime.domain.stage import State
from tests.unit.site_bundle.runtime.scenes import COMMAND, after
from tests.unit.site_bundle.runtime.world import TOKEN, World, token_of

CLAIM = "AuthAltParameters"
BOTH = token_of(first="alice", second="mallory")


class Slurm:
    """The controller's settings, a clock, and how often they were asked for."""

    def __init__(self, claim: str) -> None:
        self.claim: str | None = claim
        self.clock, self.asked = 100.0, 0

    def settings(self) -> dict[str, str]:
        self.asked += 1
        if self.claim is None:
            raise UnavailableError("slurm_unavailable", found="scontrol: exit 1")
        return {CLAIM: f"jwks=/k,userclaimfield={self.claim}"}

    def users(self) -> CurrentTokenUsers:
        return CurrentTokenUsers(self.settings, lambda: self.clock)


def test_s2_a_changed_claim_is_noticed_without_a_restart() -> None:
    slurm = Slurm("first")
    users = slurm.users()
    assert users.user(BOTH) == users.user(BOTH) == "alice" and slurm.asked == 1
    slurm.claim = "second"
    slurm.clock += users.seconds
    assert users.user(BOTH) == "mallory" and slurm.asked == 2


def test_x1_while_the_setting_cannot_be_read_nobody_is_assumed() -> None:
    slurm = Slurm("first")
    users = slurm.users()
    users.user(BOTH)
    slurm.claim, slurm.clock = None, slurm.clock + users.seconds
    for _ in range(2):
        with pytest.raises(UnavailableError):
            users.user(BOTH)
    slurm.claim = "second"
    assert users.user(BOTH) == "mallory"


def test_s2_a_stage_is_not_submitted_with_a_token_that_became_anothers(world: World) -> None:
    slurm = Slurm("first")
    users, anything = slurm.users(), world
    users.user(BOTH)
    slurm.claim, slurm.clock = "second", slurm.clock + users.seconds
    world.token = replace(TOKEN, token=BOTH)
    world.receive(COMMAND)
    ports: Any = anything
    begin = BeginStage(
        api=ports, journal=world.journal, accounts=ports, grants=ports, submission=ports,
        render=lambda _stage: "#!/bin/sh\n", words=Words(uuid4, encode_ack, encode_result),
        site=Site("icarus", "staging", "compute"), uids=NumberRange(5000000, 5499999),
        token_user=users.user, events=ports, observe=False,
    )  # fmt: skip
    (stage,) = world.journal.stages()
    with pytest.raises(UnavailableError) as refused:
        begin.run(stage, may_begin=True, now=after(1))
    assert refused.value.code == "member_token_of_another" and world.jobs == []
    assert world.journal.stages()[0].state is State.RECEIVED
