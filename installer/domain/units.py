"""What systemd says of a unit, as a value; pure parsing of ``systemctl show`` (systemctl(1),
org.freedesktop.systemd1(5)).
"""

from dataclasses import dataclass

PROPERTIES = (
    "LoadState",
    "ActiveState",
    "SubState",
    "UnitFileState",
    "FragmentPath",
    "DropInPaths",
    "NeedDaemonReload",
    "MainPID",
    "InvocationID",
    "NRestarts",
    "Result",
)
RUNNING_STATES = frozenset({"active", "activating", "reloading", "deactivating", "refreshing"})


class UnitUnreadableError(ValueError):
    """systemd's answer lacks a property or holds something else than its type: unknown, never "inactive"
    (X1).
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitState:
    """One unit at one moment."""

    load: str
    active: str
    sub: str
    file_state: str
    fragment: str
    drop_ins: tuple[str, ...]
    need_reload: bool
    main_pid: int
    invocation: str
    restarts: int
    result: str

    @property
    def runs(self) -> bool:
        """Something of the unit runs, is about to, or is on its way out."""
        return self.active in RUNNING_STATES

    @property
    def masked(self) -> bool:
        """An administrator forbade the unit."""
        return self.load == "masked" or self.file_state in {"masked", "masked-runtime"}


def parse_show(text: str) -> UnitState:
    """The state in the lines of ``systemctl show --property=…``. Raises UnitUnreadableError."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        name, separator, value = line.partition("=")
        if separator and name in PROPERTIES:
            values[name] = value
    missing = [name for name in PROPERTIES if name not in values]
    if missing:
        raise UnitUnreadableError(f"no {', '.join(missing)} in systemd's answer")
    return UnitState(
        load=values["LoadState"],
        active=values["ActiveState"],
        sub=values["SubState"],
        file_state=values["UnitFileState"],
        fragment=values["FragmentPath"],
        drop_ins=tuple(values["DropInPaths"].split()),
        need_reload=_boolean(values["NeedDaemonReload"]),
        main_pid=_count(values["MainPID"]),
        invocation=values["InvocationID"],
        restarts=_count(values["NRestarts"]),
        result=values["Result"],
    )


def _boolean(text: str) -> bool:
    if text not in {"yes", "no"}:
        raise UnitUnreadableError("NeedDaemonReload is neither yes nor no")
    return text == "yes"


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise UnitUnreadableError("MainPID or NRestarts is no number")
    return int(text)
