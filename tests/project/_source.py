"""Reading Python source as data: what every rule in this folder starts from."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).parents[2]

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)

# Tokens that carry no code of their own: a line made only of these is not counted.
_LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """One Python file: `path` is written from the folder that holds the package, with forward slashes."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree: each rule goes over them."""
        return list(ast.walk(self.tree))

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def code_lines(self) -> frozenset[int]:
        """Numbers of the lines that hold code: no docstring, comment or blank line."""
        found: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type not in _LAYOUT:
                found.update(range(token.start[0], token.end[0] + 1))
        for node in self.nodes:
            if is_docstring(node):
                found.difference_update(lines_of(node))
        return frozenset(found)

    @property
    def functions(self) -> Iterator[Function]:
        return (node for node in self.nodes if isinstance(node, FUNCTION))

    @property
    def module(self) -> str:
        """The dotted name by which the file is imported."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def is_package(self) -> bool:
        return self.path.endswith("/__init__.py")

    def at(self, node: ast.AST) -> str:
        return f"{self.path}:{getattr(node, 'lineno', 1)}"


def is_docstring(node: ast.AST) -> bool:
    """Any string that stands alone as a statement: docstrings, and those below attributes."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def lines_of(node: ast.AST) -> range:
    """The line numbers that a node spans."""
    first: int = getattr(node, "lineno", 1)
    last: int | None = getattr(node, "end_lineno", None)
    return range(first, (last or first) + 1)


@cache  # and so is the tree of each file
def read(folder: str) -> list[Source]:
    """Every Python file below a folder of the repository; a folder that is not there holds none."""
    base = ROOT / folder
    return [
        Source(path.relative_to(base).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted(base.rglob("*.py"))
    ]


def import_time(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a file is imported: class bodies, branches, but no function body.

    What stands under `if TYPE_CHECKING:` runs for the type checker only, and is left out.
    """
    for statement in body:
        yield statement
        if not isinstance(statement, FUNCTION):
            yield from import_time(_inner(statement))


def _inner(statement: ast.stmt) -> Iterator[ast.stmt]:
    if isinstance(statement, ast.If) and ast.unparse(statement.test).endswith("TYPE_CHECKING"):
        yield from statement.orelse
        return
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
            yield from child.body
