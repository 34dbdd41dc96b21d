"""Journeys are stories: tests of a module follow one another on one host, and stop at the first failure."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.journeys.executing import Executing
from tests.journeys.reporting import Reporting
from tests.journeys.road import Road, road
from tests.lab.fixtures import lab_host, lab_tree, new_lab_host
from tests.lab.tree import HostTree

__all__ = ["lab_host", "lab_tree", "new_lab_host"]

_BROKEN = pytest.StashKey[str]()


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Remember the first failure of a module."""
    module = item.getparent(pytest.Module)
    failed = call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception)
    if module is not None and failed:
        module.stash.setdefault(_BROKEN, item.name)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A later step of a broken journey proves nothing: say where it broke."""
    module = item.getparent(pytest.Module)
    broken = module.stash.get(_BROKEN, None) if module is not None else None
    if broken is not None:
        pytest.skip(f"the journey broke at {broken}")


def put_active(walked: Road) -> None:
    """Release 0.1.0 is built, agreed with, installed and active."""
    release = walked.build("0.1.0")
    walked.agree(release)
    folder = walked.admin.receive(release.archive)
    walked.install(folder)
    walked.activate(folder)


@pytest.fixture(scope="module")
def fresh(lab_tree: HostTree) -> Iterator[Road]:
    """A fresh host and a running central that agreed with it; nothing is installed yet."""
    with road(lab_tree) as walked:
        walked.start_central()
        yield walked


@pytest.fixture(scope="module")
def active(fresh: Road) -> Road:
    """The same with release 0.1.0 active."""
    put_active(fresh)
    return fresh


@pytest.fixture(scope="session")
def reporting(lab_tree: HostTree) -> Iterator[Reporting]:
    """A Site with both components active, for the stories of what is reported; each sells its own."""
    with road(lab_tree, ("ssh-access", "reporter"), reported=True) as walked:
        walked.start_central()
        put_active(walked)
        yield Reporting(walked)


@pytest.fixture(scope="module")
def site(reporting: Reporting) -> Iterator[Reporting]:
    """The same with a pass a second while the story runs; other stories have the machine to themselves."""
    reporting.begin()
    yield reporting
    reporting.end()


@pytest.fixture(scope="session")
def executing(lab_tree: HostTree) -> Iterator[Executing]:
    """A Site with all three components active, and alice and bob ready for Runs; the reporter makes a pass a
    second, the Runtime is as installed.
    """
    with road(lab_tree, ("ssh-access", "reporter", "runtime"), reported=True, runs=True) as walked:
        walked.central = replace(walked.central, supervised=True)
        walked.start_central()
        put_active(walked)
        reporting = Reporting(walked)
        reporting.begin()
        yield Executing.open(reporting, "alice", "bob")
