"""`Runs` in PostgreSQL: a Run's versions and receipts in the aggregate store, its row for lists, its commands
in the Site's feed, all in one transaction (X7).

Only a transaction that appends commands takes the Site's lock; `pg_notify` is said with them alone (O4).
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from central.execution.adapters.rows import (
    CommandRow,
    RunIdRow,
    decode_run,
    encode_action,
    encode_run,
    listed,
)
from central.execution.application.ports import (
    CommandPage,
    RunPage,
    RunUnknown,
    Saved,
    StoreCommand,
)
from central.execution.application.work_items import item_id_of
from central.execution.domain.command import SiteCommand
from central.execution.domain.progress import Step
from central.execution.domain.run import Run
from central.kernel.aggregates import Aggregates, Command, Decision, Stored
from central.kernel.database import Database, Transaction
from central.kernel.errors import CorruptState
from central.kernel.problems import COMMAND_REUSED, Problem
from central.kernel.queries import load_queries
from central.kernel.site_feed import cut

SCHEMA: Final = "execution"
CHANNEL: Final = "pharos_execution"
RUN: Final = "run"


class PostgresRuns:
    """The adapter. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._aggregates = Aggregates(database, schema=SCHEMA)
        self._queries = load_queries("central.execution")

    def recorded(self, command: StoreCommand) -> Run | None:
        """See `Runs`."""
        receipt = self._aggregates.receipt(command.id)
        if receipt is None:
            return None
        self._aggregates.decide(
            _store(command), RUN, receipt.aggregate_id, _unreachable, now=receipt.recorded_at
        )
        run = self.by_id(receipt.aggregate_id)
        if run is None:
            raise Problem(COMMAND_REUSED, "this Idempotency-Key named another command before; use a new one")
        return run

    def add(self, command: StoreCommand, step: Step) -> Saved:
        """See `Runs`."""

        def work(tx: Transaction, stored: Stored | None) -> Decision:
            if stored is not None:
                raise CorruptState(f"run {step.run.run_id} is there without its command's receipt")
            self._save(tx, step, step.run.created_at)
            return Decision(encode_run(step.run))

        return self._decided(command, step.run.run_id, work, step.run.created_at)

    def move(self, command: StoreCommand, run_id: UUID, step: Callable[[Run], Step], now: datetime) -> Saved:
        """See `Runs`."""

        def work(tx: Transaction, stored: Stored | None) -> Decision:
            if stored is None:
                raise RunUnknown
            before = decode_run(stored.snapshot, run_id)
            after = step(before)
            if after.run is before:
                return Decision(None)
            self._save(tx, after, now)
            self._close_items(tx, before, after.run)
            return Decision(encode_run(after.run))

        return self._decided(command, run_id, work, now)

    def by_id(self, run_id: UUID) -> Run | None:
        """See `Runs`."""
        stored = self._aggregates.load(RUN, run_id)
        return None if stored is None else decode_run(stored.snapshot, run_id)

    def by_ids(self, run_ids: Collection[UUID]) -> dict[UUID, Run]:
        """The Runs of rows that were read; ``CorruptState`` where one has no version."""
        return self._database.run(lambda tx: self._load(tx, run_ids), repeatable=True)

    def of_project(self, project: UUID, after: UUID | None, limit: int) -> RunPage:
        """See `Runs`."""
        if after is not None:
            known = self.by_id(after)
            if known is None or known.request.project_id != project:
                raise RunUnknown
        params = {"project_id": project, "after": after, "limit": limit}

        def read(tx: Transaction) -> list[Run]:
            found = [row.run_id for row in tx.all(RunIdRow, self._queries["page_of_project"], params)]
            loaded = self._load(tx, found)
            return [loaded[run_id] for run_id in found]

        runs = self._database.run(read, repeatable=True)
        return RunPage(tuple(runs[:limit]), runs[limit - 1].run_id if len(runs) > limit else None)

    def run_of_command(self, site: str, command: UUID) -> UUID:
        """See `Runs`."""
        params = {"site": site, "command_id": command}
        row = self._database.run(
            lambda tx: tx.maybe(RunIdRow, self._queries["run_of_command"], params), repeatable=True
        )
        if row is None:
            raise RunUnknown
        return row.run_id

    def commands(self, site: str, after: int, limit: int, *, unacknowledged: bool) -> CommandPage:
        """See `Runs`."""
        params = {"site": site, "after": after, "limit": limit, "unacknowledged": unacknowledged}

        def read(tx: Transaction) -> tuple[list[CommandRow], dict[UUID, Run]]:
            rows = tx.all(CommandRow, self._queries["command_page"], params)
            if not rows:
                tx.execute(self._queries["ensure_feed"], {"site": site})
                rows = tx.all(CommandRow, self._queries["command_page"], params)
            wanted = {row.run_id for row in rows if row.run_id is not None}
            return rows, self._load(tx, wanted)

        rows, runs = self._database.run(read, repeatable=True)
        found = tuple(listed(row, runs[row.run_id]) for row in rows if row.run_id is not None)
        return cut((rows[0].feed, rows[0].head), after, limit, found, lambda each: each.sequence)

    def _decided(
        self,
        command: StoreCommand,
        run_id: UUID,
        work: Callable[[Transaction, Stored | None], Decision],
        now: datetime,
    ) -> Saved:
        receipt = self._aggregates.decide(_store(command), RUN, run_id, work, now=now)
        run = self.by_id(run_id)
        if run is None:
            raise RunUnknown
        return Saved(run, receipt.repeated)

    def _load(self, tx: Transaction, run_ids: Collection[UUID]) -> dict[UUID, Run]:
        """The Runs of these rows."""
        stored = self._aggregates.load_all_in(tx, RUN, run_ids)
        for run_id in run_ids:
            if run_id not in stored:
                raise CorruptState(f"run {run_id} has a row and no version")
        return {run_id: decode_run(one.snapshot, run_id) for run_id, one in stored.items()}

    def _save(self, tx: Transaction, step: Step, now: datetime) -> None:
        run = step.run
        if step.commands:
            tx.execute(self._queries["lock_site"], {"site": run.request.site})
        tx.execute(self._queries["save_run"], _row(run))
        settled = _acknowledged(run)
        if settled:
            tx.execute(self._queries["acknowledge_commands"], {"command_ids": settled, "now": now})
        if step.commands:
            self._append(tx, run, step.commands, now)

    def _close_items(self, tx: Transaction, before: Run, after: Run) -> None:
        """The item of an attempt that another one follows now (P27)."""
        known = {each.attempt_id for each in before.attempts if each.past is not None}
        for attempt in after.attempts:
            if attempt.past is not None and attempt.attempt_id not in known:
                params = {
                    "item_id": item_id_of(after, attempt),
                    "run_id": after.run_id,
                    "revision": attempt.past.revision,
                }
                tx.execute(self._queries["add_past_item"], params)

    def _append(self, tx: Transaction, run: Run, commands: Sequence[SiteCommand], now: datetime) -> None:
        site = {"site": run.request.site}
        tx.execute(self._queries["ensure_feed"], site)
        params = site | {
            "run_id": run.run_id,
            "attempt_id": run.attempt.attempt_id,
            "command_ids": [each.command_id for each in commands],
            "actions": [encode_action(each.action) for each in commands],
            "now": now,
        }
        if tx.execute(self._queries["append_commands"], params) != len(commands):
            raise CorruptState(f"the feed of {run.request.site} took not every command")
        tx.execute(self._queries["notify_site"], site)


def _row(run: Run) -> dict[str, object]:
    return {
        "run_id": run.run_id,
        "project_id": run.request.project_id,
        "site": run.request.site,
        "created_by": run.created_by,
        "state": run.state.value,
        "reason": run.reason,
        "created_at": run.created_at,
        "changed_at": run.changed_at,
        "deadline": run.request.deadline,
        "revision": run.revision,
        "awaits": run.output_awaited is not None,
        "released": run.released,
        "binding_id": run.identity.binding_id,
        "generation": run.identity.generation,
        "management_generation": run.identity.management_generation,
        "item_id": item_id_of(run, run.attempt) if run.attempt.number > 1 else None,
        "waits_since": run.waits_since,
        "cleanup_refusal": run.cleanup.refusal if run.cleanup is not None else None,
    }


def _acknowledged(run: Run) -> list[UUID]:
    """The commands a Site need not be told again."""
    stages = run.attempt.stages
    known = [
        each.command_id
        for each in stages
        if each.acknowledgement is not None or (run.ended and each.outstanding)
    ]
    known += [command for each in stages for command in each.expired]
    if run.cancellation is not None and run.cancellation.acknowledged:
        known.append(run.cancellation.command_id)
    if run.cleanup is not None:
        known += run.cleanup.expired
        known += [run.cleanup.command_id] if run.cleanup.acknowledged else []
    return [each for each in known if each is not None]


def _store(command: StoreCommand) -> Command:
    return Command(command.id, command.digest)


def _unreachable(_tx: Transaction, _stored: Stored | None) -> Decision:
    """Stands where a receipt is known to exist: the store compares the command with it, no more."""
    raise CorruptState("a receipt is gone")
