"""`pharos-runtime`: the console script.

`run` goes to the Runtime without the parser of the other verbs, which would stay for the life of the process
(S10).
"""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0 healthy, 1 bug, 2 usage or settings, 3 unhealthy or a check failed, 4 not running."""
    words = sys.argv[1:] if arguments is None else arguments
    if words == ["run"]:
        from site_bundle.runtime.run import run_runtime_process

        return run_runtime_process()
    from site_bundle.runtime.cli import command

    return command(words)


if __name__ == "__main__":
    sys.exit(main())
