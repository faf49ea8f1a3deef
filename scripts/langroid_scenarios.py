"""Asks Langroid itself what comes of the scenarios in `tests/tasks/scenarios.json`, and writes it there.

It runs in Langroid's own environment, which `make .peers/langroid/.ready` makes:

    .peers/langroid/bin/python scripts/langroid_scenarios.py

Each scenario is run twice, sync and async. Where the two differ, `expected` is what the sync form does, and
`expected_async` what the async form does.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tests" / "tasks" / "scenarios.json"
VOCABULARY = "lib/python*/site-packages/llama_index/core/_static/tiktoken_cache"


def langroid() -> Any:
    """Langroid, quiet; its import reads a vocabulary that another package of the environment brought."""
    os.environ["TIKTOKEN_CACHE_DIR"] = str(next(Path(sys.prefix).glob(VOCABULARY), ""))
    os.chdir(tempfile.mkdtemp())
    import langroid as lr
    from langroid.utils.configuration import settings

    settings.quiet = True
    logging.disable(logging.CRITICAL)
    return lr


def interpreter() -> ModuleType:
    """The scenarios' interpreter, without the tests' package around it."""
    spec = importlib.util.spec_from_file_location("scenarios", ROOT / "tests" / "tasks" / "_scenarios.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def asked(scenarios: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The scenarios with what Langroid made of them."""
    lr, of = langroid(), interpreter()
    for scenario in scenarios:
        sync, other = (of.outcome(lr, scenario, is_async=is_async) for is_async in (False, True))
        scenario.pop("expected_async", None)
        scenario["expected"] = sync
        if other != sync:
            scenario["expected_async"] = other
    return scenarios


def written(scenarios: list[dict[str, Any]]) -> str:
    """The table, a scenario a line and a part of it a line each: short enough to read, and a change is seen."""
    parts = [
        ",\n  ".join(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in each.items())
        for each in scenarios
    ]
    return "[\n" + ",\n".join(f" {{{each}}}" for each in parts) + "\n]\n"


if __name__ == "__main__":
    path = Path(sys.argv[1]).absolute() if len(sys.argv) > 1 else TABLE
    table = asked(json.loads(path.read_text()))
    path.write_text(written(table))
