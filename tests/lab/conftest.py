"""Fixtures of the lab's own tests."""

from tests.lab.fixtures import lab_host, lab_tree, new_lab_host

__all__ = ["lab_host", "lab_tree", "new_lab_host"]
