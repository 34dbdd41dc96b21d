"""What an activation saves before it touches the host, and what can be observed of the host (I13).

Links are named by their text relative to the component's folder, for instance
``../../releases/0.1.0-abc/components/ssh-access``; None is a link proven absent.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from installer.domain.files import FileText
from installer.domain.refusal import VERIFICATION_FAILED, Refusal

LinkName = Literal["current", "previous"]
Phase = Literal["activate", "rollback"]
_NAME = re.compile(r"[a-z][a-z0-9-]{0,62}", re.ASCII)
_UNIT = re.compile(r"pharos-[a-z0-9-]{1,62}\.service", re.ASCII)
LINK_PREFIX = "../../releases/"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessRecord:
    """That a release was healthy after a switch; written only then (I13)."""

    release: str
    """Release id, ``<version>-<digest12>``."""
    operation: str
    at: str
    """RFC 3339."""
    unit_sha256: str
    """Digest of the unit file as the activation wrote it, so that an edit by hand is seen (row 32)."""
    settings_sha256: str = ""
    """Digest of the settings file likewise; empty in a record from before it was kept, or a rebuilt one."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """What of the profile it was healthy with; a later difference is not taken silently (I4). Empty: not
    known.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedFile:
    """One file an activation writes: its absolute path on the host and its content; None: proven absent."""

    path: str
    file: FileText | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentState:
    """What one component has on the host at one moment: saved as *prior* in the intent, observed in
    recovery.
    """

    current: str | None
    previous: str | None
    files: tuple[PlacedFile, ...]
    unit_file_state: str
    """systemd's UnitFileState; empty when there is no unit file."""
    active: bool
    """ActiveState is active, activating, reloading or deactivating: something runs or is about to."""
    invocation: str
    """systemd's InvocationID; empty when it never ran."""
    record: SuccessRecord | None

    @property
    def enabled(self) -> bool:
        """Started at boot."""
        return self.unit_file_state in {"enabled", "enabled-runtime"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentIntent:
    """One component of an operation: what is wanted and what stood before."""

    name: str
    unit: str
    release: str
    prior: ComponentState


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An activation or rollback, as its first journal record holds it."""

    id: str
    phase: Phase
    at: str
    components: tuple[ComponentIntent, ...]


def unit_path(unit: str) -> str:
    """Where a rendered unit stands, as an absolute host path."""
    return f"/etc/systemd/system/{unit}"


def environment_path(component: str) -> str:
    """Where a component's settings stand, as an absolute host path."""
    return f"/etc/pharos-hpc/{component}.env"


def operation_fault(operation: Operation) -> str | None:
    """Why ``operation`` is none this installer writes, or None: it may name its components' own unit, files
    and links alone, so that no way back writes anywhere else.
    """
    for intent in operation.components:
        if _NAME.fullmatch(intent.name) is None or _UNIT.fullmatch(intent.unit) is None:
            return f"the component {intent.name!a} with the unit {intent.unit!a}"
        own = {unit_path(intent.unit), environment_path(intent.name)}
        foreign = sorted({placed.path for placed in intent.prior.files} - own)
        if foreign:
            return f"{foreign[0]!a} is no file of {intent.name}"
        try:
            linked_release(intent.prior.current, intent.name)
            linked_release(intent.prior.previous, intent.name)
        except Refusal as refusal:
            return refusal.found
    return None


def recorded_sha256(record: SuccessRecord | None, placed: PlacedFile, unit: str) -> str:
    """The digest ``record`` keeps of ``placed``; empty when it keeps none."""
    if record is None:
        return ""
    return record.unit_sha256 if placed.path == unit_path(unit) else record.settings_sha256


def link_target(release: str, component: str) -> str:
    """The relative text of a component's link to ``release``."""
    return f"{LINK_PREFIX}{release}/components/{component}"


def linked_release(target: str | None, component: str) -> str | None:
    """The release a link's text names; None for no link.

    Raises Refusal ``link_foreign`` for text the installer does not write (row 28).
    """
    if target is None:
        return None
    release = target.removeprefix(LINK_PREFIX).split("/", 1)[0]
    if target != link_target(release, component) or release in {"", ".", ".."}:
        raise Refusal(
            "link_foreign",
            found=f"component {component} is linked to {target!r}",
            wanted=f"a link of the form {link_target('RELEASE', component)!r}",
            remedy="Another hand made this link. Put back the one that the success record names (see"
            " `pharos-installer status`), with ln -sfnT; never remove the folder it is in.",
            exit_code=VERIFICATION_FAILED,
        )
    return release
