"""`pharos-central show`: Projects, allocations, accounts, members and Runs as central knows them (O1).

Nothing that fits: exit code 0, and "none" on standard error. What cannot be known: 4. Unknown Project or
Site: 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import click

from central.commands.told import operator_settings, print_list, told

_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document.")
_SITE = click.option("--site", help="Of this Site only, by its environment name.")
_PROJECT = click.option("--project", type=click.UUID, help="Of this Project of Beto's only, by its id.")

# What stands above the lists for people; the columns are those of the lines below.
_ALLOCATION = f"{'ALLOCATION':<36}  {'SITE':<12} {'PROJECT':<36}  {'STATE (REASONS)':<30}  LAST SEEN"
_ACCOUNT = f"{'SITE':<12} {'ALLOCATION':<36}  {'NAME':<16} {'UID':<8} {'STATE':<10} GENERATION  CONFIRMED"
_RUN = f"{'RUN':<36}  {'SITE':<12} {'PROJECT':<36}  {'STATE (REASON)':<30}  AGE"
_PROJECT_LINE = f"{'PROJECT':<36}  {'LIFECYCLE':<9} {'MEMBERS':<7} AUTHORITY  HELD AT"
_RETAINED = f"{'NAME':<16} {'PARTY':<36}  {'PROJECT':<36}  GENERATION"
_MEMBER = f"{'NAME':<16} {'STATE':<7} GENERATION  {'PARTY':<36}  BINDING"


@click.group()
def show() -> None:
    """What central knows, as lists; `explain` says why."""


@show.command("projects")
@_JSON
def show_projects(as_json: bool) -> None:
    """List Projects as viewed from Beto; exit code 4 while the view does not answer."""
    with told():
        from central.processes.show_projects import show_projects as found

        print_list("projects", found(operator_settings(None)), _project, _PROJECT_LINE, as_json=as_json)


@show.command("retained")
@click.option("--site", required=True, help="Where the accounts are.")
@_JSON
def show_retained(site: str, as_json: bool) -> None:
    """List the accounts a Site keeps for accepted work: whole, or exit code 4 with why it cannot be said."""
    with told():
        from central.processes.show_retained import show_retained as found

        print_list("retained", found(operator_settings(site), site), _retained, _RETAINED, as_json=as_json)


@show.command("allocations")
@_SITE
@_PROJECT
@_JSON
def show_allocations(site: str | None, project: UUID | None, as_json: bool) -> None:
    """List allocations with their state and age."""
    with told():
        from central.processes.show import show_allocations as found

        rows = found(operator_settings(site), site, project)
        print_list("allocations", rows, _allocation, _ALLOCATION, as_json=as_json)


@show.command("accounts")
@_SITE
@_PROJECT
@_JSON
def show_accounts(site: str | None, project: UUID | None, as_json: bool) -> None:
    """List every account a Site ever confirmed: absent ones and older generations are evidence, too."""
    with told():
        from central.processes.show import show_accounts as found

        rows = found(operator_settings(site), site, project)
        print_list("accounts", rows, _account, _ACCOUNT, as_json=as_json)


@show.command("members")
@click.option("--site", required=True, help="Where they are known by a name.")
@click.option("--project", required=True, help="Beto's Project by its id, or as Waldur names it.")
@_JSON
def show_members(site: str, project: str, as_json: bool) -> None:
    """List a Project's members as viewed from Beto; exit code 4 while the view does not answer."""
    with told():
        from central.processes.refusals import ProjectUnknown
        from central.processes.show import show_members as found
        from central.processes.show_projects import the_project

        settings = operator_settings(site)
        rows = found(settings, site, the_project(settings, project))
        if rows is None:
            raise ProjectUnknown(project)
        print_list("members", rows, _member, _MEMBER, as_json=as_json)


@show.command("runs")
@_SITE
@_PROJECT
@click.option("--live", is_flag=True, help="Only those that have not ended.")
@_JSON
def show_runs(site: str | None, project: UUID | None, live: bool, as_json: bool) -> None:
    """List Runs, newest first, at most 1,000."""
    with told():
        from central.processes.explain_execution import show_runs as found

        rows = found(operator_settings(site), site, project, live=live)
        print_list("runs", rows, _run, _RUN, as_json=as_json)


def _age(row: Mapping[str, Any]) -> str:
    return f"{row['ageSeconds']} s" + ("" if row["fresh"] else " STALE")


def _allocation(row: Mapping[str, Any]) -> str:
    reasons = f" ({', '.join(row['reasons'])})" if row["reasons"] else ""
    project = row["projectId"] or "no Project yet"
    state = f"{row['lifecycle']}{reasons}"
    return f"{row['allocationId']}  {row['site']:<12} {project:<36}  {state:<30}  {_age(row)}"


def _account(row: Mapping[str, Any]) -> str:
    number = row["uidNumber"] if row["uidNumber"] is not None else "-"
    where = f"{row['site']:<12} {row['allocationId']}"
    generation = f"g{row['generation']}"
    return f"{where}  {row['name']:<16} {number:<8} {row['state']:<10} {generation:<10}  {_age(row)}"


def _run(row: Mapping[str, Any]) -> str:
    reason = f" ({row['reason']})" if row["reason"] else ""
    where = f"{row['runId']}  {row['site']:<12} {row['projectId']}"
    line = f"{where}  {row['state'] + reason:<30}  {row['ageSeconds']} s"
    waiting = row["waiting"]
    if waiting is not None:
        since = "" if waiting["ageSeconds"] is None else f" for {waiting['ageSeconds']} s"
        line += f"\n    waits{since}: {waiting['what']} {waiting['remedy']}"
    if row["cleanupRefusal"] is not None:
        line += (
            f"\n    account kept: the Site refused the cleanup ({row['cleanupRefusal']}); see `explain run`"
        )
    return line


def _project(row: Mapping[str, Any]) -> str:
    authority = row["authority"] or "none"
    held = ", ".join(f"{one['provider']} {one['projectRef']}" for one in row["providerBindings"])
    defers = f" DEFERS: {row['defers']}" if row["defers"] else ""
    line = f"{row['projectId']}  {row['lifecycle']:<9} {row['members']:<7} {authority:<9}  {held}{defers}"
    return line.rstrip()


def _retained(row: Mapping[str, Any]) -> str:
    return f"{row['username']:<16} {row['partyId']}  {row['projectId']}  g{row['generation']}"


def _member(row: Mapping[str, Any]) -> str:
    if row["state"] == "conflict":
        return f"{row['username']:<16} CONFLICT of {row['bindings']} bindings"
    party = f"{row['partyId']}  binding {row['binding']}"
    return f"{row['username']:<16} {row['state']:<7} g{row['generation']}  {party}"
