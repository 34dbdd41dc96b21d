"""Complete sets of accounts, from the socket to what they confirm (P21–P24, X1, X7)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from central.kernel.database import Database
from central.kernel.errors import CorruptState
from central.kernel.site_names import Site
from central.provisioning.adapters.postgres_accounts import PostgresAccounts
from central.provisioning.adapters.postgres_saved import PostgresSavedAllocations
from central.provisioning.application.confirmed_accounts import ConfirmedAccounts
from central.provisioning.domain.confirmation import (
    AccountKey,
    AccountUnconfirmed,
    Confirmation,
    ConfirmedAccount,
    Unconfirmed,
)
from central.provisioning.domain.ids import AllocationId
from tests.contract.goldens import canonical
from tests.postgres.provisioning.account_reporter import (
    BINDING,
    LIMIT,
    OTHER,
    PARTY,
    Reporter,
    account,
    at,
    reporter,
)
from tests.postgres.provisioning.conftest import PROJECT, Agent, Clock, resource

__all__ = ["reporter"]


@pytest.fixture
def confirmed(intake_database: Database, reporter: Reporter, clock: Clock) -> Callable[..., Confirmation]:
    """`ConfirmedAccounts.get` for the allocation's account."""
    reads = ConfirmedAccounts(
        PostgresSavedAllocations(intake_database), PostgresAccounts(intake_database), LIMIT
    )

    def get(now: datetime | None = None, **changes: Any) -> Confirmation:
        wanted: dict[str, Any] = {
            "allocation_id": reporter.allocation,
            "project_id": PROJECT,
            "site": Site("slurm"),
            "party_id": PARTY,
            "binding_id": BINDING,
            "generation": 1,
        } | changes
        return reads.get(AccountKey(**wanted), now or clock())

    return get


def reason(answer: Confirmation) -> Unconfirmed:
    assert isinstance(answer, AccountUnconfirmed)
    return answer.reason


def test_p21_a_set_replaces_the_one_before_whole(reporter: Reporter) -> None:
    two = (account(), account("uuid-2/43", name="u2", partyId=str(OTHER)))
    assert reporter.told(at(1), *two) == "recorded"
    assert reporter.told(at(2), *reversed(two)) == "unchanged"
    assert reporter.told(at(3), account(state="incomplete")) == "recorded"
    assert reporter.present() == [("uuid-1/42", 1, "i"), ("uuid-2/43", 1, "a")]
    assert reporter.told(at(4)) == "recorded"
    assert [state for _, _, state in reporter.present()] == ["a", "a"]
    assert reporter.rows("SELECT version, accounts FROM provisioning.account_sets") == [(3, 0)]


def test_p21_an_older_set_revives_nothing_e15(reporter: Reporter) -> None:
    assert reporter.told(at(10), account()) == "recorded"
    assert reporter.told(at(20)) == "recorded"
    assert reporter.told(at(15), account()) == "stale_report"
    assert reporter.told(at(20), account()) == "conflicting_report"
    assert reporter.told(at(20)) == "unchanged"
    assert reporter.present() == [("uuid-1/42", 1, "a")]


def test_p21_the_same_report_again_hears_the_same_and_renews_nothing_x7(reporter: Reporter) -> None:
    first, second = uuid4(), uuid4()
    assert reporter.told(at(1), account(), report_id=first) == "recorded"
    assert reporter.told(at(2), account(), report_id=second) == "unchanged"
    assert reporter.told(at(1), account(), report_id=first) == "recorded"
    assert reporter.told(at(2), account(), report_id=second) == "unchanged"
    assert reporter.told(at(3), account(), report_id=first) == "command_reused"
    assert reporter.told(at(3), account("uuid-9/1"), report_id=first) == "command_reused"
    assert reporter.rows("SELECT version, observed_at FROM provisioning.account_sets") == [
        (1, datetime(2026, 11, 2, 10, 0, 2, tzinfo=UTC))
    ]


def test_p21_ahead_of_our_clock_e13(reporter: Reporter, clock: Clock) -> None:
    assert reporter.told("2026-11-02T10:00:35.000001Z", account()) == "observed_in_future"
    assert reporter.rows("SELECT FROM provisioning.account_sets") == []
    assert reporter.told("2026-11-02T10:00:35Z", account()) == "recorded"


@pytest.mark.parametrize(
    "time", ["2026-11-02T10:00:01", "20261102T100001Z", "infinity", "2026-11-02T10:00:01.1234567Z"]
)
def test_lenient_times_e09_e11_e12_f12(reporter: Reporter, time: str) -> None:
    answer = reporter.post(time, account())
    assert (answer.status_code, answer.get_json()["code"]) == (400, "time_invalid")


@pytest.mark.parametrize("accounts", ["absent", None, {}, "[]", [None], [{}], 0])
def test_e24_absent_null_object_and_empty_are_not_one(reporter: Reporter, accounts: Any) -> None:
    """Only an empty list is a complete set without accounts; everything else changes nothing."""
    assert reporter.told(at(1), account()) == "recorded"
    body: dict[str, Any] = {"schema": 1, "reportId": str(uuid4()), "observedAt": at(2)}
    body |= {"allocationId": str(reporter.allocation)}
    body |= {} if accounts == "absent" else {"accounts": accounts}
    client = reporter.agent.app.test_client()
    path, headers = "/resource-provisioning/slurm/accounts", reporter.agent.headers()
    answer = client.post(path, data=canonical(body), headers=headers)
    assert (answer.status_code, answer.get_json()["code"]) == (400, "body_invalid")
    assert reporter.present() == [("uuid-1/42", 1, "r")]
    assert reporter.told(at(3)) == "recorded"
    assert reporter.present() == [("uuid-1/42", 1, "a")]


def test_p21_anothers_allocation_is_unknown(reporter: Reporter) -> None:
    other = Agent(reporter.agent.app, "k8s", "kubernetes-intake-key-of-32-chars")
    assert Reporter(other, reporter.allocation, reporter.url).told(at(1)) == "allocation_unknown"
    nowhere = Reporter(reporter.agent, AllocationId(UUID(int=9)), reporter.url)
    assert nowhere.told(at(1)) == "allocation_unknown"


def test_p23_recreated_under_its_name_is_another_row(reporter: Reporter, confirmed: Any) -> None:
    reporter.told(at(1), account("uuid-1/42"))
    reporter.told(at(2), account("uuid-2/43"))
    assert reporter.present() == [("uuid-1/42", 1, "a"), ("uuid-2/43", 1, "r")]
    found = confirmed()
    assert found == ConfirmedAccount("u1", "uuid-2/43", 5000001, datetime(2026, 11, 2, 10, 0, 2, tzinfo=UTC))


def test_p21_older_generations_stay_as_evidence(reporter: Reporter, confirmed: Any) -> None:
    reporter.told(at(1), account())
    assert reason(confirmed(generation=2)) is Unconfirmed.GENERATION_PENDING
    reporter.told(at(2), account(generation=2))
    assert reporter.present() == [("uuid-1/42", 1, "a"), ("uuid-1/42", 2, "r")]
    assert isinstance(confirmed(generation=2), ConfirmedAccount)
    assert reason(confirmed(generation=1)) is Unconfirmed.GENERATION_PENDING


def test_p24_each_reason(reporter: Reporter, confirmed: Any, agent: Agent) -> None:
    assert reason(confirmed()) is Unconfirmed.NOT_REPORTED
    reporter.told(at(1))
    assert reason(confirmed()) is Unconfirmed.NOT_CONFIRMED
    reporter.told(at(2), account(state="incomplete"))
    assert reason(confirmed()) is Unconfirmed.INCOMPLETE
    reporter.told(at(3), account())
    assert isinstance(confirmed(), ConfirmedAccount)
    for wrong in (
        {"project_id": OTHER},
        {"site": Site("k8s")},
        {"party_id": OTHER},
        {"binding_id": OTHER},
        {"allocation_id": AllocationId(UUID(int=1))},
    ):
        assert reason(confirmed(**wrong)) is Unconfirmed.NOT_CONFIRMED, wrong
    agent.report(at(4), resource(state="terminated", applied=None, used=None))
    assert reason(confirmed()) is Unconfirmed.NOT_CONFIRMED


def test_p25_a_renewed_set_is_fresh_until_the_limit_e14(reporter: Reporter, confirmed: Any) -> None:
    reporter.told(at(1), account())
    reporter.told(at(2), account())
    limit = datetime(2026, 11, 2, 10, 15, 2, tzinfo=UTC)
    assert isinstance(confirmed(limit - timedelta(microseconds=1)), ConfirmedAccount)
    assert reason(confirmed(limit)) is Unconfirmed.STALE_REPORT


@pytest.mark.parametrize(
    "damage",
    [
        "ALTER TABLE provisioning.account_sets ALTER observed_at TYPE timestamp",
        "DELETE FROM provisioning.accounts",
        "DELETE FROM provisioning.account_sets",
        "UPDATE provisioning.account_sets SET site = 'k8s'",
        "UPDATE provisioning.account_sets SET accounts = 7",
        "UPDATE provisioning.accounts SET name = ''",
    ],
)
def test_p24_evidence_at_odds_with_itself_is_corrupt_e09(
    reporter: Reporter, confirmed: Any, damage: str
) -> None:
    reporter.told(at(1), account())
    assert isinstance(confirmed(), ConfirmedAccount)
    with psycopg.connect(reporter.url, autocommit=True) as connection:
        connection.execute(damage.encode())
    with pytest.raises(CorruptState):
        confirmed()


def test_p21_two_tries_at_once_make_one_receipt(reporter: Reporter) -> None:
    reporter.told(at(1), account())
    report, sets = uuid4(), [account(f"uuid-{n}/1", name=f"u{n}") for n in range(50)]
    with ThreadPoolExecutor(4) as pool:
        tries = [pool.submit(reporter.told, at(2), *sets, report_id=report) for _ in range(4)]
        rivals = [pool.submit(reporter.told, at(3), *sets[:n]) for n in (1, 2)]
    assert {one.result(30) for one in tries} <= {"recorded", "stale_report"}
    assert len({one.result(30) for one in tries}) == 1
    assert sorted(one.result(30) for one in rivals) == ["conflicting_report", "recorded"]
    ((present,),) = reporter.rows("SELECT count(*) FROM provisioning.accounts WHERE state <> 'a'")
    ((wanted, version),) = reporter.rows("SELECT accounts, version FROM provisioning.account_sets")
    assert present == wanted in (1, 2)
    assert version in (2, 3)


def test_p21_ten_thousand_accounts_in_one_set(reporter: Reporter) -> None:
    many = [
        account(f"uuid-{n}/1", name=f"u{n}", partyId=str(UUID(int=n)), bindingId=str(UUID(int=n << 64)))
        for n in range(1, 10_001)
    ]
    assert reporter.told(at(1), *many) == "recorded"
    assert reporter.told(at(2), *many) == "unchanged"
    assert reporter.told(at(3), *many[1:]) == "recorded"
    ((absent,),) = reporter.rows("SELECT count(*) FROM provisioning.accounts WHERE state = 'a'")
    assert absent == 1


def test_p21_eight_mebibytes_are_the_cap(reporter: Reporter) -> None:
    path, headers = "/resource-provisioning/slurm/accounts", reporter.agent.headers()
    client = reporter.agent.app.test_client()
    padded = client.post(path, data=b"{}" + b" " * (8_388_608 - 1), headers=headers)
    assert (padded.status_code, padded.get_json()["code"]) == (413, "body_too_large")
    assert "8388608" in padded.get_json()["detail"]
    fits = client.post(path, data=b"{}" + b" " * (8_388_608 - 2), headers=headers)
    assert (fits.status_code, fits.get_json()["code"]) == (400, "body_invalid")


def test_p37_the_owner_deletes_no_evidence(reporter: Reporter, intake_database: Database) -> None:
    held = reporter.rows(
        "SELECT table_name::text, privilege_type::text FROM information_schema.role_table_grants"
        " WHERE grantee = 'pharos_resource_provisioning' AND table_name IN ('accounts', 'account_sets')"
        " AND privilege_type NOT IN ('SELECT', 'INSERT', 'UPDATE')"
    )
    assert held == []
