"""The names of the package that tests use, as evidence that a documented name is tested.

A name counts where a test, or a function, class or table of the tests that it uses, has it in one of these forms:

    "Agent"       imported from the package, and used
    ".forward"    an attribute of an object, or a method that a class of the tests writes
    "name="       a keyword of a call
    "'name"       a text that is a name, as in a table of attributes

A local variable, or a function of the test, that only has the same spelling is none of these.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache, cached_property
from posixpath import dirname, join, normpath
from typing import cast

PACKAGE = "trivium"
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign
_TABLED = re.compile(r"[\w.]+(?:\([\w, ]*\))?")


@cache
def within(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Return all nodes of a tree, itself first, but those that only say if a name is read or set. A file of the tests
    has ten thousand, so they are found once, and without the generators of `ast.walk`, which take three times as long.
    """
    found = [tree]
    for node in found:  # it grows meanwhile
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                found += [each for each in cast("list[object]", value) if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                found.append(value)
    return tuple(found)


class TestModule:
    """A file of the tests: what it defines at the top, and what it imports.

    Args:
        path: from the folder above the tests.
        tree: the parsed file.
    """

    __test__ = False

    def __init__(self, path: str, tree: ast.Module) -> None:
        self.path, self.tree = path, tree

    @cached_property
    def definitions(self) -> dict[str, _Definition]:
        """The functions, classes and values at the top, by name."""
        found: dict[str, _Definition] = {}
        for each in self.tree.body:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found[each.name] = each
            elif isinstance(each, ast.Assign | ast.AnnAssign):
                targets = each.targets if isinstance(each, ast.Assign) else [each.target]
                names = [name.id for target in targets for name in within(target) if isinstance(name, ast.Name)]
                found |= dict.fromkeys(names, each)
        return found

    @cached_property
    def imports(self) -> dict[str, tuple[str, str]]:
        """The imported names, each with the module, as a path where it is relative, and its name there."""
        found: dict[str, tuple[str, str]] = {}
        for each in within(self.tree):
            if isinstance(each, ast.ImportFrom):
                module = self._file_of(each.level, each.module or "") if each.level else (each.module or "")
                found |= {alias.asname or alias.name: (module, alias.name) for alias in each.names}
            elif isinstance(each, ast.Import):
                found |= {alias.asname or alias.name.split(".")[0]: (alias.name, "") for alias in each.names}
        return found

    def _file_of(self, level: int, module: str) -> str:
        folder = normpath(join(dirname(self.path), *[".."] * (level - 1)))
        return join(folder, *module.split(".")) + ".py"


class UsedNames:
    """What the definitions of tests use, found once for each.

    Args:
        trees: the files of the tests, parsed, by path.
    """

    def __init__(self, trees: dict[str, ast.Module]) -> None:
        self._modules = {path: TestModule(path, tree) for path, tree in trees.items()}
        self._own: dict[int, frozenset[str]] = {}

    def of(self, path: str, test: ast.AST) -> frozenset[str]:
        """Return what a test of a file uses, itself and by what it uses of the tests."""
        found: set[str] = set()
        seen: set[int] = set()
        todo = [(self._modules[path], test)]
        while todo:
            module, node = todo.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            for name in self._names_in(node):
                if not name.isidentifier():
                    found.add(name)
                    continue
                origin, other = module.imports.get(name, ("", ""))
                if origin.split(".")[0] == PACKAGE:
                    found.add(other or name)
                defining = module if not origin else self._modules.get(origin)
                defined = defining and defining.definitions.get(other or name)
                if defining is not None and defined is not None:
                    todo.append((defining, defined))
        return frozenset(found)

    def _names_in(self, node: ast.AST) -> frozenset[str]:
        if id(node) not in self._own:
            self._own[id(node)] = frozenset(_names_in(node))
        return self._own[id(node)]


def _names_in(node: ast.AST) -> Iterator[str]:
    """The names that a definition uses: those of its parameters too, as a fixture has the name of its function."""
    in_marks = {id(argument) for each in within(node) if _is_mark(each) for argument in each.args}  # type: ignore[attr-defined]
    for each in within(node):
        match each:
            case ast.Name(id=name) | ast.arg(arg=name):
                yield name
            case ast.Attribute(attr=name):
                yield f".{name}"
            case ast.keyword(arg=str(name)):
                yield f"{name}="
            case ast.ClassDef(body=body):
                yield from (f".{member}" for part in body for member in _members(part))
            case ast.Constant(value=str(text)) if id(each) not in in_marks and _TABLED.fullmatch(text):
                yield from (f"'{word}" for word in re.split(r"\W+", text) if word)
            case _:
                pass


def _members(part: ast.stmt) -> list[str]:
    if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
        return [part.name]
    targets = part.targets if isinstance(part, ast.Assign) else [part.target] if isinstance(part, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _is_mark(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "shows"
