"""The use cases over the real journal: killed at every step, refused, waiting (S1, S2, E2, X5, X7)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from site_bundle.kernel.errors import SiteError, UnavailableError
from site_bundle.kernel.https import PeerRefusedError, PeerUnavailableError
from site_bundle.runtime.adapters.wire_words import encode_ack, encode_result
from site_bundle.runtime.application.close_attempt import CloseAttempt
from site_bundle.runtime.application.ports import Rejected
from site_bundle.runtime.application.words import Words
from site_bundle.runtime.domain.command import CleanUp, StageName
from site_bundle.runtime.domain.rejections import REJECTIONS
from site_bundle.runtime.domain.script import EXIT_CODES
from tests.unit.site_bundle.runtime.scenes import COMMAND, NOW, action, after, command
from tests.unit.site_bundle.runtime.world import TOKEN, Died, World

STEPS = ["intent-journalled", "submitted", "job-journalled", "ack-sent", "ack-delivered", "look-journalled",
         "result-sent", "result-delivered"]  # fmt: skip


def said(world: World) -> dict[str, Any]:
    """The last body of each kind."""
    return {word.kind: json.loads(word.body) for word in world.sent}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("lose", [0, 1])
def test_s1_killed_at_every_step_one_job_one_verdict_the_same_bytes(
    world: World, step: str, lose: int
) -> None:
    world.receive(replace(COMMAND, valid_until=after(900)))
    world.lose, world.die_at = lose, step
    for at in (10.0, 20.0, 30.0, 250.0, 260.0, 460.0, 480.0):
        try:
            world.turn(at)
        except Died:
            world.restart()
        world.done = at >= 20
    assert len(world.jobs) == 1
    assert said(world)["ack"]["jobId"] == "7"
    assert said(world)["result"]["verdict"] == "completed"
    for kind in ("ack", "result"):
        assert len({word.body for word in world.sent if word.kind == kind}) == 1, "byte for byte"


def test_s1_command_is_handled_once_whatever_lists_it(world: World) -> None:
    world.receive(COMMAND)
    world.turn()
    world.receive(replace(COMMAND, sequence=9, valid_until=after(900)))
    world.done = True
    world.turn(20)
    world.receive(COMMAND)
    world.turn(30)
    assert len(world.jobs) == 1 and len(world.sent) == 2


def test_x5_journal_holds_no_token_and_no_credential(world: World, tmp_path: Path) -> None:
    world.receive(command(1, action(StageName.STAGE_IN)))
    world.turn()
    (job,) = world.jobs
    assert job.environment == {
        "PHAROS_REPOSITORY_USERNAME": "pharos-run",
        "PHAROS_REPOSITORY_PASSWORD": "planted-password",
    }
    world.restart()
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"planted" not in stored and "planted" not in repr((job, TOKEN, world.events))


@pytest.mark.parametrize(
    ("token", "code"),
    [
        (replace(TOKEN, valid_until=NOW), "member_token_expired"),
        (replace(TOKEN, credential=None), "credential_missing"),
        (PeerUnavailableError("unavailable", found="status 503"), "unavailable"),
        (PeerRefusedError("consent_expired", status=409, found="status 409"), "consent_expired"),
        (PeerRefusedError("authority_refused", status=403, found="status 403"), "authority_refused"),
    ],
)
def test_e5_without_a_token_it_waits_and_runs_out(world: World, token: Any, code: str) -> None:
    world.receive(command(1, action(StageName.STAGE_IN)))
    world.token = token
    with pytest.raises(SiteError) as waits:
        world.turn()
    assert waits.value.code == code and world.jobs == [] and world.sent == []
    world.turn(61)
    assert said(world)["ack"]["code"] == "command_expired"


def test_x1_e1_name_that_is_gone_while_accounting_has_it_is_no_absence(world: World) -> None:
    """sssd with an unreachable directory says "no such user" of whom it has not cached."""
    world.receive(COMMAND)
    there, world.who = world.who, None
    with pytest.raises(UnavailableError) as waits:
        world.turn()
    assert waits.value.code == "names_unavailable" and world.sent == []
    world.who = there
    world.turn()
    assert len(world.jobs) == 1


def test_e1_name_and_association_gone_is_another_incarnation(world: World) -> None:
    world.receive(COMMAND)
    world.who, world.ids = None, frozenset()
    world.turn()
    assert said(world)["ack"]["code"] == "identity_changed" and world.jobs == []


def test_e3_command_central_knows_as_acknowledged_is_set_aside(world: World) -> None:
    world.receive(COMMAND)
    world.token = PeerRefusedError("command_acknowledged", status=409, found="status 409")
    world.turn()
    assert (world.jobs, world.sent, world.journal.stages()) == ([], [], ())


DEFINITE = {
    "account_refused", "partition_unknown", "qos_refused", "resources_unavailable", "gres_refused",
    "time_limit_refused", "partition_limit", "policy_limit", "partition_refused", "access_denied",
    "site_policy_refused",
}  # fmt: skip


def test_s12_table_of_rejections_is_this() -> None:
    assert {code for table in REJECTIONS.values() for code in table.values()} == DEFINITE | {
        "token_refused",
        "partition_down",
        "user_unknown",
    }
    assert set(EXIT_CODES.values()) == {
        "workspace_refused", "account_unknown_on_node", "helper_unusable", "tools_missing", "clone_failed",
        "commit_missing", "large_files_failed", "output_missing", "commit_failed", "push_failed",
        "result_unwritten",
    }  # fmt: skip


@pytest.mark.parametrize("code", sorted(DEFINITE))
def test_s12_definite_rejection_is_refused_by_its_name(world: World, code: str) -> None:
    world.receive(COMMAND)
    world.outcome = Rejected(code)
    world.turn()
    assert said(world)["ack"] | {"outcome": "refused", "code": code, "jobId": None} == said(world)["ack"]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("token_refused", "slurm_token_refused"),
        ("partition_down", "slurm_partition_down"),
        ("user_unknown", "slurm_user_unknown"),
    ],
)
def test_s12_c12_what_may_pass_is_tried_again(world: World, code: str, told: str) -> None:
    world.receive(COMMAND)
    world.outcome = Rejected(code)
    with pytest.raises(UnavailableError) as waits:
        world.turn()
    assert waits.value.code == told
    world.outcome = None
    world.turn(20)
    assert len(world.jobs) == 1


def test_x1_source_that_is_down_ends_nothing(world: World) -> None:
    world.receive(COMMAND)
    world.turn()
    world.down = True
    with pytest.raises(UnavailableError):
        world.turn(99_999)
    assert "result" not in said(world)


def test_s2_result_of_stage_out_needs_its_ref(world: World) -> None:
    world.receive(command(1, action(StageName.STAGE_OUT)))
    world.turn()
    world.done, world.result = True, None
    world.turn(20)
    assert (said(world)["result"]["verdict"], said(world)["result"]["code"]) == ("failed", "output_unknown")


def test_e7_attempt_that_is_closed_begins_nothing(world: World) -> None:
    world.receive(COMMAND, command(2, CleanUp()))
    world.turn()
    assert said(world)["ack"]["code"] == "attempt_cancelled" and world.jobs == []


def test_s4_cleanup_waits_for_the_verdict_that_is_read_from_the_folder(world: World) -> None:
    ports: Any = world
    words = Words(uuid4, encode_ack, encode_result)
    close = CloseAttempt(world.journal, ports, ports, words, ports, False, world.checkpoint)
    world.receive(command(1, action(StageName.STAGE_OUT)))
    world.turn()
    world.receive(command(2, CleanUp()))
    (cleanup,) = world.journal.closings()
    assert not close.run(cleanup, now=after(15))
    assert "release" not in [event[0] for event in world.events]
    world.done = True
    world.turn(20)
    assert said(world)["result"]["verdict"] == "completed"
    assert close.run(cleanup, now=after(25)) and world.journal.closings() == ()
    assert "release" in [event[0] for event in world.events]


def test_s14_observe_says_and_does_nothing(world: World) -> None:
    world.receive(COMMAND)
    world.turn(observe=True)
    assert [event[0] for event in world.events if event[0] == "would"] and world.sent == []
    world.turn(99, observe=True)
    assert world.sent == [] and world.jobs == []


def test_x7_word_refused_for_good_is_kept_aside_and_another_waits(world: World) -> None:
    world.receive(COMMAND)
    world.refuse = PeerRefusedError("command_unknown", status=404, found="status 404")
    world.turn()
    world.refuse = None
    assert world.journal.waiting_words(9) == ()
    world.done = True
    world.refuse = PeerRefusedError("command_not_acknowledged", status=409, found="status 409")
    world.turn(20)
    assert [word.kind for word in world.journal.waiting_words(9)] == ["ack"], "said once more, first"
    world.refuse = None
    world.turn(30)
    assert [word.kind for word in world.sent] == ["ack", "result"]
