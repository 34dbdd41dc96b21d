"""Two components on one host: switched and taken back together or apart, never mixed (I11, I13, I14; rows 4,
32, 33).
"""

import pytest

from tests.installer.reporter_rig import COMPONENTS, REPORTER_UNIT, Both
from tests.installer.rig import UNIT
from tests.installer.systemctl import Behaviour

OTHER = {"ssh-access": "reporter", "reporter": "ssh-access"}


def releases(both: Both) -> tuple[str | None, ...]:
    return tuple(both.rig.link(component=name) for name in COMPONENTS)


def test_i13_both_are_activated_together_and_again_is_no_change(both: Both) -> None:
    release = both.release("0.1.0")
    result = both.activate(release)
    assert result.code == 0, result.stderr
    assert releases(both) == (release, release)
    for unit in (UNIT, REPORTER_UNIT):
        assert both.rig.fake.units[unit].active == "active" and both.rig.fake.units[unit].enabled
    settings = both.rig.paths.at("/etc/pharos-hpc/reporter.env").read_text()
    assert 'PHAROS_REPORTER_CLUSTER="icarus"' in settings
    before = both.snapshots()
    again = both.activate(release)
    assert again.code == 0 and "no change" in again.stdout
    assert both.snapshots() == before


def test_x5_no_secret_reaches_a_file_or_a_word(both: Both) -> None:
    release = both.release("0.1.0")
    result = both.activate(release)
    secrets = ("intake-key-secret", "agent-password-secret", "a" * 40)
    kept = both.rig.paths.at("/etc/pharos-hpc/credentials")
    for path in (
        found for found in both.rig.root.rglob("*") if found.is_file() and kept not in found.parents
    ):
        assert not any(secret.encode() in path.read_bytes() for secret in secrets), path
    assert not any(secret in result.stdout + result.stderr for secret in secrets)
    assert not any(secret in word for call in both.rig.fake.calls for word in call for secret in secrets)


@pytest.mark.parametrize("broken", COMPONENTS)
def test_row_4_one_that_is_not_healthy_takes_both_back(both: Both, broken: str) -> None:
    assert both.activate(both.release("0.1.0")).code == 0
    before = both.snapshots()
    newer = both.release("0.2.0")
    both.rig.fake.behaviours[f"{newer}/pharos-{broken}.service"] = Behaviour(ready_after=-1)
    result = both.activate(newer)
    assert result.code == 7, result.stderr
    after = both.snapshots()
    assert after == before
    assert all(unit.active == "active" for unit in both.rig.fake.units.values())


def test_i13_a_failed_first_activation_of_both_leaves_nothing(both: Both) -> None:
    release = both.release("0.1.0")
    both.rig.fake.behaviours[f"{release}/{REPORTER_UNIT}"] = Behaviour(dies_after=0.2, restarts=False)
    assert both.activate(release).code == 7
    assert releases(both) == (None, None)
    assert not both.rig.paths.at("/etc/pharos-hpc/reporter.env").exists()
    assert not any(unit.enabled or unit.active == "active" for unit in both.rig.fake.units.values())


@pytest.mark.parametrize("chosen", COMPONENTS)
def test_row_33_one_is_switched_and_rolled_back_while_the_other_runs_on(both: Both, chosen: str) -> None:
    first = both.release("0.1.0")
    assert both.activate(first).code == 0
    other = OTHER[chosen]
    before, running = both.rig.snapshot(other), both.rig.fake.units[f"pharos-{other}.service"].invocation
    newer = both.release("0.2.0")
    assert both.activate(newer, chosen).code == 0
    assert both.rig.link(component=chosen) == newer and both.rig.link("previous", chosen) == first
    back = both.rig.run("rollback", "--components", chosen)
    assert back.code == 0, back.stderr
    assert both.rig.link(component=chosen) == first
    seen = both.rig.snapshot(other)
    for part in ("current", "previous", "files", "enabled", "runs"):
        assert seen[part] == before[part]
    assert both.rig.fake.units[f"pharos-{other}.service"].invocation == running


def test_i14_both_are_rolled_back_together(both: Both) -> None:
    first, newer = both.release("0.1.0"), both.release("0.2.0")
    assert both.activate(first).code == 0 and both.activate(newer).code == 0
    result = both.rig.run("rollback", "--components", ",".join(COMPONENTS))
    assert result.code == 0, result.stderr
    assert releases(both) == (first, first)
    assert all(unit.release == first for unit in both.rig.fake.units.values())


@pytest.mark.parametrize("plan", [(), ("--plan",)])
def test_i14_a_rollback_never_takes_one_back_and_the_other_forward(both: Both, plan: tuple[str, ...]) -> None:
    first, newer = both.release("0.9.0"), both.release("0.10.0")
    assert both.activate(first).code == 0 and both.activate(newer).code == 0
    assert both.rig.run("rollback", "--components", "reporter").code == 0
    before = releases(both)
    result = both.rig.run("rollback", "--components", ",".join(COMPONENTS), *plan)
    assert result.code == 2 and "rollback_directions" in result.stderr and releases(both) == before
    assert f"ssh-access: back from {newer} to {first}" in result.stderr
    assert f"reporter: FORWARD from {first} to {newer}" in result.stderr
    alone = both.rig.run("rollback", "--components", "ssh-access", *plan)
    assert alone.code == 0 and "FORWARD" not in alone.stderr
    assert ("ssh-access: back from" in alone.stdout) is bool(plan)


@pytest.mark.parametrize(
    "point",
    [
        "after-intent",
        "after-stop:reporter",
        "after-link-current:ssh-access",
        "before-link-current:reporter",
        "after-links",
        "after-reload",
        "after-start:ssh-access",
        "during-health",
        "before-record",
    ],
)
def test_row_4_killed_between_the_two_recovery_brings_both_back(both: Both, point: str) -> None:
    assert both.activate(both.release("0.1.0")).code == 0
    before = both.snapshots()
    newer = both.release("0.2.0")
    words = ("--components", ",".join(COMPONENTS), "--evidence", "/evidence", "--release", newer)
    assert both.rig.killed(f"activate/{point}:kill", "activate", *words) == -9
    assert both.rig.run("status").code in {0, 9}
    assert both.rig.run("recover").code == 0
    assert both.snapshots() == before


def test_row_32_an_administrators_disable_of_one_is_kept_beside_the_other(both: Both) -> None:
    assert both.activate(both.release("0.1.0")).code == 0
    both.rig.fake.units[REPORTER_UNIT].enabled = False
    assert both.activate(both.release("0.2.0")).code == 0
    assert not both.rig.fake.units[REPORTER_UNIT].enabled and both.rig.fake.units[UNIT].enabled


def test_i12_each_component_needs_evidence_of_its_own(both: Both) -> None:
    both.rig.paths.at("/evidence/reporter-central-bootstrap.yaml").unlink()
    release = both.release("0.1.0")
    assert both.activate(release, "ssh-access").code == 0
    result = both.activate(release, "reporter")
    assert result.code == 3 and "central-bootstrap" in result.stderr
    assert both.rig.link(component="reporter") is None


def test_i4_a_changed_instance_is_the_reporters_input_alone(both: Both) -> None:
    assert both.activate(both.release("0.1.0")).code == 0
    both.profile(lambda profile: profile["waldur"].update(instance="another"))
    newer = both.release("0.2.0")
    refused = both.activate(newer, "reporter")
    assert refused.code == 3 and "waldur.instance" in refused.stderr
    assert both.activate(newer, "ssh-access").code == 0
    assert both.activate(newer, "reporter", more=("--accept-changed-inputs",)).code == 0
