"""The way back as a pure function: whatever was reached, every crash and rerun ends in the prior state
(rows 2-7).
"""

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from installer.domain.activation import (
    ComponentIntent,
    ComponentState,
    Operation,
    PlacedFile,
    SuccessRecord,
    link_target,
    linked_release,
)
from installer.domain.files import FileText
from installer.domain.plan import (
    Action,
    AwaitHealth,
    ComponentTarget,
    PlaceFile,
    Record,
    ReloadUnits,
    SetEnabled,
    SetLink,
    StartUnit,
    StopUnit,
    describe,
    step_id,
    switch_plan,
)
from installer.domain.recovery import is_prior, recovery_plan
from installer.domain.refusal import Refusal

NAMES = ("a", "b", "c")
OLD, NEW, OLDER = "1.0.0-000000000001", "2.0.0-000000000002", "0.9.0-000000000000"


def record(release: str) -> SuccessRecord:
    return SuccessRecord(release=release, operation="o", at="2026-01-01T00:00:00Z", unit_sha256="0" * 64)


def files(name: str, release: str | None) -> tuple[PlacedFile, ...]:
    return tuple(
        PlacedFile(path=path, file=None if release is None else FileText.of(f"{path} {release}".encode()))
        for path in (f"/etc/systemd/system/{name}.service", f"/etc/pharos-hpc/{name}.env")
    )


@st.composite
def priors(draw: st.DrawFn, name: str) -> ComponentState:
    """A component before an operation: never there, stopped, disabled or running."""
    if draw(st.booleans()):
        return ComponentState(
            current=None,
            previous=None,
            files=files(name, None),
            unit_file_state="",
            active=False,
            invocation="",
            record=None,
        )
    return ComponentState(
        current=link_target(OLD, name),
        previous=draw(st.sampled_from([None, link_target(OLDER, name)])),
        files=files(name, OLD),
        unit_file_state=draw(st.sampled_from(["enabled", "disabled"])),
        active=draw(st.booleans()),
        invocation="prior",
        record=record(OLD),
    )


class Model:
    """A host that does what actions say; time is the number of starts."""

    def __init__(self, host: dict[str, ComponentState]) -> None:
        self.host = dict(host)
        self.starts = 0
        self.started: list[str] = []

    def do(self, action: Action) -> None:
        match action:
            case StopUnit():
                self.change(action.component, active=False)
            case SetLink():
                self.change(action.component, **{action.name: action.target})
            case PlaceFile():
                now = self.host[action.component].files
                kept = tuple(action.placed if placed.path == action.placed.path else placed for placed in now)
                self.change(action.component, files=kept)
            case SetEnabled():
                assert self.host[action.component].files[0].file is not None, (
                    "enable and disable need the unit file"
                )
                self.change(action.component, unit_file_state="enabled" if action.enabled else "disabled")
            case StartUnit():
                assert self.host[action.component].files[0].file is not None, "a start needs the unit file"
                assert not self.host[action.component].active, "a unit is stopped before it is started"
                self.starts += 1
                self.started.append(action.component)
                self.change(action.component, active=True, invocation=f"start-{self.starts}")
            case Record():
                self.change(action.component, record=action.record)
            case ReloadUnits():
                for name, state in self.host.items():
                    if state.files[0].file is None:
                        self.change(name, unit_file_state="")
            case AwaitHealth():
                assert self.host[action.component].active

    def change(self, name: str, **fields: object) -> None:
        self.host[name] = replace(self.host[name], **fields)  # type: ignore[arg-type]


def operation_of(host: dict[str, ComponentState]) -> tuple[Operation, tuple[Action, ...]]:
    targets = tuple(
        ComponentTarget(
            intent=ComponentIntent(name=name, unit=f"{name}.service", release=NEW, prior=prior),
            files=files(name, NEW),
            record=record(NEW),
            keep_previous=prior.current,
            enable=prior.record is None,
        )
        for name, prior in host.items()
    )
    operation = Operation(
        id="o", phase="activate", at="t", components=tuple(target.intent for target in targets)
    )
    return operation, switch_plan(targets)


def all_prior(operation: Operation, host: dict[str, ComponentState]) -> bool:
    return all(is_prior(intent, host[intent.name]) for intent in operation.components)


@given(st.data())
def test_rows_2_to_7_any_crash_and_any_number_of_killed_recoveries_end_in_the_prior_state(
    data: st.DataObject,
) -> None:
    before = {name: data.draw(priors(name)) for name in NAMES[: data.draw(st.integers(1, 3))]}
    operation, plan = operation_of(before)
    model = Model(before)
    for action in plan[: data.draw(st.integers(0, len(plan)))]:
        model.do(action)
    for _ in range(data.draw(st.integers(0, 5))):
        back = recovery_plan(operation, model.host)
        for action in back[: data.draw(st.integers(0, len(back)))]:
            model.do(action)
    for action in recovery_plan(operation, model.host):
        model.do(action)
    assert all_prior(operation, model.host)
    assert {name: model.host[name].files for name in before} == {name: before[name].files for name in before}
    left = recovery_plan(operation, model.host)
    assert all(isinstance(action, StopUnit | StartUnit | AwaitHealth | ReloadUnits) for action in left)


@given(st.data())
def test_row_2_a_crash_before_the_first_step_restarts_nothing(data: st.DataObject) -> None:
    before = {name: data.draw(priors(name)) for name in NAMES}
    operation, _ = operation_of(before)
    assert recovery_plan(operation, before) == ()


@given(st.data())
def test_row_4_links_move_only_while_every_unit_is_stopped(data: st.DataObject) -> None:
    before = {name: data.draw(priors(name)) for name in NAMES}
    _, plan = operation_of(before)
    model = Model(before)
    for action in plan:
        if isinstance(action, SetLink):
            assert not any(state.active for state in model.host.values())
        model.do(action)
    assert {linked_release(state.current, name) for name, state in model.host.items()} == {NEW}
    assert all(state.active and state.record == record(NEW) for state in model.host.values())


def test_row_6_a_record_without_done_goes_back_too() -> None:
    before = {"a": _running("a")}
    operation, plan = operation_of(before)
    model = Model(before)
    for action in plan:
        model.do(action)
    back = recovery_plan(operation, model.host)
    assert Record(component="a", record=record(OLD)) in back


def test_a_process_of_the_new_release_on_prior_links_is_restarted() -> None:
    before = {"a": _running("a")}
    operation, _ = operation_of(before)
    back = recovery_plan(operation, {"a": replace(before["a"], invocation="another")})
    assert [step_id(action) for action in back] == ["stop:a", "reload", "start:a", "health:a"]


NEVER = ComponentState(
    current=None,
    previous=None,
    files=files("a", None),
    unit_file_state="",
    active=False,
    invocation="",
    record=None,
)
UNDONE: dict[type, tuple[list[str], list[str]]] = {
    StopUnit: (["reload", "start:a", "health:a"], []),
    SetLink: (
        ["link-current:a", "link-previous:a", "reload", "start:a", "health:a"],
        ["link-current:a", "reload"],
    ),
    PlaceFile: (
        ["link-current:a", "link-previous:a", "file:/etc/systemd/system/a.service",
         "file:/etc/pharos-hpc/a.env", "reload", "start:a", "health:a"],
        ["link-current:a", "file:/etc/systemd/system/a.service", "file:/etc/pharos-hpc/a.env", "reload"],
    ),
    SetEnabled: (
        [],
        ["disable:a", "link-current:a", "file:/etc/systemd/system/a.service", "file:/etc/pharos-hpc/a.env",
         "reload"],
    ),
    StartUnit: (
        ["stop:a", "link-current:a", "link-previous:a", "file:/etc/systemd/system/a.service",
         "file:/etc/pharos-hpc/a.env", "reload", "start:a", "health:a"],
        ["stop:a", "disable:a", "link-current:a", "file:/etc/systemd/system/a.service",
         "file:/etc/pharos-hpc/a.env", "reload"],
    ),
    Record: (
        ["stop:a", "link-current:a", "link-previous:a", "file:/etc/systemd/system/a.service",
         "file:/etc/pharos-hpc/a.env", "reload", "start:a", "health:a", "record:a"],
        ["stop:a", "disable:a", "link-current:a", "file:/etc/systemd/system/a.service",
         "file:/etc/pharos-hpc/a.env", "reload", "record:a"],
    ),
}  # fmt: skip
UNDONE[ReloadUnits] = UNDONE[PlaceFile]
UNDONE[AwaitHealth] = UNDONE[StartUnit]


@pytest.mark.parametrize("first", [False, True], ids=["upgrade", "first"])
@pytest.mark.parametrize("kind", UNDONE, ids=lambda kind: kind.__name__)
def test_what_is_undone_after_the_last_step_of_each_kind(kind: type, first: bool) -> None:
    """The whole way back, by name, from every kind of step; an upgrade has no step that enables."""
    operation, plan = operation_of({"a": NEVER if first else _running("a")})
    model = Model({"a": operation.components[0].prior})
    kinds = [type(action) for action in plan]
    if kind not in kinds:
        assert (kind, first) == (SetEnabled, False)
        return
    for action in plan[: len(kinds) - kinds[::-1].index(kind)]:
        model.do(action)
    back = recovery_plan(operation, model.host)
    assert [step_id(action) for action in back] == UNDONE[kind][first]
    for action in back:
        model.do(action)
    assert all_prior(operation, model.host)


def test_every_kind_of_step_has_a_way_back_that_is_tested() -> None:
    assert set(UNDONE) == set(get_args(Action))


def test_every_step_says_what_it_does() -> None:
    _, plan = operation_of({name: _running(name) for name in NAMES})
    assert all(describe(action) for action in plan)
    names = [step_id(action) for action in plan]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "target",
    [
        "/opt/pharos-hpc/releases/1.0.0-000000000001/components/a",
        "../../releases/x/components/b",
        "../../releases/..",
        "",
    ],
)
def test_row_28_a_link_of_another_hand_is_refused(target: str) -> None:
    with pytest.raises(Refusal) as caught:
        linked_release(target, "a")
    assert caught.value.code == "link_foreign"


def _running(name: str) -> ComponentState:
    return ComponentState(
        current=link_target(OLD, name),
        previous=None,
        files=files(name, OLD),
        unit_file_state="enabled",
        active=True,
        invocation="prior",
        record=record(OLD),
    )
