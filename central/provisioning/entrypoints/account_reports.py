"""Bodies as complete sets of accounts: each set is checked whole, and refused whole (P21, P22).

What a set says is named by its content: 128 bits of SHA-256 (X14) over `CANONICALISATION` and the canonical
encoding of its accounts in the order of their native UIDs. Another way to encode needs another
`CANONICALISATION`.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Final, NoReturn
from uuid import UUID

import msgspec

from central.kernel.problems import BODY_INVALID, BODY_TOO_LARGE, FieldError, Problem
from central.kernel.site_names import Site
from central.kernel.times import parse_observed
from central.provisioning.application.account_ports import AccountReport, AccountSet
from central.provisioning.domain.account import ACCOUNTS_MAX, Account, Naming, name_fault
from central.provisioning.domain.account_report import AccountsRefusal
from central.provisioning.domain.ids import AllocationId, canonical_uuid, content_digest, parse_uuid
from central.provisioning.domain.observation import Content
from central.provisioning.entrypoints.account_wire import (
    SETS_MAX,
    AccountBody,
    AccountReportBody,
    AccountSetsReportBody,
)
from central.provisioning.problems import ACCOUNT_NAME_INVALID

CANONICALISATION: Final = b"pharos account set content 1\n"
NATIVE_UID_MAX: Final = 255
SETS_REMEMBERED: Final = 4_096


class AccountReportReader:
    """Reads the bodies of one process. A set it checked once it knows again by its encoding, for an agent
    sends the same one every minute; it forgets everything when it knows `remembered` of them.
    """

    def __init__(self, naming: Mapping[Site, Naming], *, remembered: int = SETS_REMEMBERED) -> None:
        self._naming = dict(naming)
        self._remembered = remembered
        self._known: dict[tuple[Naming, str], Content] = {}
        self._encoder = msgspec.json.Encoder(order="deterministic")

    def read(self, body: AccountReportBody, site: Site) -> AccountReport:
        """The report in a body of one set. Raises the `Problem` of the first rule broken."""
        report_id = _uuid(body.report_id, "/reportId")
        observed_at = parse_observed(body.observed_at, field="/observedAt")
        allocation_id = AllocationId(_uuid(body.allocation_id, "/allocationId"))
        found = self._set(allocation_id, body.accounts, self._naming.get(site, Naming.POSIX), "")
        return AccountReport(report_id, site, observed_at, (found,))

    def read_sets(self, body: AccountSetsReportBody, site: Site) -> AccountReport:
        """The report in a body of several sets; one with a name that cannot be is refused alone (P12).

        Raises the `Problem` of the first rule broken.
        """
        if len(body.sets) > SETS_MAX:
            raise Problem(
                BODY_TOO_LARGE,
                f"the report holds {len(body.sets)} sets, at most {SETS_MAX} are taken; split it",
            )
        report_id = _uuid(body.report_id, "/reportId")
        observed_at = parse_observed(body.observed_at, field="/observedAt")
        naming = self._naming.get(site, Naming.POSIX)
        ids = [
            AllocationId(_uuid(each.allocation_id, f"/sets/{place}/allocationId"))
            for place, each in enumerate(body.sets)
        ]
        if len(set(ids)) != len(ids):
            _refuse("/sets", "an allocation is named twice; name each once")
        sets = []
        for place, (allocation_id, each) in enumerate(zip(ids, body.sets, strict=True)):
            try:
                sets.append(self._set(allocation_id, each.accounts, naming, f"/sets/{place}"))
            except Problem as problem:
                if problem.spec is not ACCOUNT_NAME_INVALID:
                    raise
                content = Content(self._digest(each.accounts))
                sets.append(AccountSet(allocation_id, tuple, content, AccountsRefusal.ACCOUNT_NAME_INVALID))
        return AccountReport(report_id, site, observed_at, sets)

    def _set(
        self, allocation_id: AllocationId, accounts: Sequence[AccountBody], naming: Naming, at: str
    ) -> AccountSet:
        """One set; `at` is where in the body it stands."""
        if len(accounts) > ACCOUNTS_MAX:
            raise Problem(
                BODY_TOO_LARGE,
                f"the set holds {len(accounts)} accounts, at most {ACCOUNTS_MAX} are taken; a set cannot be "
                "split, so give the allocation fewer accounts",
            )
        content = self._content(accounts, naming, at)
        return AccountSet(allocation_id, partial(_accounts, accounts), content)

    def _content(self, accounts: Sequence[AccountBody], naming: Naming, at: str) -> Content:
        sent = (naming, self._digest(accounts))
        known = self._known.get(sent)
        if known is not None:
            return known
        canonical = sorted(
            [_canonical(f"{at}/accounts/{place}", each) for place, each in enumerate(accounts)],
            key=attrgetter("native_uid"),
        )
        _check_names(accounts, naming, at)
        if len(self._known) >= self._remembered:
            self._known = {}
        content = self._known[sent] = Content(self._digest(canonical))
        return content

    def _digest(self, accounts: Sequence[AccountBody]) -> str:
        return content_digest(CANONICALISATION + self._encoder.encode(accounts))


def _canonical(at: str, account: AccountBody) -> AccountBody:
    """The account, which stands at `at`, with its UUIDs in their one form. Raises the `Problem` it
    deserves.
    """
    party_id = str(_uuid(account.party_id, f"{at}/partyId"))
    binding_id = str(_uuid(account.binding_id, f"{at}/bindingId"))
    uid = account.native_uid
    if not (0 < len(uid) <= NATIVE_UID_MAX and uid.isprintable()):
        _refuse(f"{at}/nativeUid", f"wanted 1 to {NATIVE_UID_MAX} printable characters")
    if (party_id, binding_id) == (account.party_id, account.binding_id):
        return account
    return msgspec.structs.replace(account, party_id=party_id, binding_id=binding_id)


def _check_names(accounts: Sequence[AccountBody], naming: Naming, at: str) -> None:
    """No native UID twice, and every name of the Site's kind (P22)."""
    seen: set[str] = set()
    for position, account in enumerate(accounts):
        if account.native_uid in seen:
            _refuse(f"{at}/accounts/{position}/nativeUid", "the account is named twice; name each once")
        seen.add(account.native_uid)
    for position, account in enumerate(accounts):
        fault = name_fault(naming, _uuid(account.party_id, ""), account.name)
        if fault is not None:
            pointer = f"{at}/accounts/{position}/name"
            raise Problem(ACCOUNT_NAME_INVALID, f"{pointer}: {fault}", errors=[FieldError(pointer, fault)])


def _accounts(bodies: Sequence[AccountBody]) -> Sequence[Account]:
    """The checked accounts as domain values."""
    return [
        Account(
            party_id=_uuid(body.party_id, ""),
            name=body.name,
            native_uid=body.native_uid,
            uid_number=body.uid_number,
            binding_id=_uuid(body.binding_id, ""),
            generation=body.generation,
            state=body.state,
        )
        for body in bodies
    ]


def _uuid(text: str, pointer: str) -> UUID:
    canonical = canonical_uuid(text)
    found = parse_uuid(canonical) if canonical is not None else None
    if found is None:
        _refuse(pointer, "wanted a UUID in its dashed form")
    return found


def _refuse(pointer: str, reason: str) -> NoReturn:
    raise Problem(BODY_INVALID, f"{pointer}: {reason}", errors=[FieldError(pointer, reason)])
