"""`ViewStore` in PostgreSQL. Locks are taken in one order: scope, receipt, item."""

from collections.abc import Callable, Sequence
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
from central.projects.domain.ids import PartyId, ProjectId, Scope, comparable
from central.projects.domain.membership import Membership, advance
from central.projects.domain.merge import merge
from central.projects.domain.party import Party
from central.projects.domain.project import Project
from central.projects.domain.revisions import Effect, Told, Viewed, judge
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

    def apply(self, consumer: str, message_id: UUID, told: Told[Viewed], now: datetime) -> Applied:
        """See `ViewStore`."""
        scope = scope_of(told.value)
        key = {"scope": scope.value, "id": told.value.id}

        def work(tx: Transaction) -> Applied:
            epoch = tx.one(EpochRow, self._queries["share_scope"], key).epoch
            if not self._inbox.receive(tx, consumer, message_id, now):
                return Applied(None)
            tx.execute(self._queries["lock_item"], key)
            row = tx.maybe(ItemRow, self._queries["item"], key)
            judgement = judge(row.held(scope).told if row else None, told)
            if judgement.effect is Effect.APPLIED:
                self._put(tx, [told.value], told.at, by_message=True, epoch=epoch)
            return Applied(judgement)

        return self._database.run(work, repeatable=True)

    def settle_if_matching(self, scope: Scope, manifest: Manifest, now: datetime) -> bool:
        """See `ViewStore`."""

        def work(tx: Transaction) -> bool:
            view = self._take(tx, scope)
            row = tx.one(ManifestRow, self._queries["manifest"], {"scope": scope.value})
            if (row.count, row.fingerprint) != (manifest.count, manifest.fingerprint):
                return False
            tx.execute(self._queries["put_scope"], scope_params(view.matched(manifest.position, now)))
            return True

        return self._database.run(work, repeatable=True)

    def diverge(self, scope: Scope, reason: str) -> None:
        """See `ViewStore`."""
        self._change(scope, lambda view: view.diverged(reason))

    def accept_restored(self, scope: Scope) -> None:
        """See `ViewStore`."""
        self._change(scope, lambda view: view.restored() if view.position is not None else view)

    def begin(self, scope: Scope, now: datetime, limits: ViewLimits) -> ScopeView | None:
        """See `ViewStore`."""

        def work(tx: Transaction) -> ScopeView | None:
            view = self._take(tx, scope)
            if view.held(now):
                return None
            begun = view.begun(now, limits)
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
            view = self._take(tx, begun.scope)
            if view.epoch != begun.epoch:
                raise PassLost(f"epoch {begun.epoch} of {begun.scope} ended; {view.epoch} is at work")
            rows = tx.all(ItemRow, self._queries["items"], {"scope": begun.scope.value})
            held = {row.id: row.held(begun.scope) for row in rows}
            merged = merge(items, held, begun.epoch, asked_at)
            self._put(tx, merged.put, asked_at, by_message=False, epoch=begun.epoch)
            self._drop(tx, begun.scope, merged.drop)
            tx.execute(self._queries["put_scope"], scope_params(view.matched(manifest.position, asked_at)))
            return Swapped(len(merged.put), len(merged.drop), merged.kept_newer)

        return self._database.run(work)

    def _take(self, tx: Transaction, scope: Scope) -> ScopeView:
        return tx.one(ScopeRow, self._queries["take_scope"], {"scope": scope.value}).view()

    def _change(self, scope: Scope, change: Callable[[ScopeView], ScopeView]) -> None:
        def work(tx: Transaction) -> None:
            view = self._take(tx, scope)
            changed = change(view)
            if changed != view:
                tx.execute(self._queries["put_scope"], scope_params(changed))

        self._database.run(work, repeatable=True)

    def _put(
        self, tx: Transaction, values: Sequence[Viewed], told_at: datetime, *, by_message: bool, epoch: int
    ) -> None:
        """Writes items of one scope with all that derives from them, generations included (P17)."""
        if not values:
            return
        ids = [value.id for value in values]
        params: dict[str, object] = {
            "scope": scope_of(values[0]).value,
            "ids": ids,
            "items": [encode_item(value).decode() for value in values],
            "told_at": told_at,
            "by_message": by_message,
            "epoch": epoch,
        }
        tx.execute(self._queries["put_items"], params)
        projects = [value for value in values if isinstance(value, Project)]
        parties = [value for value in values if isinstance(value, Party)]
        if projects:
            forms = {b.ref: comparable(b.ref) for project in projects for b in project.provider_bindings}
            tx.execute(self._queries["drop_project_bindings"], {"ids": ids})
            tx.execute(self._queries["put_project_bindings"], project_binding_params(projects, forms))
            self._advance(tx, {project.project_id: project for project in projects})
        if parties:
            tx.execute(self._queries["drop_party_bindings"], {"ids": ids})
            tx.execute(self._queries["put_party_bindings"], party_binding_params(parties))

    def _drop(self, tx: Transaction, scope: Scope, ids: Sequence[UUID]) -> None:
        if not ids:
            return
        tx.execute(self._queries["drop_items"], {"scope": scope.value, "ids": list(ids)})
        if scope is Scope.PROJECTS:
            tx.execute(self._queries["drop_project_bindings"], {"ids": list(ids)})
            self._advance(tx, {ProjectId(key): None for key in ids})
        if scope is Scope.PARTIES:
            tx.execute(self._queries["drop_party_bindings"], {"ids": list(ids)})

    def _advance(self, tx: Transaction, projects: dict[ProjectId, Project | None]) -> None:
        """Records the generations of Projects' members; those of a dropped Project (None) all left."""
        before: dict[ProjectId, dict[PartyId, Membership]] = {}
        for row in tx.all(MembershipRow, self._queries["memberships"], {"ids": list(projects)}):
            before.setdefault(ProjectId(row.project_id), {})[PartyId(row.party_id)] = row.membership()
        changed = [
            (key, membership)
            for key, project in projects.items()
            for membership in advance(before.get(key, {}), project.verified if project else {})
        ]
        if changed:
            tx.execute(self._queries["put_memberships"], membership_params(changed))
