"""Runs that have ended, for tests of what follows."""

from datetime import timedelta

from central.execution.domain.progress import Step, acknowledge, record_result
from central.execution.domain.run import Output, Run, Settlement, Verdict
from tests.unit.central.execution.values import NOW, accepted, ended, new_run

OPERATOR = Settlement("operator@example.org", "the host is gone; looked by hand", NOW)
SILENCE = timedelta(hours=1)


def through(step: Step, verdict: Verdict = Verdict.COMPLETED, *, output: Output | None = None) -> Step:
    """The step's only command, accepted and ended."""
    [command] = step.commands
    begun = acknowledge(step.run, command.command_id, accepted(), NOW).run
    return record_result(begun, command.command_id, ended(verdict, output=output), NOW)


def failed(step: Step) -> Step:
    """The stage failed: the Run has ended, its cleanup is asked for."""
    return through(step, Verdict.FAILED)


def cleaned(step: Step) -> Run:
    """The cleanup is done."""
    return through(step).run


def settled_run() -> Run:
    """Failed in its first stage, and cleaned up."""
    return cleaned(failed(new_run()))
