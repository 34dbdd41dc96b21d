"""Fixtures of the installer's tests."""

from tests.installer.archives import signing_keys, workshop
from tests.installer.fixtures import active, answers, evidence_keys, memory_path, rig

__all__ = ["active", "answers", "evidence_keys", "memory_path", "rig", "signing_keys", "workshop"]
