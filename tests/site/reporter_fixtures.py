"""Fixtures of the reporter's tests: one Waldur a module, everything else a test."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from central.dev.certificates import issue_leaf
from tests.simulators.site_intake.platform import Platform
from tests.simulators.site_intake.server import SiteIntake
from tests.simulators.slurm.world import Cluster
from tests.simulators.waldur.process import WaldurProcess
from tests.site.reporter import Scene
from tests.site.slapd import Slapd


@pytest.fixture(scope="module")
def offering(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[WaldurProcess, dict[str, str]]]:
    """A Waldur with one offering and nothing in it, marked."""
    with WaldurProcess(tmp_path_factory.mktemp("waldur")) as waldur:
        made = waldur.stand()
        waldur.mark()
        yield waldur, made


@pytest.fixture
def intake(pki: Path) -> Iterator[SiteIntake]:
    certificate, key = issue_leaf(pki, "intake.test", "127.0.0.1", datetime.now(UTC))
    served = SiteIntake(Platform(), certificate, key, pki / "ca.crt")
    served.start()
    yield served
    served.stop()


@pytest.fixture
def scene(
    slapd: Slapd, intake: SiteIntake, offering: tuple[WaldurProcess, dict[str, str]], tmp_path: Path
) -> Iterator[Scene]:
    waldur, made = offering
    waldur.back()
    found = Scene(
        slapd=slapd,
        cluster=Cluster(tmp_path / "slurm"),
        waldur=waldur,
        made=made,
        intake=intake,
        folder=tmp_path,
    )
    yield found
    found.end()
