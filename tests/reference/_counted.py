"""The documented names, attributes, overrides, programs and claims of the three systems, and the tests of each.

- A **name** is a class, function, method or parameter. Of Langroid: each of the table (docs/langroid-names.md); tested
  is one that the product has (`_resolved.py`), and that a mark names whose test uses it. Of Lagent and Agere: each that
  their documents' programs import, call or pass by keyword, and each that the lists of facts name, with its owner
  (`owners.txt`); tested is one that the product has, and that a program which a test runs, or a test which checks
  something, uses. `scripts/used_names.py` says what a use is: the spelling alone is none.
- An **attribute** is one of the table (Langroid), or one that a program of the documents reads or sets on an object;
  `owners.txt` says whose.
- An **override** is a method that the documents let users write; tested is one with a row in
  `tests/agents/test_overrides.py`.
- A **program** is a code block; tested is one that a test runs. Langroid's document has none.
- A **claim** is a sentence of Lagent's and Agere's lists of cases and of facts (`_sentences.py`), an item of a list of
  defects, or a paragraph or bullet of Langroid's list of facts. Their tests are marked with them, or `claims.txt` has
  them.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator
from enum import EnumMeta
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import trivium
import trivium.schema
from agents.test_overrides import BY_PROGRAMS, TABLE
from project._scripts import langroid_names, shown_tests
from project._source import ROOT
from utils import test_getting_started

from . import test_agere_sentences, test_lagent_sentences, test_lagent_sentences_texts
from ._documents import REFERENCE, blocks_of
from ._resolved import is_there
from ._sentences import CHECKED, LISTS, sentences
from .test_lagent_documents import WORDS

SENTENCES = (test_agere_sentences, test_lagent_sentences, test_lagent_sentences_texts)  # they fill `CHECKED`
__all__ = ["CLAIMS", "KINDS", "SYSTEMS", "Item", "claim_of", "counted", "is_evidence"]

Kind: TypeAlias = Literal["name", "attribute", "override", "program", "claim"]
State: TypeAlias = Literal["tested", "different", "missing"]
KINDS: tuple[Kind, ...] = ("name", "attribute", "override", "program", "claim")
SYSTEMS = ("lagent", "langroid", "agere")
CLAIMS = Path(__file__).with_name("claims.txt")
OWNERS = Path(__file__).with_name("owners.txt")
NUMBERED = ("semantic", "weak point", "both names")


class Item(NamedTuple):
    """Something that the documents say.

    Args:
        system: whose documents.
        kind: what it is.
        key: its name, or where it stands.
        state: what is known of it here.
        by: the test, or the tests, that say so.
    """

    system: str
    kind: Kind
    key: str
    state: State
    by: str = ""


def counted(system: str) -> list[Item]:
    """Return all that the documents of a system say."""
    found = _langroid() if system == "langroid" else _of_programs(system)
    return [*found, *_overrides(system), *_claims(system)]


@cache
def tests() -> dict[str, frozenset[str]]:
    """The tests that check something, with what each uses."""
    return shown_tests.touched(shown_tests.read_tests(ROOT / "tests"))


def item(system: str, kind: Kind, key: str, by: Iterable[str]) -> Item:
    named = sorted(by)
    return Item(system, kind, key, "tested" if named else "missing", " ".join(named[:3]))


# ---- Langroid: the table of names
def _langroid() -> Iterator[Item]:
    document = (REFERENCE / "langroid-api.md").read_text(encoding="utf-8")
    names = langroid_names.all_names(document, langroid_names.LISTED.read_text(encoding="utf-8"))
    known = {each.key for each in names}
    by: dict[str, list[str]] = {key: [] for key in known}
    for test in langroid_names.marked_tests(shown_tests.read_tests(ROOT / "tests")):
        for key in (
            () if test.trivial else {key for spelt in test.names for key in langroid_names.meant(spelt, known)[0]}
        ):
            if is_evidence(key, tests()[test.test]):
                by[key].append(test.test)
    for key in sorted(known):
        numbered = key.rpartition(" ")[0] in NUMBERED
        kind: Kind = "claim" if numbered else "attribute" if _is_attribute(key, known) else "name"
        found = item("langroid", kind, key, by[key])
        if not is_there(key):
            found = found._replace(state="missing", by="the product has no such name")
        yield found


def forms_of(key: str) -> set[str]:
    """The forms in which a test uses what is named: an attribute, an import, a keyword, or a text of a table.

    A call gives a parameter by its place too, and an enum's members are used where all of them are.
    """
    path, _, parameter = key.strip('")').replace("[T]", "").partition("(")
    owner, _, name = path.rpartition(".")
    is_shared = name.startswith("__") or isinstance(getattr(trivium.schema, owner, None), EnumMeta)
    forms = {each for word in (name, parameter) if word for each in (word, f".{word}", f"{word}=", f"'{word}")}
    return forms | ({owner} if is_shared else set[str]())


def is_evidence(key: str, used: frozenset[str]) -> bool:
    """Return whether a test uses what its mark names; a number of a list is in no form."""
    return not forms_of(key).isdisjoint(used) or key.rpartition(" ")[0] in NUMBERED


@cache
def _users() -> dict[str, set[str]]:
    """The tests that use each form of a name."""
    found: dict[str, set[str]] = {}
    for test, used in tests().items():
        for form in used:
            found.setdefault(form, set()).add(test)
    return found


def _is_attribute(key: str, known: set[str]) -> bool:
    owner, _, name = key.rpartition(".")
    if not owner or "(" in key or any(each.startswith(f"{key}(") for each in known):
        return False
    return not callable(getattr(getattr(trivium, owner, None), name, None))


# ---- Lagent and Agere: their programs
class _Program(NamedTuple):
    key: str
    tree: ast.Module
    by: list[str]


def _programs(system: str) -> Iterator[_Program]:
    if system == "agere":
        run = "tests/utils/test_getting_started.py::test_the_documented_program"
        yield _Program("agere-getting-started.md", ast.parse(test_getting_started.program()), [run])
        return
    runs = _runs()
    for name in ("lagent-tutorial.md", "lagent-readme.md"):
        for block in blocks_of(name):
            if block.language == "python":
                (word,) = [each for each in WORDS if each in block.text]
                text = f"class _:\n{block.text}" if block.is_excerpt else block.text
                text = text.replace("VllModel", "VllmModel")  # a slip in the tutorial's import
                yield _Program(f"{name}:{block.line}", ast.parse(text), runs[word])


def _runs() -> dict[str, list[str]]:
    """The tests that run a block, by the words that tell the block from the others."""
    path = "tests/reference/test_lagent_documents.py"
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each.name.startswith("test")]
    found: dict[str, list[str]] = {word: [] for word in WORDS}
    for function in functions:
        said = {
            each.value for each in ast.walk(function) if isinstance(each, ast.Constant) and isinstance(each.value, str)
        }
        begun = {"import Agent\n"} if "has_begun" in ast.unparse(function) else set[str]()
        for word in (said | begun) & set(WORDS):
            if f"{path}::{function.name}" in tests():
                found[word].append(f"{path}::{function.name}")
    return found


def _of_programs(system: str) -> Iterator[Item]:
    by: dict[tuple[Kind, str], set[str]] = {}
    for program in _programs(system):
        yield item(system, "program", program.key, program.by)
        own = set(_defined(program.tree))
        for kind, key in _said(program.tree, system):
            if key.split("(")[0].split(".")[-1] not in own:
                by.setdefault((kind, key), set()).update(program.by)
    for key in owned(system):
        by["name", key] = {test for form in forms_of(key) for test in _users().get(form, ())}
    for key in unowned(system, {key for _, key in by}):
        yield Item(system, "name", key, "missing", "owners.txt does not say whose it is")
    for (kind, key), found in sorted(by.items()):
        named = item(system, kind, key, found)
        yield named if is_there(key) else named._replace(state="missing", by="the product has no such name")


@cache
def owned(system: str) -> list[str]:
    """The names that the lists of facts tell, with their owners."""
    text = OWNERS.read_text(encoding="utf-8").partition(f"[{system}]\n")[2].partition("\n[")[0]
    lines = [line.split() for line in text.splitlines() if line]
    return [key for name, *parameters in lines for key in (name, *(f"{name}({each})" for each in parameters))]


def unowned(system: str, known: set[str]) -> set[str]:
    """What the lists of facts name, or the programs read or set, of which no known name says whose it is."""
    words = {word for key in owned(system) for word in re.findall(r"\w+", key)}
    attributes = {key for key in known if "." not in key and key not in owned(system)}
    return (
        {*_listed(system), *attributes}
        - words
        - {re.split(r"[.(]", key.rstrip(")"))[-1] for key in known if "." in key}
    )


def _defined(tree: ast.Module) -> Iterator[str]:
    """What a program defines itself, and the attributes that it gives its own objects."""
    for each in ast.walk(tree):
        if isinstance(each, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield each.name
        elif isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and ast.unparse(each.value) == "self":
            yield each.attr


_OF_PYTHON = {name for kind in (str, list, dict, tuple, set) for name in dir(kind)} | set(dir(builtins))


def _said(tree: ast.Module, system: str) -> Iterator[tuple[Kind, str]]:
    """What a program imports of the system, passes by keyword to that, and reads or sets on objects."""
    # The getting-started program is read with the package's name changed.
    package = "trivium" if system == "agere" else system
    modules: set[str] = set()
    imported: dict[str, str] = {}
    for each in ast.walk(tree):
        if isinstance(each, ast.Import):
            modules |= {alias.name for alias in each.names}
        elif isinstance(each, ast.ImportFrom) and (each.module or "").split(".")[0] == package:
            imported |= {alias.name: f"{each.module}.{alias.name}".replace(package, system, 1) for alias in each.names}
    for path in imported.values():
        yield "name", path
    for each in ast.walk(tree):
        if isinstance(each, ast.Call) and ast.unparse(each.func) in imported:
            called = imported[ast.unparse(each.func)]
            for keyword in each.keywords:
                yield "name", f"{called}({keyword.arg})"
        elif isinstance(each, ast.Attribute) and each.attr not in _OF_PYTHON:
            top = ast.unparse(each.value).split(".")[0].split("(")[0]
            if top not in modules and top not in ("openai_client", "response"):
                yield "attribute", each.attr


def _listed(system: str) -> list[str]:
    """The classes and functions that the lists of facts name."""
    text = (REFERENCE / f"{system}-semantics.md").read_text(encoding="utf-8")
    begin, end = {"lagent": ("## A2", "## A3"), "agere": ("## B2", "## B3")}[system]
    facts = text[text.index(begin) : text.index(end)]
    classes = re.findall(r"\b[A-Z][a-z]+[A-Z]\w+\b", facts)
    functions = re.findall(r"\b[a-z]\w*_\w*[a-z]\b", facts)
    return sorted({*classes, *functions} - _NOT_NAMES)


_NOT_NAMES = {
    *("PyPI", "ValidityCode", "IntEnum", "ActionExecutors", "AssertionError", "KeyError", "TypeError", "ValueError"),
    *("RuntimeError", "UserDict", "UserList", "InvalidAction", "NotImplementedError"),
    *("action_start", "action_end", "im_start", "im_end", "model_state", "ensure_ascii", "finish_reason"),
}
"""Words of the lists that are Python's own, parts of texts, or no names of the system."""


# ---- overrides
def _overrides(system: str) -> Iterator[Item]:
    rows = {row.name for row in TABLE} | {name for names in BY_PROGRAMS.values() for name in names.split()}
    for name in sorted(_methods(system)):
        row = name.removesuffix("_async")
        has = {row, name} & rows
        yield item(system, "override", name, [f"tests/agents/test_overrides.py: {row}"] if has else [])


def _methods(system: str) -> set[str]:
    """The methods that the documents let users write: Langroid's own, and those that programs of the others write."""
    if system == "langroid":
        document = (REFERENCE / "langroid-api.md").read_text(encoding="utf-8")
        found = [each.partition(".") for each in langroid_names.methods(document)]
        return {name for owner, _, name in found if owner in ("Agent", "ChatAgent", "Task")}
    written = {
        each.name
        for program in _programs(system)
        for kind in ast.walk(program.tree)
        if isinstance(kind, ast.ClassDef) and kind.bases
        for each in kind.body
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    return {name for name in written - {"__init__"} if name in _documented_on(system)}


def _documented_on(system: str) -> set[str]:
    kinds: list[Any] = [trivium.Agent, trivium.Hook, trivium.Job]
    if system == "lagent":
        from trivium.agents.aggregator import DefaultAggregator

        kinds.append(DefaultAggregator)
    return {name for kind in kinds for name in dir(kind)}


# ---- claims
_LISTS = {
    "lagent A3": ("lagent", "## A3", "## A4", True),
    "agere B4": ("agere", "## B4", "Good points", True),
    "langroid (a)": ("langroid", "## (a)", "### Seed", False),
}


def _claims(system: str) -> Iterator[Item]:
    given = _given()
    for name in (each for each in LISTS if LISTS[each][0] == system):
        known = sentences(name)
        for number in known:
            listed = given.pop((name, number), "")
            yield claim_of(system, name, number, listed) if listed else _sentence(system, name, number)
        unknown = [number for each, number in CHECKED if each == name and number not in known]
        yield from (Item(system, "claim", f"{name} {number}", "missing", "no document has it") for number in unknown)
    for name, (owner, begin, end, is_numbered) in _LISTS.items():
        if owner != system:
            continue
        text = (REFERENCE / f"{system}-semantics.md").read_text(encoding="utf-8")
        part = text[text.index(begin) : text.index(end, text.index(begin))]
        numbers = _numbers(part) if is_numbered else [str(at) for at, _ in enumerate(_paragraphs(part), 1)]
        for number in numbers:
            yield claim_of(system, name, number, given.pop((name, number), ""))
    for name, number in given:
        if name.split()[0] == system:  # a line of the list that no document has
            yield Item(system, "claim", f"{name} {number}", "missing", "no document has it")


def _sentence(system: str, name: str, number: str) -> Item:
    """Return a sentence with the tests that are marked with it."""
    said = CHECKED.get((name, number), [])
    guide = " ".join((ROOT / f"docs/from-{system}.md").read_text(encoding="utf-8").split())
    if not said or any(each.test not in tests() or each.differs not in guide for each in said):
        return Item(system, "claim", f"{name} {number}", "missing", " ".join(each.test for each in said))
    state: State = "different" if any(each.differs for each in said) else "tested"
    return Item(system, "claim", f"{name} {number}", state, " ".join(each.test for each in said))


def _given() -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    name = ""
    for line in CLAIMS.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            name = line.strip("[]")
        elif line and not line.startswith("#"):
            number, _, said = line.partition(" ")
            found[name, number] = said
    return found


def _numbers(text: str) -> list[str]:
    """The numbers of a list that may have several items in a line, in their order."""
    found: list[str] = []
    for number in re.findall(r"(?:^ ?|  |\. )(\d{1,2}) ", text, re.MULTILINE):
        if int(number) == len(found) + 1:
            found.append(number)
    return found


def _paragraphs(text: str) -> list[str]:
    lines = text.splitlines()[1:]
    return [line for line in lines if line.strip() and not line[0].isspace() and not line.startswith("#")]


def claim_of(system: str, name: str, number: str, said: str) -> Item:
    """Return a claim with what its line in the list says."""
    different = re.match(r'different "(?P<words>.+)" ', said)
    references = [f"tests/{each}" for each in said[different.end() if different else 0 :].split()]
    unknown = [each for each in references if each not in tests()]
    guide = (ROOT / f"docs/from-{system}.md").read_text(encoding="utf-8")
    if not references or unknown or (different is not None and different["words"] not in guide):
        return Item(system, "claim", f"{name} {number}", "missing", " ".join(unknown))
    return Item(system, "claim", f"{name} {number}", "different" if different else "tested", " ".join(references))
