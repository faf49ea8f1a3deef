"""`docs._program` as a script, with the modules of the folder that it runs in, as `python -m` has them."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[:1] = ["", str(Path(__file__).parents[1])]
    runpy.run_module("docs._program", run_name="__main__")
