"""The rules of a query's syntax tree: each node is of a kind that only reads and computes, or the query is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Final

from trivium.agents.special.sql._dialects import (
    FORMATS,
    FUNCTIONS,
    GROWING,
    NO_COLUMNS,
    NODES,
    OTHERWISE,
    SERIES,
    SIZED,
    TYPES,
    VALUES_OF_ITS_OWN,
)
from trivium.agents.special.sql._names import TableNames

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

    from trivium.exceptions import QueryRefusedError

UNKNOWN_COLUMN: Final = "there is no column"
UNKNOWN_TABLE: Final = "there is no table"
UNREADABLE: Final = "it cannot be read"
QUERY_FORM: Final = "a query is one SELECT, VALUES, or set operation of these, with or without WITH"
_MAX_SIZE: Final = 1000
_NAME: Final = re.compile(r"[^\W\d][\w$]*")
_WIDE_FIELD: Final = re.compile(r"\*|\d{4}")
_QUERIES: Final = ("Select", "Union", "Except", "Intersect", "Values", "Subquery")
_SELECT_PARTS: Final = frozenset(
    {
        "with_", "expressions", "distinct", "from_", "joins", "laterals", "where", "group", "having", "qualify",
        "windows", "order", "limit", "offset",
    }
)  # fmt: skip
_TABLE_PARTS: Final = frozenset({"this", "alias", "db", "joins", "laterals", "ordinality"})


class TreeRules:
    """The rules of one dialect for a tree.

    Args:
        dialect: "sqlite", "postgres", "mysql" or "duckdb".
        tables: the tables that may be read.
        functions: functions that may be called beside the built-in ones that only compute.
        refused: makes the error of a refusal, from its reason and from what is allowed instead.
    """

    def __init__(
        self,
        dialect: str,
        tables: TableNames,
        functions: Collection[str],
        refused: Callable[[str, str], QueryRefusedError],
    ) -> None:
        self._dialect, self._tables, self._refused = dialect, tables, refused
        self._functions = FUNCTIONS[dialect] | {each.lower() for each in functions}

    def check(self, tree: Expr) -> None:
        """Check each node, and the sizes that nodes together can reach.

        Raises:
            QueryRefusedError: a rule is broken.
        """
        if type(tree).__name__ not in _QUERIES:
            raise self._refused(f"{type(tree).__name__} is no query", QUERY_FORM)
        for node in tree.walk():
            kind = type(node).__name__
            if kind not in NODES:
                raise self._refused(f"{kind} is no part of a query that reads", OTHERWISE.get(kind, QUERY_FORM))
            if (rule := _RULES.get(kind)) is not None:
                rule(self, node)
        self.check_sizes(tree)
        if self._dialect == "postgres":
            self.check_calls_as_columns(tree)

    def check_sizes(self, tree: Expr) -> None:
        """Refuse functions that together make a text longer than each may by itself."""
        from sqlglot.expressions import Anonymous

        for node in tree.find_all(Anonymous):
            inside = [str(each.this).lower() for each in node.find_all(Anonymous) if each is not node]
            if str(node.this).lower() in SIZED and not SIZED.keys().isdisjoint(inside):
                raise self._refused(f"{node.this} is given the result of such a function", "one of them")
        if self._dialect == "duckdb":  # which does not count the memory of a text that is replaced by longer text
            growing = [each for each in tree.find_all(Anonymous) if can_grow(each)]
            loops = any(type(each).__name__ == "With" and each.args.get("recursive") for each in tree.walk())
            if len(growing) > (0 if loops else 2):
                raise self._refused(
                    "it replaces text by longer text too often", "at most two such functions in a query"
                )

    def check_calls_as_columns(self, tree: Expr) -> None:
        """Refuse calls written as columns: PostgreSQL reads `x.f` as `f(x)` if x is a row, and f no column of it."""
        from sqlglot.expressions import Column, Lateral, Subquery, Table, Unnest

        known: dict[tuple[int, str], list[list[str]]] = {}
        for source in tree.find_all(Table, Unnest, Lateral, Subquery):
            name, columns = self._tables.columns_of(source)
            entry = known.setdefault((id(source.parent_select), name.lower()), [])
            if columns is not None:
                entry.append(columns)
        for column in tree.find_all(Column):
            name, at = str(column.table).lower(), column.parent_select
            while at is not None and (id(at), name) not in known:
                at = at.parent_select
            folded = self._tables.fold(str(column.name), bool(column.this.args.get("quoted")))
            for columns in known.get((id(at), name), ()):
                if folded not in {"*", *columns}:
                    named = f"its columns {', '.join(columns)}, or names given to them as AS {name}(a, b)"
                    raise self._refused(f"{UNKNOWN_COLUMN} {name}.{folded}", named)

    # ---- the rules of single nodes
    def check_column(self, node: Expr) -> None:
        """Refuse words that look like columns and tell who is asking."""
        name, table = node.this, node.args.get("table")
        reserved = NO_COLUMNS.get(self._dialect, ())
        if not table and not name.args.get("quoted") and str(name.this).lower() in reserved:
            raise self._refused(f"{name.this} is no column", f'columns of tables; one of this name as "{name.this}"')

    def check_in(self, node: Expr) -> None:
        """Refuse `IN table`."""
        if node.args.get("field") is not None:
            raise self._refused("IN takes no name of a table here", "IN (…) with values or a query")

    def check_regexp(self, node: Expr) -> None:
        """Refuse SQLite's REGEXP, which is a function of the program: it runs in Python, where nothing can stop it."""
        if self._dialect == "sqlite" and "regexp" not in self._functions:
            raise self._refused("REGEXP has no time limit here", "LIKE or GLOB")

    def check_select(self, node: Expr) -> None:
        """Refuse clauses that lock, write or give hints."""
        if extra := extra_parts(node, _SELECT_PARTS):
            raise self._refused(f"{extra} cannot stand in a SELECT here", "SELECT … FROM … WHERE … GROUP BY … LIMIT")

    def check_identifier(self, node: Expr) -> None:
        """Refuse names of unusual characters without quotes."""
        if not node.args.get("quoted") and not _NAME.fullmatch(str(node.this)):
            raise self._refused(f"{node.this!a} is no name", "names of letters, digits and _, or quoted ones")

    def check_literal(self, node: Expr) -> None:
        """Refuse numbers in unusual forms."""
        if not node.is_string and not re.fullmatch(r"[0-9._eE+-]+", str(node.this)):
            raise self._refused(f"{node.this!a} is no number", "decimal numbers")

    def check_bits(self, node: Expr) -> None:
        """Refuse texts of bits that hold anything else."""
        if not re.fullmatch(r"[01]+", str(node.this)) or self._dialect not in ("postgres", "mysql"):
            raise self._refused(f"{node.this!a} is no text of bits", "B'…' of 0 and 1")

    def check_word(self, node: Expr) -> None:
        """Refuse keywords of unusual characters."""
        if not re.fullmatch(r"\w[\w ]*", str(node.this), re.ASCII):
            raise self._refused(f"{node.this!a} is no word", "plain words")

    def check_type(self, node: Expr) -> None:
        """Refuse types of a user's own, which could run code in a cast."""
        from sqlglot.expressions import DType

        kind = node.this.name if isinstance(node.this, DType) else str(node.this)
        if kind not in TYPES or node.args.get("kind"):
            raise self._refused(f"a cast to {kind.lower()} is not allowed", "casts to the usual types")

    def check_function(self, node: Expr) -> None:
        """Refuse functions that do more than compute, or that are told to make something large."""
        name = node.this if isinstance(node.this, str) else str(node.this.this)
        folded, arguments = name.lower(), node.expressions
        if not name.isascii() or folded not in self._functions:
            raise self._refused(
                f"the function {name} is not allowed", "functions that only compute from their arguments"
            )
        if not isinstance(node.this, str):
            raise self._refused(f"the function {name} is quoted", "names of functions without quotes")
        if folded in SERIES and self._dialect == "duckdb" and type(node.parent).__name__ != "Table":
            raise self._refused(f"{name} makes a list in the memory", f"FROM {folded}(…)")
        if folded in SIZED:
            at = SIZED[folded]
            size = number_in(arguments[at]) if len(arguments) > at else None
            if size is None or size > _MAX_SIZE:
                reason = f"the size given to {name} is no number up to {_MAX_SIZE}"
                raise self._refused(reason, f"{name} with a small number")
        if folded in FORMATS and self._dialect in ("sqlite", "postgres"):
            template = _text_in(arguments[0]) if arguments else None
            if template is None or _WIDE_FIELD.search(template):
                raise self._refused(f"the format given to {name} is no plain text of short fields", "as '%.2f'")

    def check_table(self, node: Expr) -> None:
        """Refuse tables that are unknown or the server's own, and what is no table."""
        if extra := extra_parts(node, _TABLE_PARTS):
            raise self._refused(f"{extra} cannot stand at a table here", "table or schema.table")
        schema, name = node.args.get("db"), node.this
        if type(name).__name__ != "Identifier":  # a function that returns rows; it is checked as a function
            if type(name).__name__ not in ("Anonymous", "Unnest") or schema is not None:
                raise self._refused("what stands in FROM is no table", "tables, subqueries, and functions of rows")
            return
        if self._dialect == "postgres" and str(name.this).lower() in VALUES_OF_ITS_OWN and not name.args.get("quoted"):
            raise self._refused(f"{name.this} is no table", str(self._tables))
        if not self._tables.is_common(node) and not self._tables.can_read(node):
            written = str(name.this) if schema is None else f"{schema.this}.{name.this}"
            raise self._refused(f"{UNKNOWN_TABLE} {written} to read", str(self._tables))


_RULES: Final[Mapping[str, Callable[[TreeRules, Expr], None]]] = {
    "Anonymous": TreeRules.check_function,
    "BitString": TreeRules.check_bits,
    "Column": TreeRules.check_column,
    "DataType": TreeRules.check_type,
    "Identifier": TreeRules.check_identifier,
    "In": TreeRules.check_in,
    "Literal": TreeRules.check_literal,
    "RegexpLike": TreeRules.check_regexp,
    "Select": TreeRules.check_select,
    "Table": TreeRules.check_table,
    "Var": TreeRules.check_word,
}


def extra_parts(node: Expr, known: Collection[str]) -> str:
    """Return the names of the parts that a node has beside the known ones."""
    return ", ".join(name.strip("_").upper() for name, value in node.args.items() if value and name not in known)


def number_in(node: Expr | None) -> int | None:
    """Return the plain decimal number of up to 18 digits that a node is, None if it is anything else."""
    if node is None or type(node).__name__ != "Literal" or node.is_string:
        return None
    return int(node.this) if str(node.this).isdecimal() and len(node.this) <= 18 else None


def _text_in(node: Expr) -> str | None:
    return node.this if type(node).__name__ == "Literal" and node.is_string else None


def can_grow(node: Expr) -> bool:
    """Test whether a function may make its text many times longer."""
    name = str(node.this).lower()
    if name not in GROWING:
        return False
    texts = [_text_in(each) for each in node.expressions]
    if len(texts) < 3 or texts[2] is None:
        return True
    return len(texts[2]) > (len(texts[1] or "") if name == "replace" else 0)
