"""What the kernel logs, as its lines."""

import io
import logging
from collections.abc import Iterator

import pytest

from central.kernel.observability import configure_logging


@pytest.fixture
def log_stream() -> Iterator[io.StringIO]:
    """The lines of a process named ``trial``; the root logger is put back afterwards."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    stream = io.StringIO()
    configure_logging("trial", level="debug", stream=stream)
    yield stream
    root.handlers[:], level = before
    root.setLevel(level)
