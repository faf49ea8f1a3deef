"""BFCL's own checker, a JSON line in and a JSON line out: `.peers/bfcl/bin/python benchmarks/bfcl/checker.py [SET]`.

With the name of a set it writes the cases of that set. The checker's table of models imports the clients of all
providers, and is asked only whether a model writes "_" for "." in names: all of ours do.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType, SimpleNamespace

_TABLE = "bfcl_eval.constants.model_config"
_models = ModuleType(_TABLE)
_models.MODEL_CONFIG_MAPPING = defaultdict(lambda: SimpleNamespace(underscore_to_dot=True))
sys.modules[_TABLE] = _models

import bfcl_eval  # noqa: E402
from bfcl_eval.constants.enums import Language  # noqa: E402
from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker  # noqa: E402

DATA = Path(bfcl_eval.__path__[0], "data")


def write_cases(name: str) -> None:
    """Write the cases of a set, each with its right calls."""
    answers = DATA / "possible_answer" / f"BFCL_v4_{name}.json"
    right = {}
    if answers.exists():
        right = {each["id"]: each["ground_truth"] for each in map(json.loads, answers.read_text().splitlines())}
    for line in (DATA / f"BFCL_v4_{name}.json").read_text().splitlines():
        case = json.loads(line)
        given = {"messages": case["question"][0], "functions": case["function"]}
        print(json.dumps({"id": case["id"], "input": given, "expected": right.get(case["id"], [])}))


def check() -> None:
    """Answer each line with the errors of the calls in it."""
    for line in sys.stdin:
        asked = json.loads(line)
        found = ast_checker(
            asked["functions"], asked["calls"], asked["expected"], Language.PYTHON, asked["set"], "trivium"
        )
        print(json.dumps([] if found["valid"] else found["error"] or [found["error_type"]]), flush=True)


if __name__ == "__main__":
    write_cases(sys.argv[1]) if sys.argv[1:] else check()
