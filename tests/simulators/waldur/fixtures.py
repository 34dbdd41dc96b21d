"""pytest fixtures for whoever reads Waldur: import them in a conftest or a test module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.simulators.waldur.process import WaldurProcess
from tests.simulators.waldur.reading import Readable, stand_readable


@pytest.fixture(scope="module")
def waldur(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WaldurProcess]:
    """A running simulator with an empty world."""
    with WaldurProcess(tmp_path_factory.mktemp("waldur")) as running:
        yield running


@pytest.fixture(scope="module")
def readable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Readable]:
    """A simulator of its own with the world of `reading.CASES`."""
    with WaldurProcess(tmp_path_factory.mktemp("readable")) as running:
        yield stand_readable(running)
