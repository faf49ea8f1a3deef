"""How the code is joined and worded: figures of the whole tree that rules about one file or function do not see."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from ._source import FUNCTION, Source

CALLED_ONCE = 0.06  # of all functions; starlette, httpx2 and anyio have 0.02 to 0.05
ANY = 40  # for 1,000 lines; they have 13 to 43
TRICKS = 3  # for 1,000 lines; they have 1.4 to 2.4
QUESTION_WORDS = 0.02  # of all docstrings
NAMED_TWICE = 15
TRUNK_LINES = 9_453  # the aim is 7_285; 8_571 before, then files that moved here, provenance, gates and refusals
TRUNK = ("schema", "module", "commander", "agents", "tasks")
BRANCHES = ("trivium.agents.special",)
"""Packages below the trunk that it does not stand on."""

_QUESTIONS = ("What ", "Who ", "Whose ", "Whether ", "Where ", "Which ", "How ")
_TRICKS = {"getattr", "setattr", "delattr", "vars"}
_RUNTIME = "commander"
_OF_THE_RUNTIME = {"_scope", "_emit"}


@dataclass
class House:
    """The figures; what can be mended is a place, one line of text each.

    Args:
        sources: the files of one package, the whole of it.

    Attributes:
        lines: lines of code.
        functions: the number of functions and methods.
        docstrings: the number of docstrings of classes and functions.
        any_names: the number of times that code names `Any`.
        tricks: attributes reached by `getattr`, `setattr`, `delattr`, `vars` or `__dict__`.
        underscored: private modules and names imported from another package.
        question_words: docstrings that begin with a question word.
    """

    sources: list[Source]
    lines: int = 0
    functions: int = 0
    docstrings: int = 0
    any_names: int = 0
    tricks: list[str] = field(default_factory=list[str])
    underscored: list[str] = field(default_factory=list[str])
    question_words: list[str] = field(default_factory=list[str])
    _private: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    _references: Counter[str] = field(default_factory=Counter[str])

    def __post_init__(self) -> None:
        for source in self.sources:
            self.lines += len(source.code_lines)
            for node in source.nodes:
                self._references.update(_names(node))
                self._count_definition(source, node)
                self._count_names(source, node)

    @property
    def called_once(self) -> list[str]:
        """Private functions that exactly one place of the package refers to."""
        return [f"{at} {name}" for name, at in self._private if self._references[name] == 1]

    @property
    def named_twice(self) -> dict[str, list[str]]:
        """Public classes and functions of one name in several files, with the files."""
        found: dict[str, list[str]] = {}
        for source in self.sources:
            for name in sorted(set(_public(source.tree))):
                found.setdefault(name, []).append(source.path)
        return {name: paths for name, paths in found.items() if len(paths) > 1}

    def per_1000(self, number: int) -> float:
        """A number of places, for each 1,000 lines of code."""
        return 1000 * number / self.lines

    def _count_definition(self, source: Source, node: ast.AST) -> None:
        if not isinstance(node, (*FUNCTION, ast.ClassDef)):
            return
        if isinstance(node, FUNCTION):
            self.functions += 1
            if _is_private(node.name):
                self._private.append((node.name, source.at(node)))
        if text := ast.get_docstring(node):
            self.docstrings += 1
            if text.startswith(_QUESTIONS):
                self.question_words.append(f"{source.at(node)} {text.splitlines()[0]}")

    def _count_names(self, source: Source, node: ast.AST) -> None:
        match node:
            case ast.Name(id="Any"):
                self.any_names += 1
            case ast.Name(id=name) if name in _TRICKS:
                self.tricks.append(f"{source.at(node)} {name}")
            case ast.Attribute(attr="__dict__" as name):
                self.tricks.append(f"{source.at(node)} {name}")
            case ast.Attribute(attr=name) if name in _OF_THE_RUNTIME and package_of(source) != _RUNTIME:
                self.underscored.append(f"{source.at(node)} .{name}")
            case ast.ImportFrom() if _crosses_privately(source, node):
                self.underscored.append(f"{source.at(node)} {node.module}")
            case _:
                pass


def package_of(source: Source) -> str:
    """The package that a file belongs to, without the name of the project: `agents`, `module`."""
    parts = source.module.split(".")
    return parts[1] if len(parts) > 1 else ""


def trunk_size(sources: Iterable[Source], bases: Iterable[type]) -> int:
    """Lines of code of the trunk, and of all other files that hold one of these bases of its classes."""
    homes = {base.__module__ for base in bases}
    return sum(
        len(source.code_lines)
        for source in sources
        if source.module in homes
        or (package_of(source) in TRUNK and not f"{source.module}.".startswith(tuple(f"{b}." for b in BRANCHES)))
    )


def own_classes(kind: type) -> list[type]:
    """The classes of a class's MRO, itself included, that are this project's."""
    return [base for base in kind.__mro__ if base.__module__.startswith("trivium.")]


def _names(node: ast.AST) -> Iterator[str]:
    """The names that one node refers to."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (alias.name for alias in names)
        case _:
            pass


def _public(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, (*FUNCTION, ast.ClassDef)) and not node.name.startswith("_"):
            yield node.name


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _crosses_privately(source: Source, statement: ast.ImportFrom) -> bool:
    """Whether a statement imports a private module or name of another package of the project."""
    project, *inner = (statement.module or "").split(".")
    if project != source.module.split(".")[0] or inner[:1] == [package_of(source)]:
        return False
    return any(_is_private(name) for name in chain(inner[1:], (alias.name for alias in statement.names)))
