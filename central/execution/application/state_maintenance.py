"""A Site says whether it takes new work (S15)."""

from dataclasses import dataclass
from datetime import datetime

from central.execution.application.ports import Maintenance
from central.execution.domain.maintenance import Statement
from central.kernel.times import check_not_ahead


@dataclass(frozen=True, slots=True)
class StateMaintenance:
    """The use case. An older statement than the saved one changes nothing."""

    maintenance: Maintenance

    def __call__(self, site: str, statement: Statement, now: datetime) -> bool:
        """Whether it changed anything. `ObservedInFuture`, `Problem(COMMAND_REUSED)`, `Unavailable`."""
        check_not_ahead(statement.observed_at, now)
        return self.maintenance.state(site, statement, now)
