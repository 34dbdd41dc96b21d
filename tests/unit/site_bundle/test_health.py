"""What the agent says of itself: states from checks, and doctor's checks one by one (I06, X9)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from site_bundle.directory.errors import DirectoryUnavailableError
from site_bundle.kernel.errors import UnavailableError
from site_bundle.kernel.health import Check, Health, Status, worst
from site_bundle.ssh_access.application.check_self import CheckSelf, Grant

NOW = datetime(2026, 11, 2, 10, 0, tzinfo=UTC)
LATER = NOW + timedelta(seconds=30)


def test_health_is_ready_only_when_every_needed_check_passed() -> None:
    health = Health(("a", "b"))
    assert health.state == "starting"
    assert health.set(Check("a", Status.PASS), NOW)
    assert health.state == "starting"
    health.set(Check("b", Status.FAIL, code="x"), NOW)
    assert health.state == "degraded"
    assert not health.set(Check("b", Status.FAIL, "other words", code="x"), LATER)
    assert health.checks["b"][1] == NOW
    assert health.set(Check("b", Status.WARN), LATER)
    assert health.state == "ready"
    assert worst([Check("a", Status.WARN), Check("b", Status.UNKNOWN)]) is Status.UNKNOWN
    assert worst([]) is Status.PASS


class Probes:
    """What doctor asks: every answer settable."""

    def __init__(self, *, bound: bool = True, grant: Grant | None = None) -> None:
        self.bound = bound
        self.found = grant

    def grant(self) -> Grant:
        if self.found is None:
            raise UnavailableError("site_api_unreachable", found="down", remedy="look")
        return self.found

    def ensure_bound(self) -> bool:
        if not self.bound:
            raise DirectoryUnavailableError("directory_unreachable", found="down", remedy="look")
        return True

    def prove_readable(self) -> None:
        """Readable."""

    def prove_rights(self) -> None:
        """All rights."""


def checks(probes: Probes, *, rights: bool = True) -> dict[str, Check]:
    check = CheckSelf(probes, probes, probes, rights, 300, lambda: Check("process", Status.PASS))
    return {item.id: item for item in check.run(now=NOW)}


def test_doctor_hides_no_check_behind_another() -> None:
    found = checks(Probes(bound=False))
    assert found["site_api"].status is found["directory_identity"].status is Status.FAIL
    assert found["directory_base"].status is found["directory_rights"].status is Status.UNKNOWN
    assert "300 s" in found["removal_delay"].found


def test_doctor_on_grants() -> None:
    scopes = frozenset({"ssh-access"})
    assert checks(Probes(grant=Grant("slurm", scopes, None)))["site_api"].status is Status.PASS
    soon = checks(Probes(grant=Grant("slurm", scopes, NOW + timedelta(days=13))))["site_api"]
    assert (soon.status, soon.code) == (Status.WARN, "grant_ends_soon")
    other = checks(Probes(grant=Grant("slurm", frozenset({"commands"}), None)))["site_api"]
    assert (other.status, other.code) == (Status.FAIL, "scope_missing")


def test_doctor_without_a_probe_entry_says_what_it_did_not_try() -> None:
    scopes = frozenset({"ssh-access"})
    rights = checks(Probes(grant=Grant("slurm", scopes, None)), rights=False)["directory_rights"]
    assert (rights.status, rights.code) == (Status.WARN, "rights_not_tried")
