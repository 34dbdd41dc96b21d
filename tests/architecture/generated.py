"""The scripts of `docs/` as modules: the rules read what the pages are made of."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from types import ModuleType

from tests.architecture.sources import ROOT


@cache
def script(name: str) -> ModuleType:
    """`docs/<name>.py`, loaded once: the folder is no package."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(ROOT / "docs"))


def generate() -> ModuleType:
    """`docs/generate.py`."""
    return script("generate")


def help_blocks() -> ModuleType:
    """`docs/help_blocks.py`."""
    return script("help_blocks")
