"""Scripts as modules, for their tests."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from ._source import ROOT


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / f"scripts/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


used_names = _load("used_names")  # which the next imports, and that the last
shown_tests = _load("shown_tests")
langroid_names = _load("langroid_names")
