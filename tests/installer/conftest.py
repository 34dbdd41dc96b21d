"""Fixtures of the installer's tests."""

from tests.installer.archives import signing_keys, workshop

__all__ = ["signing_keys", "workshop"]
