"""The tests of the repository as text: what they check, what they touch, and the names that their marks give."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from used_names import UsedNames, within


class BadDocumentError(ValueError):
    """The document, the list or a mark cannot be read."""


@dataclass(frozen=True)
class Shown:
    """A test and the names that its marks give; `trivial` says why it shows nothing, or is ""."""

    test: str
    names: tuple[str, ...]
    trivial: str = ""


_Function = ast.FunctionDef | ast.AsyncFunctionDef
_NO_CHECK = {"callable", "hasattr", "isclass", "iscoroutinefunction", "isfunction", "ismethod", "issubclass"}
_KINDS = {"type", "EnumMeta", "EnumType", "ModuleType"}


@cache
def _parsed(path: str, text: str) -> ast.Module:
    return ast.parse(text, path)


def marked_tests(files: dict[str, str]) -> list[Shown]:
    """The marked tests of these files (path to source)."""
    trees = {path: _parsed(path, text) for path, text in files.items()}
    helpers = _checking_helpers(trees.values())
    return [shown for path, tree in sorted(trees.items()) for shown in _of_module(path, tree, helpers)]


def _of_module(path: str, tree: ast.Module, helpers: frozenset[str]) -> Iterator[Shown]:
    yield from _of_body(path, tree.body, _module_marks(path, tree), helpers)


def _module_marks(path: str, tree: ast.Module) -> list[str]:
    values = [
        each.value
        for each in tree.body
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "pytestmark"
    ]
    return [name for value in values for name in _names_in(path, value)]


def _of_body(path: str, body: list[ast.stmt], above: list[str], helpers: frozenset[str]) -> Iterator[Shown]:
    for each in body:
        if isinstance(each, ast.ClassDef) and each.name.startswith("Test"):
            marks = [name for decorator in each.decorator_list for name in _names_in(path, decorator)]
            yield from _of_body(f"{path}::{each.name}", each.body, [*above, *marks], helpers)
        elif isinstance(each, _Function):
            marks = [name for decorator in each.decorator_list for name in _names_in(path, decorator)]
            if not each.name.startswith("test"):
                if marks:
                    raise BadDocumentError(f"{path}: {each.name} is marked and no test")
            elif above or marks:
                names = tuple(dict.fromkeys([*above, *marks]))
                yield Shown(f"{path}::{each.name}", names, _trivial(each, helpers))


def _names_in(path: str, value: ast.AST) -> Iterator[str]:
    """The names in every `shows(...)` of a decorator, a list of marks or a parametrisation."""
    for call in within(value):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "shows":
            for argument in call.args:
                if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                    raise BadDocumentError(f"{path}:{argument.lineno}: write the names of a mark out, as strings")
                yield argument.value


def _trivial(test: ast.AST, helpers: frozenset[str]) -> str:
    if _checks(test) or helpers & set(_called(test)):
        return ""
    return "it checks nothing" if not _asserts(test) else "it checks only that a name is there"


def _asserts(test: ast.AST) -> list[ast.Assert]:
    return [each for each in within(test) if isinstance(each, ast.Assert)]


@cache
def _checks(test: ast.AST) -> bool:
    """Whether something can fail here that is more than a name that lacks."""
    if any(name in ("raises", "warns", "fail") for name in _called(test)):
        return True
    bound = {each.id for each in within(test) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    bound |= {each.arg for each in within(test) if isinstance(each, ast.arg)}
    return any(_says_something(each.test, bound) for each in _asserts(test))


def _says_something(test: ast.expr, bound: set[str]) -> bool:
    if isinstance(test, ast.BoolOp):
        return any(_says_something(each, bound) for each in test.values)
    if isinstance(test, ast.UnaryOp):
        return _says_something(test.operand, bound)
    if isinstance(test, ast.Compare) and ast.unparse(test.comparators[-1]) == "None":
        return not _is_imported(test.left, bound)
    if isinstance(test, ast.Call):
        name = _called_name(test)
        return name not in _NO_CHECK and not (name == "isinstance" and ast.unparse(test.args[-1]) in _KINDS)
    return not isinstance(test, ast.Constant) and not _is_imported(test, bound)


def _is_imported(value: ast.expr, bound: set[str]) -> bool:
    """Whether it is a name that the test itself has not bound, or an attribute of one: no value that a call gave."""
    while isinstance(value, ast.Attribute):
        value = value.value
    return isinstance(value, ast.Name) and value.id not in bound


def _called(tree: ast.AST) -> Iterator[str]:
    return (_called_name(each) for each in within(tree) if isinstance(each, ast.Call))


def _called_name(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ast.unparse(call.func)


def _checking_helpers(trees: Iterable[ast.Module]) -> frozenset[str]:
    """The functions of the tests, other than tests, that check something."""
    functions = [each for tree in trees for each in within(tree) if isinstance(each, _Function)]
    return frozenset(each.name for each in functions if not each.name.startswith("test") and _checks(each))


def read_tests(folder: Path) -> dict[str, str]:
    """Every Python file below the folder, by its path from the folder above."""
    paths = sorted(folder.rglob("*.py"))
    return {path.relative_to(folder.parent).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def touched(files: dict[str, str]) -> dict[str, frozenset[str]]:
    """The tests that check something, each with the names that it uses; see `used_names`."""
    trees = {path: _parsed(path, text) for path, text in files.items()}
    helpers, used = _checking_helpers(trees.values()), UsedNames(trees)
    found: dict[str, frozenset[str]] = {}
    for path, tree in sorted(trees.items()):
        for test, function in _functions(path, tree.body):
            if not _trivial(function, helpers):
                found[test] = used.of(path, function)
    return found


def _functions(path: str, body: list[ast.stmt]) -> Iterator[tuple[str, _Function]]:
    for each in body:
        if isinstance(each, ast.ClassDef):
            yield from _functions(f"{path}::{each.name}", each.body)
        elif isinstance(each, _Function) and each.name.startswith("test"):
            yield f"{path}::{each.name}", each
