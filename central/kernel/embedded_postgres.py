"""A PostgreSQL of our own for development, tests and the demo, from binaries alone (X8)."""

from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType


@dataclass(frozen=True, slots=True)
class EmbeddedUrls:
    """``admin``: superuser by Unix socket; ``url(role, password, database)`` for others."""

    admin: str = field(repr=False)
    socket_folder: Path
    port: int


class EmbeddedPostgres:
    """``with EmbeddedPostgres(folder) as urls``: data, socket and log below ``folder`` (made 0700)."""

    def __init__(self, folder: Path, bin_dir: Path | None = None) -> None:
        self.folder = folder
        self.bin_dir = bin_dir

    def start(self) -> EmbeddedUrls:
        """Start (making the data folder the first time) and return the URLs."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop cleanly and wait."""
        raise NotImplementedError

    def __enter__(self) -> EmbeddedUrls:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
