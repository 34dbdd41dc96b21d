"""Fixtures of the installer's tests."""

import pytest

from tests.installer.archives import signing_keys, workshop
from tests.installer.fixtures import active, answers, evidence_keys, memory_path, rig
from tests.installer.offering import offered
from tests.installer.reporter_rig import Both, make_both
from tests.installer.rig import Rig

__all__ = ["active", "answers", "evidence_keys", "memory_path", "offered", "rig", "signing_keys", "workshop"]


@pytest.fixture
def both(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Both:
    """The same host with both components handed over."""
    return make_both(rig, monkeypatch)
