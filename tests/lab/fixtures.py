"""pytest fixtures for whoever needs a host: import them in a conftest.

Without root or nspawn the tests fail and say why; LAB=off skips them, and that too is said.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.lab.errors import LabError
from tests.lab.host import LabHost
from tests.lab.prerequisites import require
from tests.lab.reclaim import reclaim
from tests.lab.tree import HostTree, ensure_tree

HostMaker = Callable[[], LabHost]


@pytest.fixture(scope="session")
def lab_tree() -> HostTree:
    """The host tree, built if this seed has none; dead owners' hosts are removed first."""
    if os.environ.get("LAB") == "off":
        pytest.skip("LAB=off: no lab host on this machine, by your choice")
    try:
        require()
        reclaim()
        return ensure_tree()
    except LabError as error:
        pytest.fail(f"{error} (LAB=off skips the lab's tests)", pytrace=False)


@pytest.fixture(scope="module")
def lab_host(lab_tree: HostTree) -> Iterator[LabHost]:
    """One fresh host for the tests of a module."""
    with LabHost.up(tree=lab_tree) as host:
        yield host


@pytest.fixture
def new_lab_host(lab_tree: HostTree) -> Iterator[HostMaker]:
    """Makes hosts that end with the test."""
    with ExitStack() as hosts:
        yield lambda: hosts.enter_context(LabHost.up(tree=lab_tree))
