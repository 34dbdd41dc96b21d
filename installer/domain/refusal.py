"""One family of refusals: what was found, what was wanted, the remedy, a stable code and the exit code."""

from typing import Final

DONE: Final = 0
BUG: Final = 1
USAGE: Final = 2
PREFLIGHT_REFUSED: Final = 3
VERIFICATION_FAILED: Final = 4
LOCKED: Final = 5
INSTALL_FAILED: Final = 6
ACTIVATION_UNDONE: Final = 7
RESTORE_INCOMPLETE: Final = 8
UNFINISHED_JOURNAL: Final = 9
UNSUPPORTED_HOST: Final = 10


class Refusal(Exception):
    """The installer says no, or could not; nothing was changed unless the code's text says so.

    ``code`` is stable and documented; ``exit_code`` is the process's answer when nobody catches it.
    """

    def __init__(self, code: str, *, found: str, wanted: str, remedy: str, exit_code: int) -> None:
        super().__init__(code, found, wanted, remedy, exit_code)
        self.code = code
        self.found = found
        self.wanted = wanted
        self.remedy = remedy
        self.exit_code = exit_code

    def __str__(self) -> str:
        return f"{self.code}: found {self.found}; wanted {self.wanted}. {self.remedy}"
