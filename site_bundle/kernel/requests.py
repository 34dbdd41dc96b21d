"""How a verb reaches the running component, which alone writes the journal: one small file of the state
folder for each thing that can be asked.

The component claims a request by rename(2), journals what it asks, and only then forgets it: what is cut off
in between is asked again, and a request that is put meanwhile is another file. The newest supersedes those
before it.
"""

from __future__ import annotations

import errno
from pathlib import Path
from uuid import UUID

from site_bundle.kernel.errors import UnavailableError
from site_bundle.kernel.files import read_bounded, write_atomically

MAX_REQUEST = 4096


class RequestUnreadableError(UnavailableError):
    """There is a request and nobody can say what it asks (X1)."""


class RequestFile:
    """One kind of request."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._claimed = path.with_name(f".{path.name}.claimed")

    def put(self, content: bytes) -> None:
        """OSError."""
        write_atomically(self._path, content, mode=0o600)

    def look(self) -> bytes | None:
        """What is asked, until `done`; None when nobody asks. RequestUnreadableError.

        A link, or more than a request can be, asks for nothing.
        """
        try:
            self._path.replace(self._claimed)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise self._unreadable(self._path, error) from error
        try:
            return read_bounded(self._claimed, max_bytes=MAX_REQUEST)
        except FileNotFoundError:
            return None
        except ValueError:
            return b""
        except OSError as error:
            if error.errno == errno.ELOOP:
                return b""
            raise self._unreadable(self._claimed, error) from error

    def done(self) -> None:
        """Forgets what `look` showed. RequestUnreadableError when the folder does not let it."""
        try:
            self._claimed.unlink(missing_ok=True)
        except OSError as error:
            raise self._unreadable(self._claimed, error) from error

    def _unreadable(self, path: Path, error: OSError) -> RequestUnreadableError:
        return RequestUnreadableError(
            "request_unreadable",
            found=f"{path}: {error.strerror}",
            wanted="a request that can be read, or none",
            remedy="remove that file and ask again with the verb",
        )


def put_feed(request: RequestFile, feed: UUID) -> None:
    """Asks the component to accept the history `feed` (E3). OSError."""
    request.put(f"{feed}\n".encode("ascii"))


def look_for_feed(request: RequestFile) -> UUID | None:
    """The history somebody accepts, until `done`; None when nobody asks. What is no feed id is forgotten.
    RequestUnreadableError.
    """
    raw = request.look()
    if raw is None:
        return None
    try:
        return UUID(raw.decode("ascii").strip())
    except ValueError:
        request.done()
        return None
