"""Why a Run is in its state: each link from the member's wish to the Site's word, with its age (O1)."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from central.execution.adapters.postgres_audit import PostgresAudit
from central.execution.adapters.postgres_maintenance import PostgresMaintenance
from central.execution.adapters.postgres_runs import PostgresRuns
from central.execution.adapters.run_evidence import KnownCommand, KnownRun, RunEvidence
from central.execution.application.git_passes import CONFIRM
from central.execution.application.ports import AccountAwaits, AccountChanged
from central.execution.domain.maintenance import in_force
from central.execution.domain.run import Cleanup, Run, RunState, Stage
from central.execution.domain.words import CANCEL_REFUSED, CLEANUP_REFUSED, SITE_SILENT, words_of
from central.grants.adapters.postgres_grants import PostgresGrants
from central.grants.domain.grant import Scope
from central.kernel.database import Database
from central.kernel.errors import Unavailable
from central.kernel.times import format_rfc3339, utc_now
from central.processes.execution_ports import run_accounts
from central.processes.links import Link, link
from central.processes.operator import opened
from central.processes.refusals import RunUnknown
from central.provisioning.adapters.postgres_saved import PostgresSavedAllocations
from central.provisioning.domain.ids import AllocationId
from central.settings import Settings

SHOWN_MAX = 1_000


def show_runs(
    settings: Settings, site: str | None, project: UUID | None, *, live: bool
) -> list[dict[str, Any]]:
    """Runs that fit, newest first, at most `SHOWN_MAX`."""
    now = utc_now()
    with opened(settings) as database:
        found = RunEvidence(database).runs(site, project, live=live, limit=SHOWN_MAX)
    return [run_row(run, now) for run in found]


def run_row(run: KnownRun, now: datetime) -> dict[str, Any]:
    """A Run as it is shown everywhere."""
    return {
        "runId": str(run.run_id),
        "site": run.site,
        "projectId": str(run.project_id),
        "createdBy": str(run.created_by),
        "state": run.state,
        "reason": run.reason,
        "createdAt": format_rfc3339(run.created_at),
        "changedAt": format_rfc3339(run.changed_at),
        "deadline": format_rfc3339(run.deadline),
        "revision": run.revision,
        "released": run.released,
        "published": run.published == run.revision,
        "ageSeconds": max(0, int((now - run.changed_at).total_seconds())),
        "waiting": _waiting_row(run, now),
        "cleanupRefusal": run.cleanup_refusal,
    }


def _waiting_row(run: KnownRun, now: datetime) -> dict[str, Any] | None:
    """What a Run waits for, in words, since when, and what ends it."""
    words = words_of(run.reason) if run.state == RunState.WAITING else None
    if words is None:
        return None
    since = run.waits_since
    return {
        "since": format_rfc3339(since) if since else None,
        "ageSeconds": max(0, int((now - since).total_seconds())) if since else None,
        "what": words.what,
        "remedy": words.remedy,
    }


def explain_run(settings: Settings, run_id: UUID) -> list[Link]:
    """See `run_links`."""
    with opened(settings) as database:
        return run_links(settings, database, run_id, utc_now())


def run_links(settings: Settings, database: Database, run_id: UUID, now: datetime) -> list[Link]:
    """Each link of the chain. Raises `RunUnknown`, `CorruptState`."""
    evidence = RunEvidence(database)
    known, run = evidence.run(run_id), PostgresRuns(database).by_id(run_id)
    if known is None or run is None:
        raise RunUnknown(str(run_id))
    return list(_links(settings, database, known, run, now))


def _links(
    settings: Settings, database: Database, known: KnownRun, run: Run, now: datetime
) -> Iterator[Link]:
    evidence = RunEvidence(database)
    wanted, identity = run.request, run.identity
    reason = f" ({run.reason})" if run.reason else ""
    yield link("run", f"{run.state.value}{reason}, revision {run.revision}", run.changed_at, now)
    words = words_of(run.reason)
    if words is not None:
        name = "waits" if run.state is RunState.WAITING else "ended"
        yield link(name, f"{words.what} {words.remedy}", run.waits_since, now)
    yield link("wish", f"Project {wanted.project_id}, by Party {run.created_by}", run.created_at, now)
    yield Link("deadline", _deadline(run, now), None, None)
    yield Link(
        "identity",
        f"{identity.username} {identity.uid_number} in {identity.account}, generation {identity.generation}",
        None,
        None,
    )
    yield _allocation(database, run, now)
    yield _account(settings, database, run, now)
    yield Link("authority", "Beto is asked at each use, never kept", None, None)
    yield _consent(evidence, run, now)
    yield _maintenance(database, run, now)
    yield _site(database, run, now)
    commands = {each.command_id: each for each in evidence.commands(run.run_id)}
    yield from attempt_links(run, now)
    for stage in run.attempt.stages:
        yield _stage(stage, commands, now)
    yield from _end(database, known, run, commands, now)


def _deadline(run: Run, now: datetime) -> str:
    """The deadline, and for a Run that has not ended how far it is."""
    deadline = run.request.deadline
    if run.ended:
        return format_rfc3339(deadline)
    left = timedelta(seconds=int((deadline - now).total_seconds()))
    return f"{format_rfc3339(deadline)}, {f'in {left}' if left > timedelta() else 'PASSED'}"


def _allocation(database: Database, run: Run, now: datetime) -> Link:
    saved = PostgresSavedAllocations(database).by_id(AllocationId(run.allocation_id))
    if saved is None:
        return Link("allocation", f"{run.allocation_id} is not there", None, None)
    return link("allocation", f"{run.allocation_id} {saved.allocation.lifecycle.value}", saved.last_seen, now)


def _account(settings: Settings, database: Database, run: Run, now: datetime) -> Link:
    try:
        at = run_accounts(database, None, settings.account_max_age).confirmed_at(run, now)
    except AccountAwaits as awaits:
        return Link("account", f"NOT confirmed now: {awaits.reason}", None, None)
    except AccountChanged:
        return Link("account", "the Site has ANOTHER account than the saved one: never used", None, None)
    except Unavailable as error:
        return Link("account", f"cannot be known now: {error.detail}", None, None)
    return link("account", "confirmed by the Site, exactly the saved one", at, now)


def _consent(evidence: RunEvidence, run: Run, now: datetime) -> Link:
    found = evidence.consent(run.created_by)
    if found is None:
        return Link("consent", "the member never gave one: no token can be got", None, None)
    if found.ended_at is not None:
        return link("consent", "ENDED: only the member can give another", found.ended_at, now)
    return link("consent", "stands as far as is known; last used or given", found.refreshed_at, now)


def _maintenance(database: Database, run: Run, now: datetime) -> Link:
    said = PostgresMaintenance(database).of(run.request.site)
    if said is None:
        return Link("maintenance", f"{run.request.site} never stated any", None, None)
    text = f"DRAINING: {said.reason}" if in_force(said, now) else "takes new work"
    return link("maintenance", text, said.observed_at, now)


def _site(database: Database, run: Run, now: datetime) -> Link:
    valid = [
        grant
        for grant in PostgresGrants(database).everything()
        if grant.site == run.request.site and Scope.COMMANDS in grant.scopes and grant.valid(now)
    ]
    if not valid:
        return Link("site", f"{run.request.site} has no valid commands grant: it cannot ask", None, None)
    used = max((grant.last_used_at for grant in valid if grant.last_used_at), default=None)
    text = "last asked (to the minute)" if used else "has a grant and never used it"
    return link("site", f"{run.request.site} {text}", used, now)


def _stage(stage: Stage, commands: dict[UUID, KnownCommand], now: datetime) -> Link:
    command = commands.get(stage.command_id) if stage.command_id is not None else None
    words, at = [stage.state.value], command.issued_at if command else None
    if command is not None:
        words.append(f"command {command.sequence}")
    if stage.issues > 1:
        words.append(f"asked for {stage.issues} times")
    if stage.acknowledgement is not None:
        said = stage.acknowledgement
        words.append(f"job {said.job_id}" if said.accepted else f"refused: {said.code}")
        at = command.acknowledged_at if command and command.acknowledged_at else at
    if stage.result is not None:
        words.append(stage.result.verdict.value)
        at = stage.result.observed_at
    return link(stage.name.value, ", ".join(words), at, now)


def _end(
    database: Database, known: KnownRun, run: Run, commands: dict[UUID, KnownCommand], now: datetime
) -> Iterator[Link]:
    if run.cancellation is not None:
        asked = run.cancellation
        yield link("cancel", f"{asked.cause.value}, by Party {asked.actor}", asked.asked_at, now)
        if asked.refusal is not None:
            refused = f"REFUSED: {asked.refusal}. {CANCEL_REFUSED.what} {CANCEL_REFUSED.remedy}"
            yield link("cancel at the Site", refused, asked.refused_at, now)
    if run.output is not None:
        yield Link(
            "output", f"{run.output.ref} at {run.output.commit}, confirmed by the Git host", None, None
        )
    elif run.output_awaited is not None:
        yield Link("output", f"{run.output_awaited.ref}: the Git host has not confirmed it yet", None, None)
        yield _git_host(RunEvidence(database), run.request.repository.host, now)
    if run.cleanup is not None:
        yield _cleanup(run.cleanup, commands, now)
    given = RunEvidence(database).credentials(run.run_id)
    yield Link("credentials", f"{given.asked} asked for, {given.outstanding} not taken back", None, None)
    said = "said to the others" if known.published == known.revision else "NOT yet said to the others"
    kept = "no, it is released" if known.released else "yes, until the Run is over and cleaned up"
    if known.cleanup_refusal is not None:
        kept = f"yes, until the refused cleanup is over. {CLEANUP_REFUSED.remedy}"
    elif run.state is RunState.CANCELLING:
        kept = f"yes, until the Site answers. {SITE_SILENT.remedy}"
    yield Link("account kept", f"{kept}; revision {known.revision} {said}", None, None)
    for use in PostgresAudit(database).uses(run.run_id):
        yield link(
            "used",
            f"{use.permission} by Party {use.actor}, first {format_rfc3339(use.first_at)}",
            use.last_at,
            now,
        )


def _git_host(evidence: RunEvidence, host: str, now: datetime) -> Link:
    silence = evidence.silence(CONFIRM, host)
    if silence is None:
        return Link("git host", f"{host}, not silent as far as is known", None, None)
    seen = format_rfc3339(silence.seen)
    return link("git host", f"{host} SILENT; seen last at {seen}: {silence.what}", silence.since, now)


def attempt_links(run: Run, now: datetime) -> Iterator[Link]:
    """Who asked for each attempt but the first, and how each but the latest ended."""
    for attempt in run.attempts:
        words = [f"a retry, asked for by Party {attempt.asked_by}"] if attempt.asked_by is not None else []
        if attempt.past is not None:
            reason = f" ({attempt.past.reason})" if attempt.past.reason else ""
            words.insert(0, f"{attempt.past.state.value}{reason}")
        if words:
            yield link(f"attempt {attempt.number}", ", ".join(words), attempt.asked_at, now)


def _cleanup(cleanup: Cleanup, commands: dict[UUID, KnownCommand], now: datetime) -> Link:
    command = commands.get(cleanup.command_id)
    asked = f", asked for {cleanup.issues} times" if cleanup.issues > 1 else ""
    if cleanup.settlement is not None:
        said = cleanup.settlement
        return link("cleanup", f"SETTLED by {said.by}: {said.reason}", said.at, now)
    if cleanup.refusal is not None:
        text = f"REFUSED: {cleanup.refusal}{asked}. {CLEANUP_REFUSED.what}"
        return link("cleanup", text, cleanup.refused_at, now)
    text = ("done" if cleanup.done else "asked for") + asked
    return link("cleanup", text, command.issued_at if command else None, now)
