"""Looks at one component on the host: links, files, unit, running process. Unreadable raises, never reads
as absent.
"""

import msgspec

from installer.domain.activation import ComponentState, PlacedFile, environment_path, unit_path
from installer.domain.health import ReportedStatus
from installer.domain.refusal import PREFLIGHT_REFUSED, VERIFICATION_FAILED, Refusal
from installer.domain.state import State
from installer.domain.strict_json import StrictJsonError, decode_object
from installer.host.context import Host
from installer.host.files import read_file
from installer.host.links import component_link
from installer.host.systemd import ServiceError


def observe_component(host: Host, *, name: str, unit: str, state: State) -> ComponentState:
    """The component now. Raises Refusal ``unreadable``, ``path_strange``, ``systemd_unanswered``, or
    ``unit_masked``: a mask stands in the unit file's place, and such a unit could be neither started nor
    restored.
    """
    try:
        seen = host.services.show(unit)
    except ServiceError as error:
        raise systemd_unanswered(error) from error
    if seen.masked:
        raise _masked(unit)
    places = (unit_path(unit), environment_path(name))
    files = tuple(
        PlacedFile(path=place, file=read_file(host.paths.at(place), limit=host.limits.input_size))
        for place in places
    )
    return ComponentState(
        current=component_link(host.paths, name, "current"),
        previous=component_link(host.paths, name, "previous"),
        files=files,
        unit_file_state=seen.file_state,
        active=seen.runs,
        invocation=seen.invocation,
        record=state.components.get(name),
    )


def reported_status(host: Host, name: str) -> ReportedStatus | str:
    """What the running component's status file says, or why that cannot be used."""
    try:
        file = read_file(host.paths.status_file(name), limit=host.limits.answer_size)
    except Refusal as refusal:
        return f"its status file: {refusal.found}"
    if file is None:
        return "it has written no status file"
    try:
        document = decode_object(file.data)
        wanted = {key: document.get(key) for key in ("release", "pid", "state")}
        return msgspec.convert(wanted, ReportedStatus, strict=True)
    except (StrictJsonError, msgspec.ValidationError) as error:
        return f"its status file cannot be read: {error}"


def systemd_unanswered(error: ServiceError) -> Refusal:
    """The refusal for a systemd that cannot be asked: unknown is never "inactive" (X1)."""
    return Refusal(
        "systemd_unanswered",
        found=str(error),
        wanted="systemd's answer about the unit",
        remedy="See `systemctl status` and the journal of systemd, then run the phase again.",
        exit_code=VERIFICATION_FAILED,
    )


def _masked(unit: str) -> Refusal:
    return Refusal(
        "unit_masked",
        found=f"{unit} is masked",
        wanted="a unit that may be started",
        remedy=f"An administrator masked it. systemctl unmask {unit}, if that is wanted.",
        exit_code=PREFLIGHT_REFUSED,
    )
