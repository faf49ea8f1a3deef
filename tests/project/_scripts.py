"""Scripts as modules, for their tests."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from ._source import ROOT


def load(name: str) -> ModuleType:
    """Load a script, as a module of its name."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"scripts/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


used_names = load("used_names")  # which the next imports, and that the last
shown_tests = load("shown_tests")
langroid_names = load("langroid_names")
