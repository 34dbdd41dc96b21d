"""An operator's word about a Run the Site says nothing of, as the role `pharos_operator` (P28, S11)."""

import re
from typing import Final
from uuid import UUID

from central.execution.adapters.postgres_runs import PostgresRuns
from central.execution.application.ports import RunUnknown as NoRun
from central.execution.application.settle_cleanup import SettleRun
from central.execution.domain.progress import Refusal, StepRefused
from central.execution.domain.run import Run, Settlement
from central.execution.problems import STEP_REFUSED
from central.kernel.times import utc_now
from central.processes.operator import opened
from central.processes.refusals import RunUnknown, SettlementRefused
from central.settings import Settings

_WORDS: Final = re.compile(r"[^\x00-\x1f\x7f]{1,200}")


def settle_run(settings: Settings, run_id: UUID, *, by: str, reason: str) -> Run:
    """The Run whose account is released. Raises `RunUnknown`, `SettlementRefused`."""
    for name, words in (("--by", by), ("--reason", reason)):
        if not words.strip() or _WORDS.fullmatch(words) is None:
            raise SettlementRefused("settlement_words", f"{name}: wanted 1 to 200 characters on one line")
    with opened(settings) as database:
        settle = SettleRun(PostgresRuns(database), settings.site_silence)
        try:
            return settle(run_id, Settlement(by.strip(), reason.strip(), utc_now())).run
        except NoRun:
            raise RunUnknown(str(run_id)) from None
        except StepRefused as refused:
            spec = STEP_REFUSED[refused.refusal]
            raise SettlementRefused(spec.code, _why(run_id, refused.refusal, settings)) from None


def _why(run_id: UUID, refusal: Refusal, settings: Settings) -> str:
    """Why nothing was settled, in an operator's words."""
    if refusal is Refusal.SITE_AWAITED:
        return (
            f"{run_id} is ending, and its Site is awaited: an operator's word is taken once the Site said"
            f" nothing about it for {settings.site_silence} (PHAROS_EXECUTION_SILENCE_SECONDS);"
            f" `pharos-central explain run {run_id}` shows since when"
        )
    if refusal is Refusal.CLEANUP_NOT_REFUSED:
        return (
            f"{run_id} has no cleanup to settle: nobody asked for its end, or nothing of it ever began at the"
            f" Site; cancel it first if it has to end, `pharos-central explain run {run_id}` shows which"
        )
    spec = STEP_REFUSED[refusal]
    return f"{run_id}: {spec.meaning} {spec.remedy}"
