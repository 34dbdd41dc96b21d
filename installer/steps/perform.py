"""Does one action of a plan. Raises StepError, which says what did not happen."""

from dataclasses import replace
from typing import assert_never

from installer.bootstrap.checkpoint import Checkpoint, no_checkpoint
from installer.domain.activation import unit_path
from installer.domain.files import FileText
from installer.domain.health import Health, Sample, judge
from installer.domain.plan import (
    Action,
    AwaitHealth,
    PlaceFile,
    Record,
    ReloadUnits,
    SetEnabled,
    SetLink,
    StartUnit,
    StopUnit,
    step_id,
)
from installer.domain.refusal import Refusal
from installer.domain.units import UnitState
from installer.host.commands import CommandError
from installer.host.context import Host
from installer.host.files import make_folder, remove_file, set_link, write_file
from installer.host.identities import local_identity
from installer.host.observe import reported_status
from installer.host.systemd import ServiceError


class StepError(Exception):
    """A step did not come about. ``unhealthy`` means that the release itself was judged, not the host."""

    def __init__(self, step: str, why: str, *, unhealthy: bool = False) -> None:
        super().__init__(f"{step}: {why}")
        self.step = step
        self.why = why
        self.unhealthy = unhealthy


def perform(host: Host, action: Action, checkpoint: Checkpoint = no_checkpoint) -> None:
    """Bring about what ``action`` says; doing it twice is harmless."""
    try:
        _perform(host, action, checkpoint)
    except ServiceError as error:
        raise StepError(step_id(action), str(error)) from error
    except Refusal as refusal:
        raise StepError(step_id(action), str(refusal)) from refusal
    except OSError as error:
        raise StepError(step_id(action), str(error)) from error


def _perform(host: Host, action: Action, checkpoint: Checkpoint) -> None:
    match action:
        case StopUnit():
            host.services.stop(action.unit)
        case SetLink():
            place = host.paths.link(action.component, action.name)
            if action.target is not None:
                make_folder(place.parent, 0o755)
            set_link(place, action.target)
        case PlaceFile():
            _place(host, action.placed.path, action.placed.file)
        case ReloadUnits():
            host.services.reload({unit: _fragment(host, unit) for unit in action.units})
        case SetEnabled():
            host.services.set_enabled(action.unit, action.enabled)
        case StartUnit():
            host.services.start(action.unit)
        case AwaitHealth():
            await_health(host, action, checkpoint)
        case Record():
            state = host.state.read()
            host.state.write(state.with_record(action.component, action.record))
        case _:  # pragma: no cover
            assert_never(action)


def await_health(host: Host, action: AwaitHealth, checkpoint: Checkpoint) -> Health:
    """Wait for a verdict and return a healthy one. Raises StepError, ``unhealthy`` for a release that did
    not make it.
    """
    limits = host.limits
    deadline = limits.health_deadline_seconds if action.release else limits.restore_start_seconds
    window = limits.health_window_seconds if action.release else 0.0
    started = host.clock.monotonic()
    samples: list[Sample] = []
    while True:
        samples.append(_sample(host, action))
        health = judge(samples, started=started, release=action.release, window=window, deadline=deadline)
        if health.verdict == "healthy":
            problem = component_says(host, action.component, action.release) if action.release else None
            if problem is None:
                return health
            samples.append(replace(samples[-1], at=host.clock.monotonic(), status=problem))
            health = judge(samples, started=started, release=action.release, window=window, deadline=deadline)
        if health.verdict == "failed":
            raise StepError(step_id(action), health.reason, unhealthy=action.release is not None)
        checkpoint("during-health")
        host.clock.sleep(limits.poll_seconds)


def _sample(host: Host, action: AwaitHealth) -> Sample:
    unit: UnitState | None
    try:
        unit = host.services.show(action.unit)
    except ServiceError:
        unit = None
    return Sample(at=host.clock.monotonic(), unit=unit, status=reported_status(host, action.component))


def component_says(host: Host, component: str, release: str) -> str | None:
    """Why the component's own ``status`` verb, run as its identity, does not call it healthy; None when it
    does.
    """
    try:
        return ask_component(host, component, release)
    except (Refusal, CommandError) as error:
        return str(error)


def ask_component(host: Host, component: str, release: str) -> str | None:
    """As ``component_says``, but a component that cannot be asked raises Refusal or CommandError (X1)."""
    described = host.releases.manifest_of(release).component(component)
    identity = local_identity(host.paths, described.user)
    if identity is None:
        return f"there is no user {described.user}"
    program = host.paths.venv(release, component) / "bin" / described.console_script
    argv = [str(program), "status", "--json"]
    done = host.run(argv, timeout=host.limits.probe_seconds, run_as=identity.run_as)
    return None if done.code == 0 else f"its own status exits {done.code}"


def _place(host: Host, path: str, file: FileText | None) -> None:
    place = host.paths.at(path)
    if file is None:
        remove_file(place)
        return
    make_folder(place.parent, 0o755)
    write_file(place, file)


def _fragment(host: Host, unit: str) -> str | None:
    """The file systemd must have read the unit from; None when there is none any more."""
    path = unit_path(unit)
    return path if host.paths.at(path).exists() else None
