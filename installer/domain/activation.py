"""What an activation saves before it touches the host, and what can be observed of the host (I13).

Links are named by their text relative to the component's folder, for instance
``../../releases/0.1.0-abc/components/ssh-access``; None is a link proven absent.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from installer.domain.files import FileText
from installer.domain.refusal import VERIFICATION_FAILED, Refusal

LinkName = Literal["current", "previous"]
Phase = Literal["activate", "rollback"]
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

    @property
    def masked(self) -> bool:
        """An administrator forbade the unit."""
        return self.unit_file_state in {"masked", "masked-runtime"}


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
            remedy="Another hand made this link. Look at it and remove it, then run the phase again.",
            exit_code=VERIFICATION_FAILED,
        )
    return release
