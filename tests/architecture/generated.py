"""`docs/generate.py` as a module: the rules about settings and codes read the same tables as the pages."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from types import ModuleType

from tests.architecture.sources import ROOT


@cache
def generate() -> ModuleType:
    """The script, loaded once from its path: `docs/` is no package."""
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
