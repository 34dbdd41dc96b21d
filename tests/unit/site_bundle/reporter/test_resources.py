"""What is reported of each allocation's limits and use (S8, P2, X3; areas A and D, W09, W14, W36, W37)."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from uuid import UUID

import pytest

from site_bundle.reporter.adapters.slurm_cluster import _accounts, _jobs, canonical
from site_bundle.reporter.domain.amounts import checked_capacity, node_capacity
from site_bundle.reporter.domain.decide import ResourceReport
from site_bundle.reporter.domain.sources import Listing, Row, RowState
from site_bundle.reporter.domain.usage import compare, node_seconds
from site_bundle.slurm.associations import ShowAssociations
from site_bundle.slurm.errors import UnreadableOutputError
from site_bundle.slurm.running_jobs import RunningJob
from site_bundle.slurm.tres import parse_tres
from tests.unit.site_bundle.reporter.scenes import (
    CAPACITY,
    GIB,
    KNOWN,
    NODE,
    REF,
    ROW,
    account,
    decided,
    faults,
    slurm,
)


def report(**changes: object) -> ResourceReport:
    return decided(**changes).resources[0]


def test_s8_nodes_alone() -> None:
    found = report()
    assert found.applied == found.configured == CAPACITY
    assert found.used is None, "nothing is limited, so nothing is counted"


def test_w09_s8_limits_of_the_account_and_of_those_above_lower_it() -> None:
    tree = slurm(
        account(name="group", cpu=8000),
        account(parent="group", memory=8 * GIB),
        jobs={"proj_a": ({"memory": GIB},)},
    )
    found = report(slurm=tree)
    assert found.applied == {"cpu": 8000, "gpu.gh200": 2, "memory": 8 * GIB}
    assert found.used == {"memory": GIB}, "what the account itself limits is counted, nothing else"


def test_w14_untyped_gpu_limit_lowers_each_model() -> None:
    found = report(slurm=slurm(account(gpu=1), jobs={"proj_a": ({"gpu": 1, "gpu.gh200": 1},)}))
    assert found.applied is not None and found.applied["gpu.gh200"] == 1 and found.used == {"gpu.gh200": 1}


def test_s8_used_is_of_the_account_and_of_those_below() -> None:
    tree = slurm(
        account(cpu=8000),
        account(name="sub", parent="proj_a"),
        account(name="other"),
        jobs={"proj_a": ({"cpu": 1000},), "sub": ({"cpu": 2000}, {"cpu": 500}), "other": ({"cpu": 64000},)},
    )
    assert report(slurm=tree).used == {"cpu": 3500}
    assert report(slurm=slurm(account(cpu=8000))).used == {"cpu": 0}


def test_x3_unreadable_limits_are_not_known() -> None:
    """Of the account, or of one above it; another allocation is whole."""
    other = replace(ROW, resource_id=UUID(int=7), account="proj_b")
    tree = slurm(replace(account(), limits=None), account(name="proj_b"))
    decision = decided(slurm=tree, listing=Listing((ROW, other)))
    assert (decision.resources[0].applied, decision.resources[0].used) == (None, None)
    assert decision.resources[1].applied == CAPACITY and faults(decision) == ["limits_unreadable"]


def test_x3_unreadable_job_hides_the_use_alone() -> None:
    decision = decided(slurm=slurm(account(cpu=8000), jobs={"proj_a": ({"cpu": 1000}, None)}))
    assert decision.resources[0].used is None and decision.resources[0].applied is not None
    assert faults(decision) == ["usage_unreadable"]


def test_w37_component_slurm_does_not_count_is_left_out() -> None:
    found = report(slurm=slurm(account(gpu=1), known=KNOWN - {"gpu.gh200"}))
    assert found.applied == {"cpu": 16000, "memory": 64 * GIB} and found.used is None


@pytest.mark.parametrize("taken", ["pharos", "root"])
def test_w36_the_parent_itself_is_no_allocation(taken: str) -> None:
    decision = decided(listing=Listing((replace(ROW, account=taken),)))
    assert decision.resources[0].applied is None and not decision.sets
    assert faults(decision) == ["account_outside_parent"]


@pytest.mark.parametrize(
    ("held", "used"),
    [
        ("cpu=2,gres/gpu=1,gres/gpu:gh200=1", 1),
        ("cpu=2,gres/gpu:gh200=1", 1),
        ("cpu=2,gres/gpu=1", None),
        ("cpu=2,gres/gpu=3,gres/gpu:gh200=1,gres/gpu:h100=1", None),
    ],
)
def test_w14_a22_devices_of_no_model_are_of_no_component(held: str, used: int | None) -> None:
    """Counted once where both forms are listed; of a job with others nothing exact is known."""
    jobs = _jobs([RunningJob(7, "Proj_A", held)])
    decision = decided(slurm=slurm(account(gpu_gh200=2), jobs=jobs))
    found = decision.resources[0].used
    assert (found or {}).get("gpu.gh200") == used
    assert faults(decision) == ([] if used else ["usage_unreadable"])


def test_w36_a07_account_outside_the_parent_is_not_spoken_of() -> None:
    decision = decided(slurm=slurm(account(parent="root")))
    assert decision.resources[0].applied is None and not decision.sets
    assert faults(decision) == ["account_outside_parent"]


TREE = "icarus|root||||||1\nicarus|{0}|||root|||2\nicarus|{1}|||{0}|cpu=8||3\nicarus|{1}|alice||||x|4\n"


@pytest.mark.parametrize("names", [("pharos", "proj_a"), ("Pharos", "Proj_A")])
def test_w02_w28_accounts_and_parents_are_found_in_any_case(names: tuple[str, str]) -> None:
    tree = _accounts(ShowAssociations("icarus").parse(TREE.format(*names)))
    decision = decided(slurm=replace(slurm(), accounts=tree))
    assert decision.resources[0].applied == CAPACITY | {"cpu": 8000} and not decision.faults


def test_w09_limits_of_a_users_row_are_not_the_accounts() -> None:
    rows = TREE.format("pharos", "proj_a").replace("|cpu=8|", "||").replace("alice||||x", "alice|||cpu=5|x")
    assert "alice|||cpu=5|" in rows
    decision = decided(slurm=replace(slurm(), accounts=_accounts(ShowAssociations("icarus").parse(rows))))
    assert decision.resources[0].applied == CAPACITY and decision.resources[0].used is None


def test_d09_use_beyond_bigint_is_not_known() -> None:
    """Each job can be told, their sum cannot: central would refuse the whole report."""
    most = {"memory": 2**63 - 1}
    decision = decided(slurm=slurm(account(memory=GIB), jobs={"proj_a": (most, {"memory": 1})}))
    assert decision.resources[0].used is None and faults(decision) == ["usage_unreadable"]
    assert report(slurm=slurm(account(memory=GIB), jobs={"proj_a": (most,)})).used == most


def test_x1_account_that_hides_its_own_row_is_not_absent() -> None:
    """Its users are shown: neither its limits nor where it stands are known."""
    rows = TREE.format("pharos", "proj_a").replace("icarus|proj_a|||pharos|cpu=8||3\n", "")
    tree = _accounts(ShowAssociations("icarus").parse(rows))
    decision = decided(slurm=replace(slurm(), accounts=tree))
    assert decision.resources[0].applied is None and not decision.sets
    assert faults(decision) == ["account_outside_parent"]


def test_w37_a22_billing_and_unknown_tres_are_no_components() -> None:
    assert canonical(parse_tres("billing=72,cpu=1,fs/disk=5,gres/gpumem=80G,energy=101.63K")) == {"cpu": 1000}


def test_a07_two_rows_of_one_account_never_merge() -> None:
    other = replace(ROW, resource_id=UUID(int=7))
    decision = decided(listing=Listing((ROW, other)))
    assert faults(decision) == ["account_shared", "account_shared"] and not decision.sets
    ended = replace(other, state=RowState.TERMINATED)
    decision = decided(listing=Listing((ROW, ended)))
    assert not decision.faults and len(decision.sets) == 1, "a terminated one holds its account no more"


@pytest.mark.parametrize(
    ("row", "configured", "applied", "sets"),
    [
        (replace(ROW, account=None, state=RowState.CREATING), None, None, 0),
        (replace(ROW, state=RowState.TERMINATED), CAPACITY, None, 0),
        (replace(ROW, state=RowState.TERMINATING), CAPACITY, CAPACITY, 1),
        (replace(ROW, state=RowState.ERRED), CAPACITY, CAPACITY, 1),
        (replace(ROW, paused=True), CAPACITY, CAPACITY, 1),
    ],
)
def test_p2_p4_state_and_pause_are_the_providers(
    row: Row, configured: object, applied: object, sets: int
) -> None:
    decision = decided(listing=Listing((row,)), slurm=slurm(account()))
    found = decision.resources[0]
    assert (found.state, found.paused, found.native_name) == (row.state, row.paused, row.account)
    assert (found.configured, found.applied, len(decision.sets)) == (configured, applied, sets)


def test_w46_x1_sources_of_accounts_do_not_stop_resources() -> None:
    assert faults(decided(directory=None)) == ["directory_unavailable"]
    assert faults(decided(projects={})) == ["members_unavailable"]
    decision = decided(projects={REF: None})
    assert not decision.faults and [item.code for item in decision.waiting] == ["project_unknown"]
    assert not decision.sets and len(decision.resources) == 1


def test_s8_unreadable_rows_are_named() -> None:
    decision = decided(listing=Listing((ROW,), ("77",)))
    assert [(fault.code, fault.resource) for fault in decision.faults] == [("row_unreadable", "77")]
    assert len(decision.sets) == 1


def test_s8_a_compute_node_among_others() -> None:
    """Staging nodes are smaller; of several that cover the declaration the least of each component counts."""
    small = {"cpu": 4000, "memory": 8 * GIB}
    large = {"cpu": 32000, "memory": 128 * GIB, "gpu": 4, "gpu.gh200": 4}
    assert node_capacity([small, NODE, large], CAPACITY) == CAPACITY
    assert node_capacity([small, large], CAPACITY) == {"cpu": 32000, "gpu.gh200": 4, "memory": 128 * GIB}
    assert node_capacity([small], CAPACITY) == small
    assert node_capacity([], CAPACITY) == {}


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        (
            "cpu=72,mem=480G,node=1,billing=72,gres/gpu=2,gres/gpu:gh200=2",
            {"cpu": 72000, "memory": 515396075520, "gpu": 2, "gpu.gh200": 2},
        ),
        ("mem=1536M", {"memory": 1610612736}),
        ("gres/gpu:GH200=1", {"gpu.gh200": 1}),
    ],
)
def test_a22_d06_w14_canonical_units(text: str, amounts: dict[str, int]) -> None:
    assert canonical(parse_tres(text)) == amounts


def test_d09_beyond_bigint_is_unreadable() -> None:
    with pytest.raises(UnreadableOutputError):
        canonical(parse_tres("mem=8E"))


@pytest.mark.parametrize(
    "value",
    [
        {"cpu": 16000.0, "memory": 1}, {"cpu": "16000", "memory": 1}, {"cpu": True, "memory": 1}, {"cpu": 1},
        {"cpu": 0, "memory": 1}, {"cpu": 1, "memory": 2**63}, {"cpu": 1, "memory": 1, "gpu": 2}, [], None,
        {"cpu": 1, "memory": 1, "storage": 5}, {"cpu": 1, "memory": 1, "gpu.": 5},
    ],
)  # fmt: skip
def test_d12_d13_capacity_is_whole_numbers(value: object) -> None:
    with pytest.raises(ValueError, match=r"wanted|components|whole"):
        checked_capacity(value)


@pytest.mark.parametrize(
    ("told", "held", "before", "verdict"),
    [
        ("0.48", 29 * 60, 0, "agrees"),
        ("0", 29 * 60, 29 * 60, "behind"),
        ("0.33", 1200, 1200, "agrees"),
        ("25.0", 90000, 0, "agrees"),
        ("25.02", 90000, 0, "above"),
        (None, 90000, 90000, "uncompared"),
        ("nonsense", 90000, 90000, "uncompared"),
        ("NaN", 90000, 90000, "uncompared"),
    ],
)
def test_w04_w39_s8_months_are_compared_in_hundredths(
    told: str, held: int, before: int, verdict: str
) -> None:
    row = replace(ROW, used_node_hours=told)
    found = compare((row,), {"proj_a": held}, {"proj_a": before})
    words = {
        (1, 0, 0): "agrees", (1, 1, 0): "above", (1, 0, 1): "behind", (0, 0, 0): "uncompared",
    }  # fmt: skip
    assert words[found.number, len(found.above), len(found.behind)] == verdict


def test_a21_a27_seconds_that_are_not_known_are_not_compared() -> None:
    row = replace(ROW, used_node_hours="1.0")
    found = compare((row,), {"proj_a": None}, {"proj_a": 0})
    assert (found.number, found.above, found.behind) == (0, (), ())
    found = compare((row,), {"proj_a": 3600}, {"proj_a": None})
    assert (found.number, found.above, found.behind) == (1, (), ())


@pytest.mark.parametrize(
    "text", ["1_000", "１２", " 7 ", "+5", "", ".5", "5.", "1e400", "Infinity", "1" * 5000, "1\n", "0x1"]
)
def test_d10_d13_hours_of_no_json_number_are_not_compared(text: str) -> None:
    assert node_seconds(text) is None


def test_w10_w11_hours_are_decimal() -> None:
    assert node_seconds("1.5") == 5400 and node_seconds("1.15") == 4140
    assert node_seconds("1e-05") * 10 == Decimal("0.36") and node_seconds("-2") == -7200  # type: ignore[operator]


def test_x3_unreadable_node_is_no_capacity() -> None:
    """`slurm_node_unreadable`: what a node gives is of every allocation."""
    from site_bundle.reporter.adapters.slurm_cluster import _node
    from site_bundle.slurm.errors import SlurmUnavailableError
    from site_bundle.slurm.nodes import Node

    with pytest.raises(SlurmUnavailableError) as caught:
        _node(Node("cn01", "cpu=16,mem=15.62G"))
    assert caught.value.code == "slurm_node_unreadable"
