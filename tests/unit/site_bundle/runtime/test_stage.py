"""One stage's decisions (S1, E1, E2; A05, A10, A11, A12, A17, A18, A29, A31, A32, A33, A43)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from site_bundle.runtime.domain.closing import to_cancel, unsettled
from site_bundle.runtime.domain.jobs import ACTIVE, JobRef, QueuedJob
from site_bundle.runtime.domain.rejections import rejection
from site_bundle.runtime.domain.resources import InexactError, asked
from site_bundle.runtime.domain.stage import (
    Account,
    Graces,
    Stage,
    State,
    after_look,
    identity_stands,
    seen,
    submitted,
    why_not_begun,
)
from site_bundle.runtime.domain.verdict import Verdict
from tests.unit.site_bundle.runtime.scenes import (
    ALICE,
    INTENT,
    MARKER,
    NOW,
    RECEIVED,
    SUBMITTED,
    UID,
    after,
    look,
    queued,
    run,
)

SAID = "sbatch: error: Batch job submission failed: "
CONFIGURATION = "Requested node configuration is not available"
GRACES = Graces(lookup=timedelta(seconds=180), requeue=timedelta(seconds=60), missing=timedelta(seconds=900))


def seen_by(stage: Stage, *found: Any, at: float = 20) -> Stage:
    return after_look(stage, look(*found, at=at), GRACES, cluster="icarus")


def test_e2_a_command_past_its_validity_is_not_begun() -> None:
    assert why_not_begun(RECEIVED, after(60), closing=False) is None
    assert why_not_begun(RECEIVED, after(60.001), closing=False) == "command_expired"
    assert why_not_begun(RECEIVED, NOW, closing=True) == "attempt_cancelled"


@pytest.mark.parametrize(
    ("account", "ids", "stands"),
    [
        (Account(UID, "/home/alice"), {42}, True),
        (Account(UID + 1, "/home/alice"), {42}, False),
        (Account(UID, "/home/alice"), {43}, False),
        (Account(UID, "/home/alice"), set(), False),
        (None, {42}, False),
    ],
)
def test_e1_identity_is_name_number_and_association(
    account: Account | None, ids: set[int], stands: bool
) -> None:
    assert identity_stands(ALICE, account, ids) is stands
    assert not identity_stands(replace(ALICE, native_uid="5f1c9a30"), account, ids)


def test_A33_lost_answer_the_marker_tells() -> None:
    found = seen_by(INTENT, queued(), at=1)
    assert found.state is State.SUBMITTED and found.job == JobRef("7", "icarus", after(1))
    assert seen_by(INTENT, run(cluster="clu1")).job == JobRef("7", "clu1", after(1))


def test_A32_empty_answers_are_believed_only_after_the_grace() -> None:
    assert seen_by(INTENT, at=179) == INTENT
    again = seen_by(INTENT, at=180)
    assert (again.state, again.intent_at, again.job) == (State.RECEIVED, None, None)
    assert seen_by(SUBMITTED, at=3).state is State.SUBMITTED


@pytest.mark.parametrize(
    "changes",
    [
        {"uid": 5000002},
        {"name": "pharos:x"},
        {"submitted_at": datetime(2017, 10, 3, tzinfo=UTC)},
    ],
)
def test_A12_recycled_id_or_foreign_marker_is_not_ours(changes: dict[str, Any]) -> None:
    foreign = run(**changes)
    assert seen_by(INTENT, foreign) == INTENT
    assert seen_by(replace(SUBMITTED, job=JobRef("7", "icarus", None)), foreign).state is State.SUBMITTED
    ours = seen_by(SUBMITTED, foreign, queued())
    assert ours.state is State.SUBMITTED and ours.missing_since is None


def test_A12_other_job_of_the_same_marker_is_not_the_known_one() -> None:
    assert seen_by(SUBMITTED, run(job_id="8")).state is State.SUBMITTED
    assert seen(INTENT, look(run(job_id="8", submitted_at=after(5)), queued())).job_ids == ("7", "8")


def test_renamed_job_stays_ours() -> None:
    """Its owner may rename it; id, number and time of submission are as they were."""
    assert seen_by(SUBMITTED, run(name="other")).state is State.ENDED
    assert seen_by(INTENT, queued(name="other")).state is State.SUBMITTED, "the comment bears the marker too"


def test_A11_final_in_accounting_and_pending_in_the_queue_is_no_end() -> None:
    for state in ("PREEMPTED", "NODE_FAIL", "COMPLETED"):
        assert seen_by(SUBMITTED, run(state), queued("PENDING")) == SUBMITTED
    assert seen_by(SUBMITTED, run("PREEMPTED"), at=13) == SUBMITTED, "a requeue may not show yet"
    ended = seen_by(SUBMITTED, run("PREEMPTED"), at=80)
    assert ended.end is not None and (ended.end.verdict, ended.end.code) == (Verdict.FAILED, "preempted")


@pytest.mark.parametrize("state", sorted(ACTIVE))
def test_A11_active_states_are_never_an_end(state: str) -> None:
    assert seen_by(SUBMITTED, run(), queued(state)).state is State.SUBMITTED


def test_A10_latest_run_counts_and_usage_is_of_all() -> None:
    first = run("PREEMPTED", ended_at=after(302), elapsed=300)
    again = run(
        submitted_at=after(400),
        started_at=after(500),
        ended_at=after(1760),
        elapsed=1260,
        allocated=(("cpu", 4000),),
    )
    ended = seen_by(SUBMITTED, first, again, at=2000)
    assert ended.end is not None and ended.end.usage is not None
    assert (ended.end.verdict, ended.end.usage.elapsed_seconds) == (Verdict.COMPLETED, 1560)
    assert ended.end.usage.allocated == {"cpu": 4000, "memory": 1 << 30}
    assert (ended.end.started_at, ended.end.ended_at) == (after(2), after(1760))


@pytest.mark.parametrize(
    ("state", "more", "verdict"),
    [
        ("COMPLETED", {}, Verdict.COMPLETED),
        ("FAILED", {"exit_code": 7}, Verdict.FAILED),
        ("CANCELLED", {"cancelled_by": 5000001, "signal": 15}, Verdict.CANCELLED),
        ("TIMEOUT", {}, Verdict.TIMED_OUT),
        ("DEADLINE", {}, Verdict.TIMED_OUT),
        ("OUT_OF_MEMORY", {"signal": 125}, Verdict.OUT_OF_MEMORY),
        ("NODE_FAIL", {}, Verdict.NODE_FAILED),
        ("BOOT_FAIL", {}, Verdict.NODE_FAILED),
        ("COMPLETED", {"exit_code": 1}, Verdict.FAILED),
    ],
)
def test_A05_final_states(state: str, more: dict[str, Any], verdict: Verdict) -> None:
    ended = seen_by(SUBMITTED, run(state, **more), at=500)
    assert ended.end is not None and ended.end.verdict is verdict


def test_A17_cancelled_before_it_began_has_no_start_and_no_usage() -> None:
    never = run("CANCELLED", started_at=None, elapsed=0, allocated=())
    ended = seen_by(SUBMITTED, never)
    assert ended.end is not None and ended.end.usage is not None
    assert (ended.end.started_at, ended.end.usage.elapsed_seconds) == (None, 0)


def test_A17_cancelled_before_it_was_eligible_is_in_the_queue_alone() -> None:
    waiting = seen_by(SUBMITTED, queued("CANCELLED"))
    assert waiting.state is State.SUBMITTED and waiting.missing_since == after(20)
    assert seen_by(waiting, queued("CANCELLED"), at=199).state is State.SUBMITTED
    ended = seen_by(waiting, queued("CANCELLED"), at=200)
    assert ended.end is not None and ended.end.verdict is Verdict.CANCELLED
    assert seen_by(waiting, queued("COMPLETED"), at=5000).state is State.SUBMITTED, "accounting must tell"


def test_A18_running_in_accounting_is_no_end() -> None:
    assert seen_by(SUBMITTED, run("RUNNING", ended_at=None), queued()) == SUBMITTED


def test_A21_unreadable_run_is_no_end() -> None:
    assert seen_by(SUBMITTED, run(faulty=True), at=5000) == SUBMITTED


def test_A31_gone_from_the_queue_asks_accounting() -> None:
    assert seen_by(SUBMITTED, run()).state is State.ENDED


def test_lost_only_after_its_grace_and_from_both() -> None:
    missed = seen_by(SUBMITTED, at=100)
    assert missed.missing_since == after(100)
    assert seen_by(missed, at=999).state is State.SUBMITTED
    assert seen_by(missed, queued(), at=500).missing_since is None
    lost = seen_by(missed, at=1000)
    assert lost.end is not None and (lost.end.verdict, lost.end.code) == (Verdict.LOST, "not_in_accounting")
    orphan = seen_by(missed, run("RUNNING", ended_at=None), at=1000)
    assert orphan.end is not None and orphan.end.verdict is Verdict.LOST, "an end nobody wrote down"


def test_job_known_by_its_answer_gets_its_time_from_the_first_look() -> None:
    answered = submitted(INTENT, JobRef("7", "icarus", None))
    assert seen_by(answered, queued()).job == JobRef("7", "icarus", after(1))


JOBS = st.builds(
    QueuedJob,
    st.sampled_from(["7", "8"]),
    st.sampled_from([UID, 5000002]),
    st.sampled_from(["RUNNING", "COMPLETED", "CANCELLED"]),
    st.sampled_from([after(-1000), after(1)]),
    st.sampled_from([MARKER, "x"]),
    st.sampled_from([MARKER, ""]),
)


@given(st.lists(JOBS, max_size=4), st.floats(0, 10_000))
def test_s1_a_stage_never_goes_back_while_a_job_of_its_marker_is_there(
    jobs: list[QueuedJob], at: float
) -> None:
    """The way back to `received`, and so to a second submission, needs an empty look past the grace."""
    found = after_look(INTENT, look(*jobs, at=at), GRACES, cluster="icarus")
    if found.state is State.RECEIVED:
        assert at >= 180
        assert not [
            j for j in jobs if j.uid == UID and j.submitted_at >= NOW and MARKER in {j.name, j.comment}
        ]


def test_A36_cancel_names_each_active_job_and_waits_for_the_unsettled() -> None:
    both = look(queued(), queued("PENDING", job_id="9"), queued("COMPLETED", job_id="10"))
    assert [job for _, job in to_cancel((INTENT,), both)] == ["7", "9"]
    assert unsettled((RECEIVED,)) and unsettled((INTENT,)) and not unsettled((SUBMITTED,))


def test_x3_resources_are_exact_or_refused() -> None:
    assert asked({"cpu": 2000, "memory": 3 << 20, "gpu.gh200": 1}, 60).gpus == (("gh200", 1),)
    for resources, code in [
        ({"cpu": 1500, "memory": 1 << 20}, "cpu_not_whole"),
        ({"cpu": 1000, "memory": (1 << 20) + 1}, "memory_not_whole"),
        ({"cpu": 1000, "memory": 1 << 20, "ephemeral_storage": 1}, "component_unknown"),
    ]:
        with pytest.raises(InexactError) as refused:
            asked(resources, 60)
        assert refused.value.code == code


@pytest.mark.parametrize(
    ("complaint", "code"),
    [
        (f"{SAID}Invalid account or account/partition combination specified\n", "account_refused"),
        (
            f"sbatch: error: Memory specification can not be satisfied\n{SAID}{CONFIGURATION}\n",
            "resources_unavailable",
        ),
        (f"{SAID}Socket timed out on send/recv operation\n", None),
        (f"{SAID}Unable to contact slurm controller (connect failure)\n", None),
        (f"{SAID}{CONFIGURATION}\n{SAID}{CONFIGURATION}\n", None),
        ("Batch job submission failed: Invalid qos specification\n", None),
        ("", None),
    ],
)
def test_s12_only_the_controllers_own_word_is_definite(complaint: str, code: str | None) -> None:
    assert rejection((24, 11), complaint) == code
