"""Runs a switch under the journal, and the way back from whatever it reached (I13).

1. The intent, with everything needed to restore, is durable before the first step; each step before it acts.
2. The closing record is the commit: before it every failure, signal or crash leads back to the prior state.
3. The way back is not interrupted by signals and does not stop at a failed step (row 8, design: undo).
4. Exit 7 after a whole way back; exit 8 with the commands that are left, the journal kept, after a broken
   one.
"""

from installer.bootstrap.checkpoint import Checkpoint
from installer.domain.activation import ComponentState, Operation, Phase
from installer.domain.journal import Journal
from installer.domain.plan import (
    Action,
    ComponentTarget,
    PlaceFile,
    Record,
    ReloadUnits,
    SetLink,
    StartUnit,
    StopUnit,
    command,
    describe,
    step_id,
    switch_plan,
)
from installer.domain.recovery import is_prior, recovery_plan
from installer.domain.refusal import ACTIVATION_UNDONE, INSTALL_FAILED, RESTORE_INCOMPLETE, Refusal
from installer.domain.state import BadRelease
from installer.domain.times import format_time
from installer.host.commands import CommandError
from installer.host.context import Host
from installer.host.observe import observe_component
from installer.steps.perform import StepError, perform

_GROUPS: tuple[tuple[type[object], str], ...] = (
    (StopUnit, "after-stop"),
    (SetLink, "after-links"),
    (PlaceFile, "after-files"),
    (ReloadUnits, "after-reload"),
    (StartUnit, "after-start"),
    (Record, "after-record"),
)


def switch(host: Host, phase: Phase, operation: str, targets: tuple[ComponentTarget, ...]) -> Operation:
    """Run the whole switch to ``targets`` as the operation of that id; see ``run_switch``."""
    intent = Operation(
        id=operation,
        phase=phase,
        at=format_time(host.clock.now()),
        components=tuple(target.intent for target in targets),
    )
    run_switch(host, intent, switch_plan(targets))
    return intent


def run_switch(host: Host, operation: Operation, actions: tuple[Action, ...]) -> None:
    """Do ``actions``, or restore and raise.

    Raises Refusal ``activation_failed`` (7) or ``restore_incomplete`` (8), InterruptedRunError after
    restoring.
    """
    checkpoint = host.checkpoints(operation.phase)
    with host.signals.shielded():
        _begin(host, operation)
    try:
        host.signals.raise_received()
        checkpoint("after-intent")
        for index, action in enumerate(actions):
            _step(host, action, checkpoint, first_record=not isinstance(actions[index - 1], Record))
            if index + 1 == len(actions) or type(actions[index + 1]) is not type(action):
                _reach_group(action, checkpoint)
        with host.signals.shielded():
            host.journal.append("done")
            close(host, operation)
    except BaseException as error:
        with host.signals.shielded():
            _tell_last_words(host, operation, error)
            problems = restore(host, operation, reason=str(error) or type(error).__name__)
            _remember_bad(host, operation, error)
        if problems:
            raise restore_incomplete(operation, str(error), problems) from error
        if isinstance(error, StepError | OSError | Refusal):
            raise _failed(operation, error) from error
        raise


def restore(host: Host, operation: Operation, *, reason: str) -> list[str]:
    """Bring back the prior state and close the journal; what could not be restored, as commands to type, is
    returned.
    """
    checkpoint = host.checkpoints("recover")
    host.report.say("notice", f"restoring the prior state: {reason}", operation=operation.id)
    _note(host, "failed", detail=reason)
    problems: list[str] = []
    try:
        actions = recovery_plan(operation, observe_operation(host, operation))
    except Refusal as refusal:
        return [f"pharos-installer recover   # {refusal}"]
    for action in actions:
        checkpoint(f"before-{step_id(action)}")
        host.report.say("step", f"undo: {describe(action)}", step=step_id(action), direction="undo")
        _note(host, "undo", step=step_id(action))
        try:
            perform(host, action)
        except StepError as error:
            problems.append(f"{command(action)}   # {error.why}")
            host.report.say("warning", f"could not be undone: {error}", step=error.step)
        checkpoint(f"after-{step_id(action)}")
    problems += _differences(host, operation) if not problems else []
    if not problems:
        try:
            host.journal.append("restored", detail=reason)
        except OSError as error:
            return [f"pharos-installer recover   # the journal could not be closed: {error}"]
        close(host, operation)
    return problems


def close(host: Host, operation: Operation) -> None:
    """Move the closed journal to the history; that this fails changes no result (B37)."""
    try:
        host.journal.archive(operation.id)
    except OSError as error:
        host.report.say("warning", f"the closed journal stays where it is: {error}")


def resume(host: Host, journal: Journal) -> list[str]:
    """Finish an operation found in the journal after a crash: always back to its prior state."""
    operation = journal.operation
    if operation is None:
        host.journal.discard()
        return []
    if journal.closed:
        close(host, operation)
        return []
    host.journal.resume(journal)
    return restore(host, operation, reason="it was interrupted")


def observe_operation(host: Host, operation: Operation) -> dict[str, ComponentState]:
    """Every component of the operation as it is now."""
    state = host.state.read()
    return {
        intent.name: observe_component(host, name=intent.name, unit=intent.unit, state=state)
        for intent in operation.components
    }


def restore_incomplete(operation: Operation, reason: str, problems: list[str]) -> Refusal:
    """The refusal of exit 8, with what is left to type."""
    return Refusal(
        "restore_incomplete",
        found=f"{operation.phase} {operation.id}: {reason}; not restored: {'; '.join(problems)}",
        wanted="the prior links, units and records back",
        remedy="Repair what each command names, then run `pharos-installer recover`; the journal is kept.",
        exit_code=RESTORE_INCOMPLETE,
    )


def _begin(host: Host, operation: Operation) -> None:
    """The intent on disk, or a refusal with nothing changed."""
    try:
        host.journal.begin(operation)
    except OSError as error:
        if not isinstance(error, FileExistsError):
            host.journal.discard()
        raise Refusal(
            "journal_unwritable",
            found=f"the journal could not be written: {error}",
            wanted="a durable intent before the first change",
            remedy="Free space below /var/lib/pharos-installer; nothing was changed.",
            exit_code=INSTALL_FAILED,
        ) from error


def _step(host: Host, action: Action, checkpoint: Checkpoint, *, first_record: bool) -> None:
    name = step_id(action)
    if isinstance(action, Record) and first_record:
        checkpoint("before-record")
    host.journal.append("step", step=name)
    checkpoint(f"before-{name}")
    host.report.say("step", describe(action), step=name, direction="do")
    perform(host, action, checkpoint)
    checkpoint(f"after-{name}")


def _reach_group(action: Action, checkpoint: Checkpoint) -> None:
    for kind, point in _GROUPS:
        if isinstance(action, kind):
            checkpoint(point)


def _differences(host: Host, operation: Operation) -> list[str]:
    """What still differs from the prior state after a way back that reported no failure."""
    try:
        now = observe_operation(host, operation)
    except Refusal as refusal:
        return [f"pharos-installer recover   # {refusal}"]
    return [
        f"pharos-installer recover   # {intent.name} is not as it was before"
        for intent in operation.components
        if not is_prior(intent, now[intent.name])
    ]


def _note(host: Host, kind: str, *, step: str = "", detail: str = "") -> None:
    """A record that informs but decides nothing: the way back goes on without it (row 9)."""
    try:
        host.journal.append("undo" if kind == "undo" else "failed", step=step, detail=detail)
    except OSError as error:
        host.report.say("warning", f"the journal takes no more records: {error}")


def _remember_bad(host: Host, operation: Operation, error: BaseException) -> None:
    if not (isinstance(error, StepError) and error.unhealthy):
        return
    component = error.step.partition(":")[2]
    release = next((intent.release for intent in operation.components if intent.name == component), None)
    if release is None:
        return
    entry = BadRelease(
        component=component, release=release, at=format_time(host.clock.now()), reason=error.why
    )
    try:
        host.state.write(host.state.read().with_bad(entry))
    except (OSError, Refusal) as failure:
        host.report.say("warning", f"could not remember that {release} is bad: {failure}")


def _tell_last_words(host: Host, operation: Operation, error: BaseException) -> None:
    """What an unhealthy component wrote last, before it is stopped: the reason is usually there."""
    if not (isinstance(error, StepError) and error.unhealthy):
        return
    units = [intent.unit for intent in operation.components if error.step == f"health:{intent.name}"]
    for unit in units:
        argv = ["journalctl", "--unit", unit, "--lines", "10", "--no-pager", "--output", "cat"]
        try:
            said = host.run(argv, timeout=host.limits.command_seconds).stdout
        except CommandError:
            continue
        for line in said.splitlines():
            host.report.say("notice", f"{unit}: {line}", unit=unit)


def _failed(operation: Operation, error: Exception) -> Refusal:
    units = ", ".join(intent.unit for intent in operation.components)
    unhealthy = isinstance(error, StepError) and error.unhealthy
    cause = (
        f"Read the component's journal (journalctl -u {units})." if unhealthy else "Mend what the step names."
    )
    return Refusal(
        "activation_failed",
        found=f"{operation.phase}: {error}",
        wanted="every step done and the component healthy",
        remedy=f"The prior links, units and records are back. {cause}",
        exit_code=ACTIVATION_UNDONE,
    )
