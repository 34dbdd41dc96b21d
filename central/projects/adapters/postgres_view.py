"""`ViewStore` in PostgreSQL. Locks are taken in one order: scope, receipt, item."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from central.kernel.database import Database, Transaction
from central.kernel.inbox import Inbox
from central.kernel.paging import Manifest
from central.kernel.queries import load_queries
from central.projects.adapters.rows import (
    EpochRow,
    ItemRow,
    ManifestRow,
    MembershipRow,
    ScopeRow,
    membership_params,
    party_binding_params,
    project_binding_params,
    scope_params,
)
from central.projects.application.items import encode_item, scope_of
from central.projects.application.ports import Applied, PassLost, Swapped
from central.projects.domain.ids import PartyId, ProjectId, Scope
from central.projects.domain.membership import Membership, advance
from central.projects.domain.merge import Merged, merge
from central.projects.domain.party import Party
from central.projects.domain.project import BindingRef, Project
from central.projects.domain.revisions import Told, Viewed, follow
from central.projects.domain.view import ScopeView, ViewLimits

SCHEMA: Final = "projects"


class PostgresView:
    """The adapter. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._inbox = Inbox(schema=SCHEMA)
        self._queries = load_queries("central.projects", "view.sql")

    def state(self, scope: Scope) -> ScopeView:
        """See `ViewStore`."""
        return self._database.run(
            lambda tx: tx.one(ScopeRow, self._queries["scope"], {"scope": scope.value}).view(),
            repeatable=True,
        )

    def apply(
        self, consumer: str, messages: Sequence[tuple[UUID, Told[Viewed]]], now: datetime
    ) -> Sequence[Applied]:
        """See `ViewStore`."""
        scope = scope_of(messages[0][1].value)
        key = {"scope": scope.value, "ids": [told.value.id for _, told in messages]}

        def work(tx: Transaction) -> Sequence[Applied]:
            epoch = tx.one(EpochRow, self._queries["share_scope"], key).epoch
            fresh = self._inbox.receive(tx, consumer, [message for message, _ in messages], now)
            tx.execute(self._queries["lock_items"], key)
            rows = tx.all(ItemRow, self._queries["some_items"], key)
            followed = follow({row.id: row.held(scope).told for row in rows}, fresh, messages)
            self._put(tx, followed.steps, epoch)
            return [Applied(judgement) for judgement in followed.judgements]

        return self._database.run(work, repeatable=True)

    def forget_receipts(self, before: datetime) -> int:
        """See `ViewStore`."""
        return self._database.run(lambda tx: self._inbox.forget(tx, before), repeatable=True)

    def compare(self, scope: Scope, manifest: Manifest, now: datetime) -> str | None:
        """See `ViewStore`."""

        def work(tx: Transaction) -> str | None:
            view = self._take(tx, scope)
            row = tx.one(ManifestRow, self._queries["manifest"], {"scope": scope.value})
            if (row.count, row.fingerprint) != (manifest.count, manifest.fingerprint):
                return row.fingerprint
            tx.execute(self._queries["put_scope"], scope_params(view.matched(manifest.position, now)))
            return None

        return self._database.run(work, repeatable=True)

    def settle_if_explained(
        self, begun: ScopeView, manifest: Manifest, items: Sequence[Viewed], asked_at: datetime
    ) -> bool:
        """See `ViewStore`."""

        def work(tx: Transaction) -> bool:
            view, merged = self._merged(tx, begun, items, asked_at)
            if merged.put or merged.drop:
                return False
            tx.execute(self._queries["put_scope"], scope_params(view.matched(manifest.position, asked_at)))
            return True

        return self._database.run(work, repeatable=True)

    def diverge(self, scope: Scope, reason: str) -> None:
        """See `ViewStore`."""
        self._change(scope, lambda view: view.diverged(reason))

    def refuse(self, scope: Scope, position: int) -> None:
        """See `ViewStore`."""
        self._change(scope, lambda view: view.refused(position) if view.went_back(position) else view)

    def accept_restored(self, scope: Scope) -> bool:
        """See `ViewStore`."""
        accepted = False

        def accept(view: ScopeView) -> ScopeView:
            nonlocal accepted
            after = view.restored()
            accepted = after is not view
            return after

        self._change(scope, accept)
        return accepted

    def begin(
        self, scope: Scope, now: datetime, limits: ViewLimits, *, looking: bool = False
    ) -> ScopeView | None:
        """See `ViewStore`."""

        def work(tx: Transaction) -> ScopeView | None:
            view = self._take(tx, scope)
            if view.held(now):
                return None
            begun = view.looked_at(now, limits) if looking else view.begun(now, limits)
            tx.execute(self._queries["put_scope"], scope_params(begun))
            return begun

        return self._database.run(work)

    def release(self, begun: ScopeView, reason: str) -> None:
        """See `ViewStore`."""
        self._change(begun.scope, lambda view: view.released(reason) if view.epoch == begun.epoch else view)

    def swap(
        self, begun: ScopeView, manifest: Manifest, items: Sequence[Viewed], asked_at: datetime
    ) -> Swapped:
        """See `ViewStore`."""

        def work(tx: Transaction) -> Swapped:
            view, merged = self._merged(tx, begun, items, asked_at)
            self._put(tx, [Told(item, asked_at, by_message=False) for item in merged.put], begun.epoch)
            self._drop(tx, begun.scope, merged.drop)
            tx.execute(self._queries["put_scope"], scope_params(view.matched(manifest.position, asked_at)))
            return Swapped(len(merged.put), len(merged.drop), merged.kept_newer)

        return self._database.run(work)

    def _merged(
        self, tx: Transaction, begun: ScopeView, items: Sequence[Viewed], asked_at: datetime
    ) -> tuple[ScopeView, Merged[Viewed]]:
        """The scope, held until the end of the transaction, and what turns it into the items. `PassLost`."""
        view = self._take(tx, begun.scope)
        if view.epoch != begun.epoch:
            raise PassLost(f"epoch {begun.epoch} of {begun.scope} ended; {view.epoch} is at work")
        rows = tx.all(ItemRow, self._queries["items"], {"scope": begun.scope.value})
        held = {row.id: row.held(begun.scope) for row in rows}
        return view, merge(items, held, begun.epoch, asked_at)

    def _take(self, tx: Transaction, scope: Scope) -> ScopeView:
        return tx.one(ScopeRow, self._queries["take_scope"], {"scope": scope.value}).view()

    def _change(self, scope: Scope, change: Callable[[ScopeView], ScopeView]) -> None:
        def work(tx: Transaction) -> None:
            view = self._take(tx, scope)
            changed = change(view)
            if changed != view:
                tx.execute(self._queries["put_scope"], scope_params(changed))

        self._database.run(work, repeatable=True)

    def _put(self, tx: Transaction, steps: Sequence[Told[Viewed]], epoch: int) -> None:
        """Follows the steps of one scope with all that derives from them, generations included (P17)."""
        if not steps:
            return
        last = {step.value.id: step for step in steps}
        ids = list(last)
        params: dict[str, object] = {
            "scope": scope_of(steps[0].value).value,
            "ids": ids,
            "items": [encode_item(step.value).decode() for step in last.values()],
            "told_ats": [step.at for step in last.values()],
            "by_message": [step.by_message for step in last.values()],
            "epoch": epoch,
        }
        tx.execute(self._queries["put_items"], params)
        projects = [step.value for step in last.values() if isinstance(step.value, Project)]
        parties = [step.value for step in last.values() if isinstance(step.value, Party)]
        if projects:
            tx.execute(self._queries["drop_project_bindings"], {"ids": ids})
            tx.execute(self._queries["put_project_bindings"], project_binding_params(projects))
            walked = [step.value for step in steps if isinstance(step.value, Project)]
            self._advance(tx, [(project.project_id, project.verified) for project in walked])
        if parties:
            tx.execute(self._queries["drop_party_bindings"], {"ids": ids})
            tx.execute(self._queries["put_party_bindings"], party_binding_params(parties))

    def _drop(self, tx: Transaction, scope: Scope, ids: Sequence[UUID]) -> None:
        if not ids:
            return
        tx.execute(self._queries["drop_items"], {"scope": scope.value, "ids": list(ids)})
        if scope is Scope.PROJECTS:
            tx.execute(self._queries["drop_project_bindings"], {"ids": list(ids)})
            self._advance(tx, [(ProjectId(key), {}) for key in ids])
        if scope is Scope.PARTIES:
            tx.execute(self._queries["drop_party_bindings"], {"ids": list(ids)})

    def _advance(
        self, tx: Transaction, steps: Sequence[tuple[ProjectId, Mapping[PartyId, BindingRef]]]
    ) -> None:
        """Records the generations after each Project had each of these lists of members, in order."""
        known: dict[ProjectId, dict[PartyId, Membership]] = {project: {} for project, _ in steps}
        for row in tx.all(MembershipRow, self._queries["memberships"], {"ids": list(known)}):
            known[ProjectId(row.project_id)][PartyId(row.party_id)] = row.membership()
        changed: dict[tuple[ProjectId, PartyId], Membership] = {}
        for project, verified in steps:
            for membership in advance(known[project], verified):
                known[project][membership.party_id] = membership
                changed[project, membership.party_id] = membership
        if changed:
            rows = [(project, membership) for (project, _), membership in changed.items()]
            tx.execute(self._queries["put_memberships"], membership_params(rows))
