"""The reporter's loop: what is due again, and when (S8, X1)."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

from site_bundle.kernel.errors import UnavailableError
from site_bundle.kernel.stop import Stop
from site_bundle.reporter.entrypoints.loop import Loop, LoopLimits
from site_bundle.reporter.entrypoints.telling import USAGE

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


class Usage:
    """A cross-check whose first answer is that sacct was not to be had; when each was made."""

    def __init__(self) -> None:
        self.clock, self.made = 0.0, list[float]()

    def run(self, _rows: Any, **_: Any) -> str:
        self.made.append(self.clock)
        if len(self.made) == 1:
            raise UnavailableError("slurm_unavailable", found="sacct: exit -9: no reason given")
        return "compared"


def test_x1_s8_a_failed_cross_check_is_made_again_by_back_off_and_not_in_an_hour() -> None:
    usage, telling = Usage(), MagicMock()
    anything: Any = SimpleNamespace()
    loop = Loop(
        observe=anything, send=anything, usage=usage, outbox=anything, commands=lambda: 0,  # type: ignore[arg-type]
        rest=lambda: None, telling=telling, stop=Stop(),
        limits=LoopLimits(usage_seconds=3600.0, first_retry_seconds=2.0),
        now=lambda: NOW, monotonic=lambda: usage.clock, draw=lambda: 0.5,
    )  # fmt: skip
    loop._rows = ()
    loop._compare()
    assert telling.failed.call_args.args[0] == USAGE
    usage.clock = loop._due.usage
    assert 0 < usage.clock <= 2.0
    loop._compare()
    telling.compared.assert_called_once_with("compared")
    assert loop._due.usage == usage.clock + 3600.0
