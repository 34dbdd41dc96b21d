"""``python -m tests.demo``: show the main job; ``--down``: end it and remove every trace."""

import argparse
import sys

from tests.demo.narrator import Narrator
from tests.demo.standing import end_standing, find_standing
from tests.demo.story import show
from tests.lab.errors import LabError

INTERRUPTED = 130
"""As a shell reports a command that SIGINT ended."""


def main() -> int:
    """0 shown or ended, 1 a step failed, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.demo", description=__doc__)
    parser.add_argument("--down", action="store_true", help="end a demo and remove every trace of it")
    parser.add_argument(
        "--end", action="store_true", help="end at once what was shown, instead of leaving it up"
    )
    arguments = parser.parse_args()
    narrator = Narrator(sys.stdout)
    try:
        if arguments.down:
            print("demo: ended, nothing is left" if end_standing() else "demo: none was running")
            return 0
        show(narrator, leave_up=not arguments.end)
    except (LabError, AssertionError) as error:
        print(f"demo: {error}", file=sys.stderr)
        print("demo: `make demo-down` removes what is up", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"demo: {_what_is_up()}", file=sys.stderr)
        return INTERRUPTED
    return 0


def _what_is_up() -> str:
    """What an interrupted demo leaves, and how to end it; what stood before this run counts too."""
    if find_standing() is None:
        return "interrupted; nothing of it is up"
    return "interrupted; the host and what runs beside it are still up: make demo-down"


if __name__ == "__main__":
    sys.exit(main())
