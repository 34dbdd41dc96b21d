"""Fixtures: a directory, a Site API, and the agent as a process or in this one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from central.dev.certificates import ensure_authority, issue_leaf
from tests.simulators.site_api.history import History
from tests.simulators.site_api.server import SiteApi
from tests.simulators.waldur.fixtures import readable
from tests.site.agent import AgentProcess
from tests.site.reporter_fixtures import intake, offering, scene
from tests.site.slapd import SLAPD, Slapd, build_template

__all__ = ["intake", "offering", "readable", "scene"]


@pytest.fixture(scope="session")
def slapd_template() -> Iterator[Path]:
    if SLAPD is None:
        pytest.fail("slapd is missing: apt-get install slapd ldap-utils, or run tests/setup.sh as root")
    folder = Path(tempfile.mkdtemp(prefix="slapd-template-"))
    build_template(folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def slapd(slapd_template: Path) -> Iterator[Slapd]:
    server = Slapd(slapd_template)
    server.start()
    yield server
    server.destroy()


@contextmanager
def apart(name: str) -> Iterator[Path]:
    """A folder right below /tmp, which a test may open to other users: pytest's own stands in one that every
    run of pytest beside this one closes to them as it starts.
    """
    with tempfile.TemporaryDirectory(prefix=name, dir="/tmp", ignore_cleanup_errors=True) as made:
        yield Path(made)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with apart("pharos-site-") as folder:
        yield folder


@pytest.fixture(scope="session")
def pki() -> Iterator[Path]:
    with apart("pharos-pki-") as folder:
        ensure_authority(folder, datetime.now(UTC))
        yield folder


@pytest.fixture
def site_api(pki: Path) -> Iterator[SiteApi]:
    certificate, key = issue_leaf(pki, "site-api.test", "127.0.0.1", datetime.now(UTC))
    api = SiteApi(History(), certificate, key, pki / "ca.crt")
    api.start()
    yield api
    api.stop()


@pytest.fixture
def agent(slapd: Slapd, site_api: SiteApi, tmp_path: Path) -> Iterator[AgentProcess]:
    process = AgentProcess(slapd, site_api, tmp_path)
    yield process
    process.kill()
