"""Choosing among the releases a host retains: by record and seal only, never by name order or time (public
case B06).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from installer.domain.refusal import USAGE, VERIFICATION_FAILED, Refusal


def choose_release(sealed: Sequence[str], *, asked: str | None, offered: str | None) -> str:
    """The release a phase works on: the one asked for, the archive's (``offered``), or the only sealed one.

    An archive's that is not installed is absent: another release is never answered for in its place.

    Raises Refusal ``release_absent`` (exit 4) or ``release_ambiguous`` (exit 2).
    """
    wanted = asked or offered
    if wanted is not None:
        if wanted not in sealed:
            near = _near(sealed, wanted)
            raise Refusal(
                "release_absent",
                found=f"release {wanted} is not installed; installed: {', '.join(sealed) or 'none'}",
                wanted="an installed, sealed release",
                remedy=f"{near}Run ./install.sh install of its archive first, or name an installed one.",
                exit_code=VERIFICATION_FAILED,
            )
        return wanted
    if len(sealed) == 1:
        return sealed[0]
    found = f"{len(sealed)} installed releases: {', '.join(sealed)}" if sealed else "no installed release"
    raise Refusal(
        "release_ambiguous",
        found=found,
        wanted="one release to work on",
        remedy="Run install.sh of its archive, or name it with --release."
        if sealed
        else "Run `install` first.",
        exit_code=USAGE,
    )


def _near(sealed: Sequence[str], wanted: str) -> str:
    """What to ask who named an installed release by its version or the start of its id; else empty."""
    version = wanted.partition("-")[0]
    near = [name for name in sealed if name.startswith(wanted) and name.partition("-")[0] == version]
    return f"Did you mean {' or '.join(near)}? Else: " if near else ""


def is_downgrade(current: str | None, wanted: str) -> bool:
    """Whether ``wanted`` has a lower version than ``current``; digests and times order nothing (row 16, row
    24).
    """
    return current is not None and _version(wanted) < _version(current)


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A component's way from the linked release to another; None: no release is linked."""

    component: str
    current: str | None
    wanted: str

    @property
    def direction(self) -> Literal["back", "FORWARD", "across"]:
        """By version alone: "across" is another build of the same one, or from no link."""
        if is_downgrade(self.current, self.wanted):
            return "back"
        forward = self.current is not None and is_downgrade(self.wanted, self.current)
        return "FORWARD" if forward else "across"

    def __str__(self) -> str:
        return f"{self.component}: {self.direction} from {self.current or 'no release'} to {self.wanted}"


def refuse_opposite(moves: Sequence[Move]) -> None:
    """Raise Refusal ``rollback_directions`` (exit 2) when components would go both ways (I14)."""
    if {"back", "FORWARD"} <= {move.direction for move in moves}:
        raise Refusal(
            "rollback_directions",
            found="; ".join(map(str, moves)),
            wanted="all chosen components going back",
            remedy="Name those that shall go back with --components; `status` tells where each stands.",
            exit_code=USAGE,
        )


def _version(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.rpartition("-")[0].split(".") if part.isdecimal())


def rollback_target(
    sealed: Sequence[str], *, component: str, asked: str | None, current: str | None, previous: str | None
) -> str:
    """The release ``rollback`` returns to: the one asked for, or the last good one before the current.

    Raises Refusal ``rollback_nothing`` (exit 2) or ``release_absent`` (exit 4).
    """
    target = asked or previous
    if target is None or target == current:
        raise Refusal(
            "rollback_nothing",
            found=f"component {component} has no earlier good release than {current}",
            wanted="a retained release that was active before",
            remedy="Name a retained one with --to; `status` lists them.",
            exit_code=USAGE,
        )
    return choose_release(sealed, asked=target, offered=None)


def refuse_unreadable_journal(
    *, component: str, release: str, reads: Sequence[int], on_disk: int | None
) -> None:
    """Refuse a release that cannot read the component's journal on disk, before anything stops (B32, row 36).

    ``on_disk`` None is a journal proven absent: any release may start a new one.
    """
    if on_disk is None or on_disk in reads:
        return
    raise Refusal(
        "journal_schema_unreadable",
        found=f"{component}'s journal has schema {on_disk}; {release} reads {', '.join(map(str, reads))}",
        wanted="a release that reads the journal on disk",
        remedy="Choose a release that does. Rollback never migrates data back.",
        exit_code=VERIFICATION_FAILED,
    )
