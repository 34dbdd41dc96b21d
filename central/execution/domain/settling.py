"""An operator's word where a Site's is missing, and a cleanup asked for again (P27, P28, S11). Pure.

1. The account of a Run is kept until its cleanup is done, so a cleanup that was refused keeps it for ever.
   Two things end that: a member with `run.cleanup` asks the Site again, under a new command; or an operator,
   who looked at the Site, says with a reason that nothing is left there. Both are kept with who said it.
2. A Run whose end was asked for waits for the Site's word about its stage, so a Site that never answers keeps
   it and its account for ever. Once the Site was silent for long enough, the same word of an operator ends
   the Run as it was asked to end, with its cleanup. Nothing further is asked of the Site.
3. A Run whose end nobody asked for is never settled: cancel it first.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from central.execution.domain.command import command_id
from central.execution.domain.progress import ASKED, Refusal, Step, StepRefused, ask_cleanup, moved
from central.execution.domain.run import Cancellation, Cleanup, Run, RunState, Settlement

SETTLED: Final = "settled_by_operator"


def clean_up_again(run: Run, actor: UUID, now: datetime) -> Step:
    """Asks the Site again. Raises `StepRefused` unless it refused."""
    cleanup = _open(run)
    if cleanup.refusal is None:
        raise StepRefused(Refusal.CLEANUP_NOT_REFUSED)
    return ask_cleanup(run, cleanup.issues + 1, now=now, actor=actor)


def settle(run: Run, settlement: Settlement, silence: timedelta) -> Step:
    """Releases the account on an operator's word, whether the Site refused or says nothing. `StepRefused`.

    The commands are answered by this: the Site, should it come back, is told that it is not asked any more.
    `silence` is how long it said nothing new about a Run that is ending (rule 2).
    """
    if run.state is RunState.CANCELLING and run.cancellation is not None:
        return _settle_ending(run, run.cancellation, settlement, silence)
    settled = replace(_open(run), acknowledged=True, done=True, refusal=None, settlement=settlement)
    return Step(moved(run, settlement.at, cleanup=settled))


def _settle_ending(run: Run, asked: Cancellation, settlement: Settlement, silence: timedelta) -> Step:
    """Rule 2. A word of the Site since then counts, but not that the cancel reached it: it moves nothing."""
    if settlement.at < max(asked.asked_at, run.changed_at) + silence:
        raise StepRefused(Refusal.SITE_AWAITED)
    command = command_id(run, "cleanup", 1)
    settled = Cleanup(command, acknowledged=True, done=True, issues=0, settlement=settlement)
    ended = moved(
        run,
        settlement.at,
        state=ASKED[asked.cause],
        reason=SETTLED,
        cancellation=replace(asked, acknowledged=True),
        cleanup=settled,
    )
    return Step(ended)


def _open(run: Run) -> Cleanup:
    if run.cleanup is None:
        raise StepRefused(Refusal.CLEANUP_NOT_REFUSED)
    if run.cleanup.done:
        raise StepRefused(Refusal.CLEANUP_SETTLED)
    return run.cleanup
