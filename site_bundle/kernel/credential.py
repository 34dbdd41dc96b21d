"""A secret and where it comes from (X5): a variable, or a file that is read again when it changes (I03)."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from site_bundle.kernel.errors import UnavailableError

MAX_SECRET_BYTES = 4096
_TOKEN = re.compile(rb"[\x21-\x7e]+")


class Credential:
    """The bearer token of one component. Its value is in no repr, error or log."""

    __slots__ = ("_path", "_stamp", "_value")

    def __init__(self, *, value: str | None = None, path: Path | None = None) -> None:
        self._path = path
        self._value = value.strip() if value is not None else ""
        self._stamp: tuple[int, int, int] | None = None

    @classmethod
    def from_environment(cls, name: str, environment: Mapping[str, str]) -> Credential:
        """The secret `name` or the file `name`_FILE; settings were checked to hold exactly one."""
        if environment.get(name):
            return cls(value=environment[name])
        return cls(path=Path(environment[name + "_FILE"]))

    def __repr__(self) -> str:
        return f"Credential({self._path or 'variable'})"

    @property
    def source(self) -> str:
        """Where it comes from, for people."""
        return str(self._path) if self._path else "a variable"

    def read(self) -> str:
        """The secret as it is now. UnavailableError when the file cannot be read or holds no single token."""
        if self._path is None:
            return self._checked(self._value.encode())
        try:
            # O_NONBLOCK: a FIFO in its place must not park the agent.
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                state = os.fstat(file.fileno())
                stamp = (state.st_ino, state.st_mtime_ns, state.st_size)
                if stamp != self._stamp or not self._value:
                    self._value = self._checked(file.read(MAX_SECRET_BYTES + 1).strip())
                    self._stamp = stamp
        except OSError as error:
            raise UnavailableError(
                "credential_unreadable",
                found=f"{self._path}: {error.strerror}",
                wanted="a file this user may read",
                remedy="run it as root (sudo): the file is private"
                if error.errno == errno.EACCES
                else "put the grant token there and restart the unit",
            ) from error
        return self._value

    def _checked(self, raw: bytes) -> str:
        if len(raw) > MAX_SECRET_BYTES or not _TOKEN.fullmatch(raw):
            raise UnavailableError(
                "credential_malformed",
                found=f"{self.source} does not hold one token",
                wanted="one line of printable ASCII",
                remedy="put the grant token there and restart the unit",
            )
        return raw.decode("ascii")


def first_there(paths: Sequence[Path]) -> Path:
    """The first of `paths` that exists, or that may not be looked at: reading it will tell. Without any, the
    last one: where the secret belongs.
    """
    for path in paths:
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return path
        return path
    return paths[-1]
