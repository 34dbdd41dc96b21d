"""What the lab says when it cannot do its part."""


class LabError(Exception):
    """The lab itself failed: what was found, what was wanted, what to do."""


class LabUnavailableError(LabError):
    """This machine cannot carry a host (no root, no nspawn, no cgroup v2)."""


class CommandFailedError(LabError):
    """A command ended with another status than 0.

    ``returncode``, ``stdout`` and ``stderr`` are the command's own.
    """

    def __init__(self, argv: list[str], returncode: int, stdout: str, stderr: str) -> None:
        self.returncode = returncode
        self.stdout = stdout
        self.stderr = stderr
        tail = "\n".join(part.strip()[-4000:] for part in (stdout, stderr) if part.strip())
        super().__init__(f"exit {returncode}: {' '.join(argv)}\n{tail}".rstrip())
