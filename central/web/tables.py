"""From rows to tables: which columns, which words. Pure; what stands and for how long the rows say."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from urllib.parse import quote

from central.web.known import Row, Rows
from central.web.model import Anchor, Cell, Standing, Table
from central.web.words import age_words, amount_words

_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,254}")
_KEY_STATES: Final = ("active", "pending", "removing", "removed", "held", "refused")


def moment(at: str | None, now: datetime, *, never: str = "never") -> Cell:
    """A time in words."""
    return Cell(age_words(at, now), at=at) if at else Cell(never)


def standing(row: Row, now: datetime) -> Cell:
    """Fresh, stale since, never or unavailable, in words."""
    found, since = Standing(row["standing"]), row.get("staleSince")
    note = row.get("unusable")
    if found is Standing.STALE and since:
        return Cell(f"stale since {age_words(since, now)}", at=since, standing=found, note=note)
    return Cell(found.value, standing=found, note=note)


def amounts(limits: Mapping[str, int] | None) -> Cell:
    """Limits with their units (X3), as they are in the title; None is "not known", which is not nothing."""
    if limits is None:
        return Cell("not known")
    if not limits:
        return Cell("nothing")
    pairs = sorted(limits.items())
    return Cell(
        ", ".join(amount_words(name, amount) for name, amount in pairs),
        exact=", ".join(f"{name} {amount}" for name, amount in pairs),
    )


def allocation_href(allocation: str) -> str:
    """The page of one allocation."""
    return f"/allocations/{quote(allocation, safe='')}"


def account_href(site: str, member: str) -> str | None:
    """The page of one member's account; None for a name no path can carry."""
    if _NAME.fullmatch(member) is None:
        return None
    return f"/sites/{quote(site, safe='')}/accounts/{quote(member, safe='')}"


def list_href(site: str, name: str, after: str | None = None) -> str:
    """A whole list of a Site, from one place on."""
    tail = f"?after={quote(after, safe='')}" if after else ""
    return f"/sites/{quote(site, safe='')}/{name}{tail}"


def view(found: Rows, now: datetime) -> Table:
    """Beto's view (P14)."""
    rows = [
        (Cell(row["scope"]), Cell(row["phase"]), standing(row, now), moment(row["checkedAt"], now))
        for row in found.rows
    ]
    return Table(
        "Beto's view, by scope", ("Scope", "Phase", "Standing", "Last matched Beto"), rows, "No scope."
    )


def retention(found: Rows, now: datetime) -> Table:
    """Whether lists of retained accounts are complete (P28)."""
    rows = [
        (
            Cell("recovery of accepted work"),
            Cell(row["phase"]),
            standing(row, now),
            moment(row["askedAt"], now),
            Cell(", ".join(row["owners"]) or "none"),
        )
        for row in found.rows
    ]
    columns = ("What", "Phase", "Standing", "Last pass began", "Owners it read")
    return Table("Accounts kept for accepted work", columns, rows, "Nothing.")


def grants(site: str, found: Rows, now: datetime) -> Table:
    """The grants of a Site's agents (I18)."""
    rows = [
        (
            Cell(row["grantId"]),
            Cell(", ".join(row["scopes"])),
            Cell(row["state"]),
            moment(row["lastUsedAt"], now),
            moment(row["issuedAt"], now),
            moment(row["revokedAt"] or row["expiresAt"], now, never="until revoked"),
        )
        for row in found.rows
    ]
    columns = ("Grant", "Scopes", "State", "Last used, to the minute", "Issued", "Ends or ended")
    caption = f"Grants of the agents of {site}"
    return Table(caption, columns, rows, f"{site} has no grant: its agents cannot ask.")


def allocations(site: str, found: Rows, now: datetime) -> Table:
    """Allocations with their limits (P4, P9)."""
    rows = [
        (
            Cell(
                row["nativeName"] or "no native name yet",
                href=allocation_href(row["allocationId"]),
                note=row["allocationId"],
            ),
            Cell(row["lifecycle"], note=", ".join(row["reasons"]) or None),
            standing(row, now),
            moment(row["lastSeenAt"], now),
            amounts(row["configured"]),
            amounts(row["applied"]),
            amounts(row["used"]),
            Cell(row["projectId"] or "no Project proven yet"),
        )
        for row in found.rows
    ]
    columns = (
        "Allocation", "State", "Standing", "Last observed", "Configured", "Applied", "Used", "Project",
    )  # fmt: skip
    return Table(
        f"Allocations at {site}", columns, rows, "None.", _more(site, "allocations", "the allocations", found)
    )


def accounts(site: str, found: Rows, now: datetime) -> Table:
    """Native accounts as the Site confirmed them (P21, P25)."""
    rows = [
        (
            Cell(row["name"], href=account_href(site, row["partyId"]), note=row["nativeUid"]),
            Cell(row["state"]),
            standing(row, now),
            moment(row["confirmedAt"], now),
            Cell("not told" if row["uidNumber"] is None else str(row["uidNumber"])),
            Cell(str(row["generation"])),
            Cell(row["allocationId"], href=allocation_href(row["allocationId"])),
        )
        for row in found.rows
    ]
    columns = ("Account", "State", "Standing", "Set confirmed", "UID", "Generation", "Allocation")
    return Table(
        f"Native accounts at {site}",
        columns,
        rows,
        "None.",
        _more(site, "accounts", "the native accounts", found),
    )


def keys(site: str, found: Rows, now: datetime) -> Table:
    """SSH keys, counted by member and state (E6)."""
    rows = [
        (
            Cell(row["member"], href=account_href(site, row["member"])),
            Cell(row["accounts"] or "not known"),
            *(Cell(str(row[state])) for state in _KEY_STATES),
            moment(row["reportedAt"], now),
        )
        for row in found.rows
    ]
    columns = (
        "Member", "Account", "Applied", "Waiting", "Being removed", "Removed", "Held", "Refused",
        "Site last reported",
    )  # fmt: skip
    return Table(
        f"SSH keys of members at {site}", columns, rows, "None.", _more(site, "keys", "the SSH keys", found)
    )


def member_keys(site: str, member: str, found: Rows, now: datetime) -> Table:
    """One member's keys at a Site (E6)."""
    rows = [
        (
            Cell(row["name"], href=f"/keys/{quote(row['keyId'], safe='')}", note=row["fingerprint"]),
            Cell(row["type"]),
            Cell(row["state"], note=row["reason"]),
            moment(row["addedAt"], now),
            moment(row["reportedAt"], now),
        )
        for row in found.rows
    ]
    columns = ("Key", "Type", "State", "Added", "Site last reported")
    return Table(f"SSH keys of {member} at {site}", columns, rows, "None was ever added.")


def runs(site: str, found: Rows, now: datetime) -> Table:
    """Runs with their stage, verdict and what they wait for (E1, E4)."""
    rows = [
        (
            Cell(row["runId"], href=f"/runs/{quote(row['runId'], safe='')}"),
            Cell(row["state"]),
            Cell(row["reason"] or "–"),
            Cell(row["stage"], note=row["stageState"]),
            Cell(row["verdict"] or "none yet"),
            moment(row["changedAt"], now),
            moment(row["deadline"], now),
            Cell(row["projectId"]),
        )
        for row in found.rows
    ]
    columns = (
        "Run", "State", "Why waiting or ended", "Stage", "Verdict", "Last changed", "Deadline", "Project",
    )  # fmt: skip
    return Table(
        f"Runs at {site}, newest first", columns, rows, "None.", _more(site, "runs", "the Runs", found)
    )


def links(title: str, found: Sequence[Row], now: datetime, *, empty: str = "Nothing is known.") -> Table:
    """What `explain` says, link by link (O1)."""
    rows = [
        (Cell(row["link"]), Cell(row["text"]), moment(row["at"], now, never="–"), Cell(row["at"] or "–"))
        for row in found
    ]
    return Table(title, ("Link", "What is known", "Age", "Since"), rows, empty)


def _more(site: str, name: str, title: str, found: Rows) -> Anchor | None:
    """Where the list goes on."""
    return Anchor(f"More of {title} at {site}", list_href(site, name, found.next)) if found.next else None
