"""What is decided of accounts, each boundary (P21–P25; E13, E21, E23)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from central.kernel.site_names import Site
from central.provisioning.domain.account import Account, AccountState, Naming, name_fault
from central.provisioning.domain.account_report import (
    AccountsOutcome,
    AccountsRefusal,
    Judged,
    SavedSet,
    ahead_refusal,
    judge,
)
from central.provisioning.domain.confirmation import (
    AccountKey,
    AccountUnconfirmed,
    ConfirmedAccount,
    PartyAccounts,
    Unconfirmed,
    confirm,
    fresh,
)
from central.provisioning.domain.ids import AllocationId
from central.provisioning.domain.observation import Content
from central.settings import SettingsRefused, load_settings

NOW = datetime(2026, 11, 2, 10, 0, 30, tzinfo=UTC)
LIMIT = timedelta(seconds=900)
TICK = timedelta(microseconds=1)
PARTY, BINDING = UUID(int=1), UUID(int=2)
KEY = AccountKey(AllocationId(UUID(int=3)), UUID(int=4), Site("slurm"), PARTY, BINDING, 2)
A, B = Content("a" * 32), Content("b" * 32)


def account(
    uid: str = "x", generation: int = 2, state: AccountState = AccountState.READY, binding: UUID = BINDING
) -> Account:
    return Account(PARTY, "u1", uid, 5000001, binding, generation, state)


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("u1", True), ("_x", True), ("a" * 32, True), ("a.b-c_d", True),
        ("a" * 33, False), ("", False), ("U1", False), ("1u", False), ("-u", False), (".u", False),
        ("anna\n", False), ("ｕ1", False), ("аnna", False), ("zoe\u0308", False), ("zoë", False),
        ("u 1", False), ("u１", False), (f"member-{PARTY}", False),
    ],
)  # fmt: skip
def test_p22_posix_names_e21_e23(name: str, fits: bool) -> None:
    assert (name_fault(Naming.POSIX, PARTY, name) is None) is fits


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        (f"member-{PARTY}", True),
        (f"member-{PARTY}\n", False),
        (f"member-{UUID(int=9)}", False),
        ("u1", False),
    ],
)
def test_p22_kubernetes_names_are_the_partys(name: str, fits: bool) -> None:
    assert (name_fault(Naming.KUBERNETES, PARTY, name) is None) is fits


@pytest.mark.parametrize(
    ("ahead", "refused"), [(timedelta(seconds=5), False), (timedelta(seconds=5) + TICK, True)]
)
def test_p21_five_seconds_ahead(ahead: timedelta, refused: bool) -> None:
    wanted = AccountsRefusal.OBSERVED_IN_FUTURE if refused else None
    assert ahead_refusal(NOW + ahead, NOW) is wanted


RECORDED = Judged(AccountsOutcome.RECORDED, replaces=True, renews=True)


@pytest.mark.parametrize(
    ("saved", "content", "known", "wanted"),
    [
        (None, A, True, RECORDED),
        (None, A, False, AccountsRefusal.ALLOCATION_UNKNOWN),
        (NOW + TICK, A, True, AccountsRefusal.STALE_REPORT),
        (NOW, A, True, Judged(AccountsOutcome.UNCHANGED, replaces=False, renews=False)),
        (NOW, B, True, AccountsRefusal.CONFLICTING_REPORT),
        (NOW - TICK, A, True, Judged(AccountsOutcome.UNCHANGED, replaces=False, renews=True)),
        (NOW - TICK, B, True, RECORDED),
        (NOW - TICK, B, False, AccountsRefusal.ALLOCATION_UNKNOWN),
    ],
)
def test_p21_a_set_beside_the_saved_one(
    saved: datetime | None, content: Content, known: bool, wanted: Judged | AccountsRefusal
) -> None:
    standing = SavedSet(1, A, saved) if saved else None
    assert judge(standing, NOW, content, allocation_known=known) == wanted


@pytest.mark.parametrize(
    ("age", "usable"),
    [
        (LIMIT - TICK, True),
        (LIMIT, False),
        (timedelta(seconds=-5), True),
        (timedelta(seconds=-5) - TICK, False),
        (timedelta(), True),
    ],
)
def test_p24_age_at_its_limits_e13(age: timedelta, usable: bool) -> None:
    assert fresh(NOW - age, NOW, LIMIT) is usable
    found = confirm(PartyAccounts(NOW - age, [account()]), KEY, NOW, LIMIT)
    if usable:
        assert found == ConfirmedAccount("u1", "x", 5000001, NOW - age)
    else:
        assert found == AccountUnconfirmed(Unconfirmed.STALE_REPORT, NOW - age)


INCOMPLETE = AccountState.INCOMPLETE


@pytest.mark.parametrize(
    ("accounts", "reason"),
    [
        ([], Unconfirmed.NOT_CONFIRMED),
        ([account(binding=UUID(int=9))], Unconfirmed.NOT_CONFIRMED),
        ([account(state=INCOMPLETE)], Unconfirmed.INCOMPLETE),
        ([account(generation=1)], Unconfirmed.GENERATION_PENDING),
        ([account(generation=3, state=INCOMPLETE)], Unconfirmed.GENERATION_PENDING),
        ([account("x"), account("y")], Unconfirmed.NOT_CONFIRMED),
        ([account("x", state=INCOMPLETE), account("y", 1)], Unconfirmed.INCOMPLETE),
    ],
)
def test_p24_each_reason(accounts: list[Account], reason: Unconfirmed) -> None:
    assert confirm(PartyAccounts(NOW, accounts), KEY, NOW, LIMIT) == AccountUnconfirmed(reason, NOW)


def test_p24_nothing_reported_is_its_own_reason() -> None:
    assert confirm(None, KEY, NOW, LIMIT) == AccountUnconfirmed(Unconfirmed.NOT_REPORTED)


def test_p24_others_beside_the_confirmed_one_do_not_prevent_it() -> None:
    beside = [account("y", 1), account("z", state=INCOMPLETE), account("w", binding=UUID(int=9))]
    found = confirm(PartyAccounts(NOW, [*beside, account("x")]), KEY, NOW, LIMIT)
    assert isinstance(found, ConfirmedAccount)
    assert found.native_uid == "x"


LEAST = {
    "RESOURCE_PROVISIONING_DATABASE_URL": "postgresql://pharos_resource_provisioning@db.example/pharos",
    "PHAROS_SITES": "slurm,k8s",
}
AGE = "RESOURCE_PROVISIONING_ACCOUNT_MAX_AGE_SECONDS"


@pytest.mark.parametrize(("text", "seconds"), [(None, 900), ("1", 1), ("86400", 86400)])
def test_p25_the_age_limit(text: str | None, seconds: int) -> None:
    given = LEAST | ({AGE: text} if text else {})
    assert load_settings(given, "provisioning_intake").account_max_age == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["0", "86401", "900.0", "1_000", "９００", " 900", "+900", "-1", "15m"])
def test_p25_any_other_limit_stops_the_start_d13(text: str) -> None:
    with pytest.raises(SettingsRefused, match=AGE):
        load_settings(LEAST | {AGE: text}, "provisioning_intake")


def test_p22_kubernetes_sites_are_sites() -> None:
    given = LEAST | {"PHAROS_KUBERNETES_SITES": "k8s"}
    assert load_settings(given, "provisioning_intake").kubernetes_sites == ("k8s",)
    with pytest.raises(SettingsRefused, match="PHAROS_KUBERNETES_SITES: names a Site"):
        load_settings(LEAST | {"PHAROS_KUBERNETES_SITES": "k8"}, "provisioning_intake")
