"""The modules of the benchmarks, which are folders of scripts."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDER, PEERS = ROOT / "benchmarks" / "field", ROOT / "benchmarks" / "peers"


class Scripts:
    """Modules by their names."""

    def __getattr__(self, name: str) -> Any:
        return importlib.import_module(name)


@contextmanager
def scripts(*folders: Path) -> Generator[Scripts]:
    """The scripts of some folders, which are forgotten at the end."""
    paths, before, known = [str(folder) for folder in folders], list(sys.path), set(sys.modules)
    sys.path[:0] = paths
    try:
        yield Scripts()
    finally:
        sys.path[:] = before
        for name in set(sys.modules) - known:
            if str(ROOT / "benchmarks") in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]
