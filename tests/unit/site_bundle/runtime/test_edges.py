"""Adapters' own refusals: names, scancel, versions, owners, verbs (S6, S12, X1, A29, A36, A43, A50)."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from site_bundle.kernel.errors import RefusedError, SiteError, UnavailableError
from site_bundle.kernel.health import Status
from site_bundle.runtime.adapters.host_accounts import HostAccounts
from site_bundle.runtime.adapters.scratch_grants import ScratchGrants
from site_bundle.runtime.adapters.slurm_jobs import SlurmJobs
from site_bundle.runtime.application.check_owners import CheckOwners
from site_bundle.runtime.by_hand import _ask, parse_until
from site_bundle.runtime.cli import command
from site_bundle.runtime.compose import require_owners, version_check
from site_bundle.slurm.clusters import Rights, ShowClusters, ShowRights
from site_bundle.slurm.submission import Exited, ShowConfiguration, ShowVersion
from tests.unit.site_bundle.runtime.scenes import NOW

FENCE = "@abcdefghijklmnop@"


def jobs(exited: Exited) -> SlurmJobs:
    client: Any = SimpleNamespace(cancel=lambda _job: exited)
    return SlurmJobs(client, cluster="icarus", fence=FENCE)


def test_a36_job_that_is_gone_is_cancelled() -> None:
    gone = "scancel: error: Kill job error on job id 7: Invalid job id specified\n"
    jobs(Exited(1, "", gone)).cancel("7")
    jobs(Exited(0, "", "")).cancel("7")
    with pytest.raises(UnavailableError) as refused:
        jobs(Exited(1, "", "scancel: error: Access/permission denied\n")).cancel("7")
    assert refused.value.code == "slurm_cancel_refused"


def test_x1_a43_absence_of_a_name_needs_the_directory() -> None:
    there = HostAccounts(jobs(Exited(0, "", "")), "anchor", lambda _name: True, "pharos")
    assert there.account("pharos-nobody-has-this") is None
    away = HostAccounts(jobs(Exited(0, "", "")), "anchor", lambda _name: False, "pharos")
    with pytest.raises(UnavailableError) as refused:
        away.account("pharos-nobody-has-this")
    assert refused.value.code == "names_unavailable"


@pytest.mark.parametrize("version", [(23, 2), (99, 1), None])
def test_s12_unknown_version_of_slurm_is_a_warning(version: tuple[int, int] | None) -> None:
    check = version_check(version)
    assert (check.status, check.code) == (Status.WARN, "slurm_version_unknown")
    assert "24.11" in check.wanted
    assert version_check((24, 11)).status is Status.PASS


def owners(**changes: Any) -> CheckOwners:
    answers: dict[type, Any] = {
        ShowConfiguration: {
            "AuthAltTypes": "auth/jwt",
            "AuthAltParameters": "jwt_key=/k,jwks=/etc/slurm/jwks.json,userclaimfield=preferred_username",
            "AccountingStoreFlags": "(null)",
        },
        ShowClusters: frozenset({"icarus"}),
        ShowRights: Rights("None", frozenset({"pharos"})),
        ShowVersion: (24, 11),
    } | changes.pop("answers", {})
    api: Any = SimpleNamespace(unacknowledged=lambda **_: SimpleNamespace(site="slurm", feed="f"))
    accounts: Any = SimpleNamespace(account=lambda _name: None)
    client: Any = SimpleNamespace(read=lambda asked: answers[type(asked)])
    given: dict[str, Any] = {
        "commands": api, "client": client, "accounts": accounts, "scratch": lambda: None,
        "group": "pharos-users", "cluster": "icarus",
        "parent_account": "pharos", "user": lambda: "pharos-runtime",
    }  # fmt: skip
    return CheckOwners(**(given | changes))


def test_s6_all_owners_connected() -> None:
    require_owners(owners())


def test_s2_doctor_names_the_key_set_and_who_compares_it() -> None:
    (found,) = [check.found for check in owners().run() if check.id == "submission"]
    assert "/etc/slurm/jwks.json" in found and "validate --evidence" in found and "neither issuer" in found


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ({ShowConfiguration: {"AuthAltTypes": "(null)"}}, "jwt_missing"),
        ({ShowConfiguration: {"AuthAltTypes": "auth/jwt"}}, "jwks_missing"),
        ({ShowConfiguration: {"AuthAltTypes": "auth/jwt", "AuthAltParameters": "jwt_key=/x/jwks=y"}},
         "jwks_missing"),
        ({ShowConfiguration: {
            "AuthAltTypes": "auth/jwt", "AuthAltParameters": "jwks=/j",
            "AccountingStoreFlags": "job_comment,job_env"}}, "job_env_stored"),
        ({ShowClusters: frozenset()}, "cluster_unknown"),
        ({ShowRights: None}, "coordinator_missing"),
        ({ShowRights: Rights("Administrator", frozenset({"pharos"}))}, "coordinator_too_strong"),
    ],
)  # fmt: skip
def test_s6_a50_owner_that_is_not_connected_stops_the_start(answers: dict[type, Any], code: str) -> None:
    made = owners(answers=answers)
    assert code in {check.code for check in made.run() if check.status is Status.FAIL}
    with pytest.raises(RefusedError) as refused:
        require_owners(made)
    assert refused.value.code == "owners_unconnected"


def test_s4_probe_finds_a_folder_without_the_group_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grants = ScratchGrants(tmp_path, "", None, lambda: "")
    with pytest.raises(UnavailableError) as refused:
        grants.probe()
    assert refused.value.code == "scratch_unavailable", "0710 is made where 2710 is wanted"
    tmp_path.chmod(0o2710)
    real = Path.stat

    def stat(path: Path, **more: Any) -> Any:
        facts = real(path, **more)
        return SimpleNamespace(st_gid=facts.st_gid + 1) if path == tmp_path else facts

    monkeypatch.setattr(Path, "stat", stat)
    with pytest.raises(UnavailableError) as foreign:
        grants.probe()
    assert foreign.value.code == "scratch_group"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "code"), [("2026-11-02", "until_malformed"), ("2026-11-02T09:00:00Z", "until_passed")]
)
def test_s15_until_is_a_time_to_come(text: str, code: str) -> None:
    with pytest.raises(RefusedError) as refused:
        parse_until(text, NOW)
    assert refused.value.code == code
    assert parse_until(None, NOW) is None


def test_s15_reason_and_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["drain", "--reason", " "]) == 3
    assert "reason_malformed" in capsys.readouterr().err

    def unwritable() -> None:
        raise PermissionError(13, "Permission denied")

    folder = tmp_path / "state"
    folder.mkdir()
    with pytest.raises(SiteError) as refused:
        _ask({"PHAROS_RUNTIME_STATE_DIRECTORY": str(folder)}, "root", unwritable)
    assert refused.value.code == "state_unwritable"
