"""Health over a window, as a pure function of samples; and what systemd's answers mean (H19, H20, B18, row
29, X1).
"""

import pytest

from installer.domain.health import ReportedStatus, Sample, judge
from installer.domain.units import PROPERTIES, UnitState, UnitUnreadableError, parse_show

RELEASE = "2.0.0-000000000002"
SHOWN = {
    "LoadState": "loaded",
    "ActiveState": "active",
    "SubState": "running",
    "UnitFileState": "enabled",
    "FragmentPath": "/etc/systemd/system/x.service",
    "DropInPaths": "/etc/systemd/system/x.service.d/a.conf /run/b.conf",
    "NeedDaemonReload": "no",
    "MainPID": "42",
    "InvocationID": "a" * 32,
    "NRestarts": "0",
    "Result": "success",
}


def unit(**changes: str) -> UnitState:
    return parse_show("\n".join(f"{name}={value}" for name, value in {**SHOWN, **changes}.items()))


def sample(
    at: float, *, state: str = "ready", release: str = RELEASE, pid: int = 42, **changes: str
) -> Sample:
    return Sample(at=at, unit=unit(**changes), status=ReportedStatus(release=release, pid=pid, state=state))


def verdict(*samples: Sample, release: str | None = RELEASE) -> str:
    return judge(samples, started=0, release=release, window=5, deadline=60).verdict


def test_healthy_after_a_whole_window() -> None:
    assert verdict(sample(1)) == "waiting"
    assert verdict(sample(1), sample(5.9)) == "waiting"
    assert verdict(sample(1), sample(3), sample(6)) == "healthy"


@pytest.mark.parametrize(
    "middle",
    [
        sample(3, NRestarts="1"),
        sample(3, InvocationID="b" * 32),
        sample(3, ActiveState="activating", SubState="auto-restart"),
        sample(3, state="degraded"),
        sample(3, release="1.0.0-000000000001"),
        sample(3, pid=41),
        Sample(at=3, unit=None, status="systemd is busy"),
        Sample(at=3, unit=unit(), status="it has written no status file"),
    ],
)
def test_h19_b18_whatever_interrupts_health_begins_the_window_anew(middle: Sample) -> None:
    assert verdict(sample(1), middle, sample(6)) == "waiting"


def test_h20_one_early_exit_then_health_is_healthy() -> None:
    died = sample(1, ActiveState="activating", SubState="auto-restart", NRestarts="1")
    assert verdict(died, sample(6, NRestarts="1"), sample(11, NRestarts="1")) == "healthy"


def test_row_29_failed_is_failed_at_once_and_anything_else_at_the_deadline() -> None:
    failed = judge(
        [sample(1, ActiveState="failed", SubState="failed", Result="exit-code")],
        started=0,
        release=RELEASE,
        window=5,
        deadline=60,
    )
    assert failed.verdict == "failed" and "exit-code" in failed.reason
    assert verdict(sample(1, ActiveState="inactive")) == "waiting"
    late = judge([sample(60, state="degraded")], started=0, release=RELEASE, window=5, deadline=60)
    assert late.verdict == "failed" and "degraded" in late.reason


def test_flapping_never_fills_the_window() -> None:
    samples = [sample(float(second), NRestarts=str(second // 3)) for second in range(61)]
    assert verdict(*samples) == "failed"


def test_a_restored_unit_needs_only_to_be_active() -> None:
    active = Sample(at=1, unit=unit(), status="it has written no status file")
    assert judge([active], started=0, release=None, window=0, deadline=60).verdict == "healthy"


@pytest.mark.parametrize("name", PROPERTIES)
def test_x1_an_answer_without_a_property_is_unreadable(name: str) -> None:
    text = "\n".join(f"{key}={value}" for key, value in SHOWN.items() if key != name)
    with pytest.raises(UnitUnreadableError, match=name):
        parse_show(text)


@pytest.mark.parametrize("change", [{"MainPID": ""}, {"NRestarts": "-1"}, {"NeedDaemonReload": "maybe"}])
def test_x1_an_answer_of_another_type_is_unreadable(change: dict[str, str]) -> None:
    with pytest.raises(UnitUnreadableError):
        unit(**change)


def test_show_is_read_whole() -> None:
    state = unit()
    assert state.drop_ins == ("/etc/systemd/system/x.service.d/a.conf", "/run/b.conf")
    assert state.runs and not state.masked and unit(LoadState="masked").masked
    assert not unit(ActiveState="failed").runs and unit(ActiveState="deactivating").runs
