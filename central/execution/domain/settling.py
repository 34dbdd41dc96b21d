"""A cleanup the Site did not do: asked for again, or settled by an operator (P27, P28, S11). Pure.

The account of a Run is kept until its cleanup is done, so a cleanup that was refused keeps it for ever. Two
things end that: a member with `run.cleanup` asks the Site again, under a new command; or an operator, who
looked at the Site, says with a reason that nothing is left there. Both are kept with who said it.
"""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from central.execution.domain.progress import Refusal, Step, StepRefused, ask_cleanup, moved
from central.execution.domain.run import Cleanup, Run, Settlement


def clean_up_again(run: Run, actor: UUID, now: datetime) -> Step:
    """Asks the Site again. Raises `StepRefused` unless it refused."""
    cleanup = _open(run)
    if cleanup.refusal is None:
        raise StepRefused(Refusal.CLEANUP_NOT_REFUSED)
    return ask_cleanup(run, cleanup.issues + 1, now=now, actor=actor)


def settle(run: Run, settlement: Settlement, now: datetime) -> Step:
    """Releases the account on an operator's word, whether the Site refused or says nothing. `StepRefused`.

    The command is answered by this: the Site, should it come back, is told that it is not asked any more.
    """
    settled = replace(_open(run), acknowledged=True, done=True, refusal=None, settlement=settlement)
    return Step(moved(run, now, cleanup=settled))


def _open(run: Run) -> Cleanup:
    if run.cleanup is None:
        raise StepRefused(Refusal.CLEANUP_NOT_REFUSED)
    if run.cleanup.done:
        raise StepRefused(Refusal.CLEANUP_SETTLED)
    return run.cleanup
