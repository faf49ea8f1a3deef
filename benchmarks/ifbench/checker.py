"""IFBench's own checker, a JSON line in and a JSON line out.

    .peers/ifbench/bin/python benchmarks/ifbench/checker.py [SET]

With the name of a set (there is one, "test") it writes the cases. The checker fetches data of NLTK and a model of spaCy
when it is imported. The data that it needs are in a package (that of llama-index-core), but for the tagger that tells
verbs, so the cases that ask for one are left out; of spaCy it needs nothing.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import nltk

_places = importlib.util.find_spec("llama_index")
assert _places is not None
nltk.data.path.insert(0, str(Path(next(iter(_places.submodule_search_locations or ())), "core/_static/nltk_cache")))
nltk.download = lambda *args, **kwargs: True
_spacy = ModuleType("spacy.cli")
_spacy.download = lambda name: None
sys.modules |= {"spacy": ModuleType("spacy"), "spacy.cli": _spacy}

import ifbench  # noqa: E402
from ifbench import evaluation_lib  # noqa: E402

DATA = Path(ifbench.__path__[0], "data/IFBench_test.jsonl")
NEEDS_TAGGER = "words:start_verb"


def write_cases() -> None:
    """Write the cases that can be checked here."""
    for line in DATA.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if NEEDS_TAGGER not in case["instruction_id_list"]:
            print(json.dumps({"id": case["key"], "input": case["prompt"], "expected": case}))


def check() -> None:
    """Answer each line with two judgements of an answer: strict, and loose as IFBench counts."""
    for line in sys.stdin:
        asked = json.loads(line)
        case, answer = asked["case"], {asked["case"]["prompt"]: asked["answer"]}
        given = [{name: value for name, value in each.items() if value is not None} for each in case["kwargs"]]
        judged = {
            name: judge(evaluation_lib.InputExample(**{**case, "kwargs": given}), answer).follow_all_instructions
            for name, judge in (
                ("strict", evaluation_lib.test_instruction_following_strict),
                ("loose", evaluation_lib.test_instruction_following_loose),
            )
        }
        print(json.dumps(judged), flush=True)


if __name__ == "__main__":
    write_cases() if sys.argv[1:] else check()
