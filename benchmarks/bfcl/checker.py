"""BFCL's own checker, a JSON line in and a JSON line out: `.peers/bfcl/bin/python benchmarks/bfcl/checker.py [SET]`.

With the name of a set it writes the cases of that set, as BFCL itself gives them to a model. Two of its modules are
replaced: its table of models imports the clients of all providers, and is asked only whether a model writes "_" for "."
in names (all of ours do); its locks are for processes that write the same files.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace

_TABLE = "bfcl_eval.constants.model_config"
_models, _locks = ModuleType(_TABLE), ModuleType("filelock")
_models.MODEL_CONFIG_MAPPING = defaultdict(lambda: SimpleNamespace(underscore_to_dot=True))
_locks.FileLock = nullcontext
sys.modules |= {_TABLE: _models, "filelock": _locks}

from bfcl_eval import utils  # noqa: E402
from bfcl_eval.constants.enums import Language  # noqa: E402
from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker  # noqa: E402

LANGUAGES = {"simple_java": Language.JAVA, "simple_javascript": Language.JAVASCRIPT}


def write_cases(name: str) -> None:
    """Write the cases of a set, each with the functions as the checker wants them, and the right calls."""
    right = {}
    if name != "irrelevance":
        right = {each["id"]: each["ground_truth"] for each in utils.load_ground_truth_entry(name)}
    plain = {each["id"]: each["function"] for each in utils.load_dataset_entry(name, True, False)}
    for case in utils.load_dataset_entry(name):
        given = {"messages": case["question"][0], "functions": case["function"]}
        expected = {"functions": plain[case["id"]], "calls": right.get(case["id"], [])}
        print(json.dumps({"id": case["id"], "input": given, "expected": expected}))


def check() -> None:
    """Answer each line with the errors of the calls in it."""
    for line in sys.stdin:
        asked = json.loads(line)
        expected, language = asked["expected"], LANGUAGES.get(asked["set"], Language.PYTHON)
        found = ast_checker(expected["functions"], asked["calls"], expected["calls"], language, asked["set"], "trivium")
        print(json.dumps([] if found["valid"] else found["error"] or [found["error_type"]]), flush=True)


if __name__ == "__main__":
    write_cases(sys.argv[1]) if sys.argv[1:] else check()
