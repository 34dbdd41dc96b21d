"""``python -m tests.demo``: show the main job; ``--down``: end it and remove every trace."""

import argparse
import sys

from tests.demo.narrator import Narrator
from tests.demo.standing import end_standing
from tests.demo.story import show
from tests.lab.errors import LabError


def main() -> int:
    """0 shown or ended, 1 a step failed."""
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
