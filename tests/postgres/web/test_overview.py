"""The page of what is known and how fresh: well made, true, and never empty where unreadable (O1, X1)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import psycopg

from central.kernel.database import Database, DatabaseOptions
from central.kernel.observability import Metrics
from central.kernel.site_names import Site
from central.processes.overview import build_app
from central.ssh_access.adapters.postgres_keys import PostgresMemberKeys
from central.ssh_access.application.add_key import AddKey, AddRequest
from central.ssh_access.domain.account import AccountAnswer
from central.ssh_access.domain.member_key import MemberId, Target
from tests.contract.member_keys_suite import command, ed25519
from tests.html import parsed, words
from tests.ports import free_port
from tests.postgres.conftest import PgServer
from tests.postgres.provisioning.conftest import Agent, Clock, resource
from tests.postgres.web.rig import Overview, account, settings_of

AT = "2026-11-02T10:00:00Z"
PARTY = UUID(int=0x301)


def part(text: str, ident: str) -> str:
    """What a person reads in one part."""
    (found,) = [one for one in parsed(text).all("section") if one.attributes.get("aria-labelledby") == ident]
    return " ".join(found.text.split())


def test_x1_an_empty_platform_says_never_and_none(overview: Overview) -> None:
    text = overview.page()
    assert part(text, "slurm-allocations") == "Allocations at slurm None."
    assert part(text, "slurm-grants").endswith("slurm has no grant: its agents cannot ask.")
    assert part(text, "view").count("never") == 6
    assert "recovery of accepted work none never" in part(text, "retention")
    assert "could not be read" not in words(text)


def test_o1_what_a_site_reported_stands_there_with_its_age(
    overview: Overview, agent: Agent, clock: Clock, tell_accounts: Callable[..., None]
) -> None:
    (outcome,) = agent.report(AT, resource(1))
    tell_accounts(outcome["allocationId"], AT, account(1, PARTY), account(2, UUID(int=9), state="incomplete"))
    text = overview.page()
    shown = part(text, "slurm-allocations")
    assert "p1-alloc1" in shown
    assert "ready fresh 30 seconds ago 144 CPU, 2 gh200 GPUs, 480 GiB memory" in shown
    assert f'<time datetime="{AT}">30 seconds ago</time>' in text
    accounts = part(text, "slurm-accounts")
    assert "u1" in accounts
    assert "ready fresh 30 seconds ago 5000001 1" in accounts
    assert "incomplete fresh" in accounts
    assert "None." in part(text, "k8s-accounts")

    clock.now += timedelta(minutes=20)
    stale = overview.page()
    assert "ready stale since 5 minutes 30 seconds ago 20 minutes 30 seconds ago" in part(
        stale, "slurm-allocations"
    )
    assert "stale since" in part(stale, "slurm-accounts")


def test_o1_a_link_leads_to_each_link_of_evidence(
    overview: Overview, agent: Agent, tell_accounts: Callable[..., None]
) -> None:
    (outcome,) = agent.report(AT, resource(1))
    tell_accounts(outcome["allocationId"], AT, account(1, PARTY))
    href = f"/allocations/{outcome['allocationId']}"
    assert href in {one.attributes.get("href") for one in parsed(overview.page()).all("a")}
    text = words(overview.page(href))
    assert "state ready (revision 1) 30 seconds ago" in text
    assert "1 ready, 0 incomplete; fresh, below the limit of 900 s" in text
    for unknown in (f"/allocations/{uuid4()}", f"/runs/{uuid4()}", f"/sites/slurm/accounts/{PARTY}"):
        said = words(overview.page(unknown, 404))
        assert "nothing of this id is known" in said
        assert "Begin at everything that is known" in said
    for nowhere in (
        "/allocations/x",
        "/sites/slurm/secrets",
        "/sites/mars/runs",
        "/nowhere",
        "/static/x.css",
    ):
        overview.page(nowhere, 404)


def test_x1_hostile_names_are_text(
    overview: Overview, agent: Agent, tell_accounts: Callable[..., None]
) -> None:
    hostile = "<script>alert(1)</script>\"'&amp;"
    (outcome,) = agent.report(AT, resource(1, nativeName=hostile))
    tell_accounts(outcome["allocationId"], AT, account(1, PARTY, nativeUid=f"x\"><b onclick='y'>{hostile}"))
    paths = ("/", "/sites/slurm/allocations", "/sites/slurm/accounts")
    for path in (*paths, f"/allocations/{outcome['allocationId']}"):
        text = overview.page(path)
        assert "<script" not in text
    assert hostile in words(overview.page())


def test_p9_lists_go_on_where_they_ended(
    overview: Overview, agent: Agent, tell_accounts: Callable[..., None]
) -> None:
    outcomes = agent.report(AT, *(resource(number) for number in range(1, 231)))
    tell_accounts(outcomes[0]["allocationId"], AT, *(account(n, uuid4()) for n in range(1, 131)))
    assert len(re.findall("p1-alloc", overview.page())) == 20
    for name, total in (("allocations", 230), ("accounts", 130)):
        path, seen, sizes = f"/sites/slurm/{name}", list[str](), list[int]()
        while path:
            document = parsed(overview.page(path))
            rows = [one.text for one in document.all("th") if one.attributes.get("scope") == "row"]
            seen, sizes = [*seen, *rows], [*sizes, len(rows)]
            more = [one for one in document.all("a") if one.text.startswith("More of")]
            path = str(more[0].attributes["href"]) if more else ""
        assert (len(set(seen)), max(sizes)) == (total, 100)


def test_x4_a_place_no_list_has_is_refused(overview: Overview) -> None:
    for path in (
        "/sites/slurm/allocations?after=x",
        "/sites/slurm/accounts?after=1_2_3",
        f"/sites/slurm/accounts?after={uuid4()}_{uuid4()}_{uuid4()}_-1_x",
        f"/sites/slurm/accounts?after={uuid4()}_{uuid4()}_{uuid4()}_9223372036854775808_x",
        "/sites/slurm/runs?after=y",
        "/sites/slurm/runs?before=y",
        "/?x=1",
    ):
        assert "query_invalid" in overview.page(path, 400)


def test_x1_a_part_that_cannot_be_read_says_so_beside_the_others(
    overview: Overview, agent: Agent, pg_server: PgServer, name: str
) -> None:
    agent.report(AT, resource(1))
    with psycopg.connect(pg_server.admin_url(name)) as connection:
        connection.execute("UPDATE provisioning.allocation_sightings SET version = version + 1")
    text = overview.page()
    broken = part(text, "slurm-allocations")
    assert "Unavailable: this part could not be read (state_corrupt: allocation" in broken
    assert "None." not in broken
    assert "1 part of this page could not be read" in words(text)
    assert part(text, "slurm-accounts").endswith("None.")
    overview.page("/sites/slurm/allocations", 503)


def test_x1_nothing_that_can_be_read_is_503(clock: Clock) -> None:
    url = f"postgresql://pharos_overview@127.0.0.1:{free_port()}/none"
    options = DatabaseOptions(url, pool_size=1, pool_timeout_seconds=0.2)
    with Database(options) as database:
        lost = Overview(build_app(settings_of(url), database, Metrics("overview"), clock))
        text = lost.page("/", 503)
        assert words(text).count("database_unavailable") == 12
        assert " None." not in words(text)
        lost.page(f"/allocations/{uuid4()}", 503)
        assert lost.get("/readyz").status_code == 503


class Anybody:
    """`MemberAccounts`: everybody has an account."""

    def account_for(self, subject: MemberId, site: Site, now: datetime) -> AccountAnswer:
        return Target("u1", 5_000_001, UUID(int=1))


def test_e6_keys_are_counted_by_member_and_lead_to_each_link(
    overview: Overview, pg_server: PgServer, name: str
) -> None:
    url = pg_server.role_url("pharos_member_api", name)
    now = datetime(2026, 11, 2, 10, 0, tzinfo=UTC)
    with Database(DatabaseOptions(url)) as database:
        add = AddKey(Anybody(), PostgresMemberKeys(database))
        for number, member in ((1, "alice"), (2, "alice"), (3, "bob|evil/../x")):
            wanted = AddRequest(command(), MemberId(member), Site("slurm"), "<b>laptop", ed25519(number))
            add(wanted, now)
    text = overview.page()
    assert "alice u1 0 2 0 0 0 0 never" in part(text, "slurm-keys")
    assert "bob|evil/../x u1 0 1 0 0 0 0 never" in part(text, "slurm-keys")
    hrefs = [str(one.attributes.get("href")) for one in parsed(text).all("a")]
    assert [one for one in hrefs if one.startswith("/sites/slurm/accounts/")] == [
        "/sites/slurm/accounts/alice"
    ]
    theirs = overview.page("/sites/slurm/accounts/alice")
    assert "Nobody is known as alice at slurm." in part(theirs, "links")
    assert part(theirs, "keys").count("pending 30 seconds ago never") == 2
    (first, _) = [
        str(one.attributes["href"])
        for one in parsed(theirs).all("a")
        if str(one.attributes.get("href")).startswith("/keys/")
    ]
    assert "slurm has no valid ssh-access grant: it cannot ask" in words(overview.page(first))
    overview.page(f"/keys/{uuid4()}", 404)
