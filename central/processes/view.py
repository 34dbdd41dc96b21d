"""What an operator does with the view kept from Beto, as its owner's role (P14)."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from central.kernel.database import Database, DatabaseOptions
from central.kernel.times import format_rfc3339, utc_now
from central.processes.broker_link import as_owner
from central.processes.operator import NAME
from central.processes.refusals import NothingToAccept
from central.projects.adapters.postgres_view import PostgresView
from central.projects.domain.ids import Scope
from central.projects.domain.view import ScopeView, ViewLimits
from central.settings import Settings


def list_scopes(settings: Settings) -> list[dict[str, object]]:
    """Every scope as it stands."""
    with _opened(settings) as database:
        return [scope_row(PostgresView(database).state(scope), utc_now()) for scope in Scope]


def accept_restored(settings: Settings, scope: str, *, dry_run: bool) -> dict[str, object]:
    """Lets the scope be repaired from an earlier position of Beto's; the scope afterwards, or as it is.

    Raises `NothingToAccept` where Beto spoke of no earlier position since the scope last matched.
    """
    with _opened(settings) as database:
        store = PostgresView(database)
        found = store.state(Scope(scope))
        waits = found.refused_position is not None
        if not (waits if dry_run else store.accept_restored(Scope(scope))):
            raise NothingToAccept(scope)
        return scope_row(found if dry_run else store.state(Scope(scope)), utc_now())


@contextmanager
def _opened(settings: Settings) -> Iterator[Database]:
    options = DatabaseOptions(url=settings.database_url, application=NAME, pool_size=1)
    variable = "RESOURCE_PROVISIONING_DATABASE_URL"
    with Database(options) as database, as_owner("the view", variable, "pharos_resource_provisioning"):
        yield database


def scope_row(view: ScopeView, now: datetime) -> dict[str, object]:
    """A scope as it is shown everywhere."""
    return {
        "scope": view.scope.value,
        "phase": view.phase.value,
        "position": view.position,
        "refusedPosition": view.refused_position,
        "checkedAt": format_rfc3339(view.checked_at) if view.checked_at else None,
        "unusable": view.unusable(now, ViewLimits()),
    }
