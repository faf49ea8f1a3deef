"""Asks the original of a system what comes of the tests' scripts, and writes it into their table.

It runs in the original's own environment, which `make .peers/NAME/.ready` makes:

    .peers/langroid/bin/python scripts/scenarios.py langroid
    .peers/agere/bin/python scripts/scenarios.py agere
    .peers/agere/bin/python scripts/scenarios.py agere CHECKOUT/src
    .peers/lagent/bin/python scripts/scenarios.py lagent

Langroid's scripts (`tests/tasks`) and Lagent's (`tests/agents`) are each run twice, sync and async. Where the two
differ, `expected` is what the sync form does, and `expected_async` what the async form does. Agere's
(`tests/commander`) have one form. A script of Lagent's or Agere's that is not in its table yet is put there. What
Agere's last release has not, edges and contexts, is asked of a checkout of its repository (`of` in the table: the
commit), and the chunks are those of OpenAI's client in the environment of the tests.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
TABLES = {
    "langroid": ROOT / "tests/tasks/scenarios.json",
    "agere": ROOT / "tests/commander/scenarios.json",
    "lagent": ROOT / "tests/agents/scenarios.json",
}
INTERPRETERS = {
    "langroid": ROOT / "tests/tasks/_scenarios.py",
    "agere": ROOT / "tests/commander/agere/__init__.py",
    "lagent": ROOT / "tests/agents/lagent/__init__.py",
}
VOCABULARY = "lib/python*/site-packages/llama_index/core/_static/tiktoken_cache"
HANG = 2.0
"""Seconds after which an original hangs."""

Row = dict[str, Any]


class Original(NamedTuple):
    """The original, and what comes of a row there: each part of the row that it gives."""

    package: Any
    asked: Callable[[ModuleType, Row], Row]


def langroid(checkout: str | None) -> Original:
    """Langroid, quiet; its import reads a vocabulary that another package of the environment brought."""
    os.environ["TIKTOKEN_CACHE_DIR"] = str(next(Path(sys.prefix).glob(VOCABULARY), ""))
    os.chdir(tempfile.mkdtemp())
    import langroid as lr
    from langroid.utils.configuration import settings

    settings.quiet = True
    logging.disable(logging.CRITICAL)

    return Original(lr, partial(in_both_forms, lr))


def lagent(checkout: str | None) -> Original:
    """Lagent, without the warnings of its own import."""
    import warnings

    warnings.simplefilter("ignore")
    import lagent

    warnings.simplefilter("ignore")
    return Original(lagent, partial(in_both_forms, lagent))


def in_both_forms(package: Any, of: ModuleType, row: Row) -> Row:
    """What comes of a row, sync and async; the latter only where it differs."""
    sync, other = (of.outcome(package, row, is_async=is_async) for is_async in (False, True))
    return {"expected": sync, **({} if other == sync else {"expected_async": other})}


def agere(checkout: str | None) -> Original:
    """Agere, with OpenAI's client beside it; of a checkout only what the release has not."""
    sys.path.extend(str(each) for each in ROOT.glob(".venv/lib/python*/site-packages"))
    sys.path[:0] = [checkout] if checkout else []
    import agere

    def asked(of: ModuleType, row: Row) -> Row:
        mine = ("of" in row) == (checkout is not None)
        return {"expected": of.outcome(agere, row, guard=HANG)} if mine else {}

    return Original(agere, asked)


ORIGINALS = {"langroid": langroid, "agere": agere, "lagent": lagent}


def interpreter(path: Path) -> ModuleType:
    """The scripts' interpreter, without the tests' package around it."""
    inner = [str(path.parent)] if path.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location("scenarios", path, submodule_search_locations=inner)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["scenarios"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written(rows: list[Row]) -> str:
    """The table, a script a line and a part of it a line each: short enough to read, and a change is seen."""
    parts = [
        ",\n  ".join(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in each.items())
        for each in rows
    ]
    return "[\n" + ",\n".join(f" {{{each}}}" for each in parts) + "\n]\n"


def main(name: str, checkout: str | None = None) -> None:
    path, of = TABLES[name], interpreter(INTERPRETERS[name])
    rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))
    if name != "langroid" and checkout is None:
        known = {row["name"] for row in rows}
        rows += [{"name": each} for each in of.SCRIPTS if each not in known]
    original = ORIGINALS[name](checkout)
    for row in rows:
        found = original.asked(of, row)
        if found:
            differs = {part: row.pop(part) for part in ("differs", "differs_async") if part in row}  # it stays behind
            row.pop("expected_async", None)
            row.update(found, **differs)
    path.write_text(written(rows), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # threads of scripts that hang
