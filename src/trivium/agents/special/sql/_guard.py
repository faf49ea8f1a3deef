"""The guard: a query written by a model becomes one that only reads, or is refused."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, cast

from trivium._arguments import checked
from trivium.agents.special.sql._dialects import (
    FORMATS,
    FUNCTIONS,
    GROWING,
    NO_COLUMNS,
    NODES,
    OTHERWISE,
    SERIES,
    SIZED,
    SYSTEM_SCHEMAS,
    SYSTEM_TABLES,
    TYPES,
    VALUES_OF_ITS_OWN,
)
from trivium.agents.special.sql._writing import writing_of
from trivium.exceptions import ConfigurationError, MissingExtraError, QueryRefusedError

__all__ = ["UNKNOWN_COLUMN", "UNKNOWN_TABLE", "check_query"]

UNKNOWN_COLUMN: Final = "there is no column"
UNKNOWN_TABLE: Final = "there is no table"
MAX_CHARACTERS: Final = 20_000
_MAX_DEPTH: Final = 30
_MAX_SIZE: Final = 1000
_MAX_SHOWN: Final = 100
_NAME: Final = re.compile(r"[^\W\d][\w$]*")
_CONTROL: Final = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_WIDE_FIELD: Final = re.compile(r"\*|\d{4}")
_ROW_COLUMNS: Final = frozenset({"key", "value", "ordinality"})
"""How the columns of functions of rows are called that need no names given."""
_BEGINNINGS: Final = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "L_PAREN")
_QUERIES: Final = ("Select", "Union", "Except", "Intersect", "Values", "Subquery")
_SELECT_PARTS: Final = frozenset(
    {
        "with_", "expressions", "distinct", "from_", "joins", "laterals", "where", "group", "having", "qualify",
        "windows", "order", "limit", "offset",
    }
)  # fmt: skip
_TABLE_PARTS: Final = frozenset({"this", "alias", "db", "joins", "laterals", "ordinality"})
_GROUP: Final = "a query is one SELECT, VALUES, or set operation of these, with or without WITH"


@checked
def check_query(
    sql: str,
    dialect: str,
    *,
    tables: Collection[str] | None = None,
    functions: Collection[str] = (),
    max_rows: int | None = None,
) -> str:
    """The query to send for one that a model wrote; it reads, computes, and does nothing else.

    It is not the model's text that is sent: that is parsed, each node of the tree has to be of a kind that is allowed,
    and new text is written from the tree. The new text is parsed and checked once more, and has to come out as the same
    tree: so it means the same. What nobody has thought of is refused, since only what is listed is allowed.

    Args:
        sql: the query.
        dialect: "sqlite", "postgres", "mysql" (MariaDB too) or "duckdb".
        tables: which tables it may read, as `table` or `schema.table`; None is all but the server's own. As a dict with
            the columns of each: PostgreSQL would call a function where `table.name` names none of them.
        functions: functions that it may call beside the built-in ones that only compute.
        max_rows: a LIMIT that the query gets where it has none, or a larger one.

    Returns:
        The text to send, without comments.

    Raises:
        QueryRefusedError: it is no query, or one that could do more than read; `reason` and `allowed` say why.
        ConfigurationError: the dialect is not known.
        MissingExtraError: sqlglot is not installed.

    Example:
        >>> check_query("select name from users -- all of them", "postgres", max_rows=100)
        'SELECT name FROM users LIMIT 100'
        >>> try:
        ...     check_query("with x as (delete from users returning *) select * from x", "postgres")
        ... except QueryRefusedError as error:
        ...     print(error.reason)
        Delete is no part of a query that reads
    """
    if dialect not in FUNCTIONS:
        raise ConfigurationError(f"no dialect {dialect!r}: take one of {', '.join(sorted(FUNCTIONS))}")
    check = _Check(sql, dialect, tables, functions)
    try:
        tree = check.read(sql)
        if max_rows is not None:
            tree = check.limited(tree, max_rows)
        sent = check.write(tree)
        check.compare(tree, check.read(sent))
    except RecursionError:
        raise check.refused("it is nested too deeply", "a flatter query") from None
    return sent


class _Check:
    """One query under one set of rules."""

    def __init__(self, sql: str, dialect: str, tables: Collection[str] | None, functions: Collection[str]) -> None:
        try:
            from sqlglot.expressions import Anonymous, Column, Lateral, Subquery, Table, Unnest
        except ImportError:
            raise MissingExtraError("sqlglot", "sql") from None

        self._anonymous, self._column = Anonymous, Column
        self._table, self._unnest, self._lateral, self._subquery = Table, Unnest, Lateral, Subquery
        self._sql, self._name, self._writing = sql, dialect, writing_of(dialect)
        self._folds = dialect in ("sqlite", "duckdb")  # else names count as they are written
        columns: Mapping[str, Any] = cast("Any", tables) if isinstance(tables, Mapping) else {}
        self._tables = None if tables is None else {self._folded(each, True): columns.get(each) for each in tables}
        self._functions = FUNCTIONS[dialect] | {each.lower() for each in functions}

    def refused(self, reason: str, allowed: str) -> QueryRefusedError:
        return QueryRefusedError(reason, allowed, self._sql)

    # ---- text to tree
    def read(self, sql: str) -> Any:
        """The tree of a text that is one query and holds nothing that is not allowed."""
        from sqlglot.errors import SqlglotError

        if len(sql) > MAX_CHARACTERS:
            raise self.refused(f"it is longer than {MAX_CHARACTERS} characters", "a shorter query")
        if found := _CONTROL.search(sql):
            raise self.refused(f"it holds the character {found.group()!a}", "plain text")
        try:
            tokens = self._writing.tokens(sql)
            self._check_tokens(tokens)
            parsed = self._writing.trees(tokens, sql)
            found = [each for each in parsed if each is not None and type(each).__name__ != "Semicolon"]
        except SqlglotError as error:
            errors: Any = getattr(error, "errors", None) or [{}]
            said = errors[0].get("description") or str(error).splitlines()[0]
            raise self.refused(f"it cannot be read ({said})", _GROUP) from None
        if len(found) != 1:
            raise self.refused("it holds several statements", "one query")
        tree = found[0]
        while type(tree).__name__ == "Subquery" and not _extras(tree, {"this"}):
            tree = tree.this
        self._check_tree(tree)
        return tree

    def _check_tokens(self, tokens: list[Any]) -> None:
        kinds = [token.token_type.name for token in tokens]
        while kinds and kinds[-1] == "SEMICOLON":
            kinds.pop()
        if not kinds or kinds[0] not in _BEGINNINGS:
            raise self.refused(f"{tokens[0].text.upper() if kinds else 'nothing'} begins no query", _GROUP)
        if "SEMICOLON" in kinds:
            raise self.refused("it holds several statements", "one query")
        depth = 0
        for token, after in zip(tokens, [*tokens[1:], None], strict=True):
            if token.token_type.name == "NUMBER" and after and after.start == token.end + 1 and _NAME.match(after.text):
                raise self.refused(f"{token.text}{after.text} is no number", "numbers without _, and a space behind")
            if any(comment.startswith(("!", "M!", "+")) for comment in token.comments):
                raise self.refused("it holds a comment that a server may run", "comments of words, or none")
            depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
            if depth > _MAX_DEPTH:
                raise self.refused("it is nested too deeply", "a flatter query")

    def write(self, tree: Any) -> str:
        """The text of a tree, without comments."""
        from sqlglot.errors import UnsupportedError

        try:
            return self._writing.text(tree)
        except UnsupportedError as error:
            raise self.refused(
                f"{self._name} has not all of it ({str(error).splitlines()[0]})", "what it has"
            ) from None

    def limited(self, tree: Any, rows: int) -> Any:
        """The tree with at most so many rows."""
        if type(tree).__name__ not in ("Select", "Union", "Except", "Intersect"):
            return tree
        limit = tree.args.get("limit")
        if limit is None:
            return tree.limit(rows, dialect=self._name)
        number = limit.args.get("expression")
        if not _is_number(number):
            raise self.refused("its LIMIT is no plain number", "LIMIT with a number")
        return tree if int(number.this) <= rows else tree.limit(rows, dialect=self._name)

    def compare(self, given: Any, sent: Any) -> None:
        """Refuse what would be sent with another meaning: it is read as another tree."""
        while given != sent:
            parts, others = list(given.iter_expressions()), list(sent.iter_expressions())
            pairs = [pair for pair in zip(parts, others, strict=False) if pair[0] != pair[1]]
            if type(given) is not type(sent) or len(parts) != len(others) or len(pairs) != 1:
                near = self.write(sent)[:_MAX_SHOWN]
                raise self.refused(f"it cannot be sent as it is meant, near {near}", "another way to say this part")
            ((given, sent),) = pairs

    # ---- the tree
    def _check_tree(self, tree: Any) -> None:
        if type(tree).__name__ not in _QUERIES:
            raise self.refused(f"{type(tree).__name__} is no query", _GROUP)
        for node in tree.walk():
            kind = type(node).__name__
            if kind not in NODES:
                raise self.refused(f"{kind} is no part of a query that reads", OTHERWISE.get(kind, _GROUP))
            check = getattr(self, f"_check_{kind.lower()}", None)
            if check is not None:
                check(node)

        self._check_sizes(tree)
        if self._name == "duckdb":
            self._check_growth(tree)
        if self._name == "postgres":
            self._check_attributes(tree)

    def _check_attributes(self, tree: Any) -> None:
        """PostgreSQL takes `x.f` for `f(x)` where x is a row of a table or of a function, and f no column of it."""
        known: dict[tuple[int, str], list[Collection[str]]] = {}
        for source in tree.find_all(self._table, self._unnest, self._lateral, self._subquery):
            of, columns = self._columns_of(source)
            known.setdefault((id(source.parent_select), of.lower()), []).extend(columns)
        for column in tree.find_all(self._column):
            of, name = str(column.table).lower(), column.this
            at = column.parent_select
            while at is not None and (id(at), of) not in known:
                at = at.parent_select
            folded = self._folded(str(column.name), bool(name.args.get("quoted")))
            for columns in known.get((id(at), of), ()):
                if folded not in {"*", *columns}:
                    named = f"its columns {', '.join(columns)}, or names given to them as AS {of}(a, b)"
                    raise self.refused(f"{UNKNOWN_COLUMN} {of}.{folded}", named)

    def _columns_of(self, source: Any) -> tuple[str, list[Collection[str]]]:
        """How what stands in FROM is called, and its columns, if they are known: in a list, as there may be none."""
        kind, alias = type(source).__name__, source.args.get("alias")
        inside = source if kind == "Unnest" else source.this
        called = str(alias.this.this) if alias and alias.this else ""
        given = [self._folded(str(e.this), bool(e.args.get("quoted"))) for e in alias.columns] if alias else []
        if kind == "Subquery" or type(inside).__name__ == "Subquery":
            return called, []
        if type(inside).__name__ != "Identifier":  # a function that gives rows
            called = called or (kind if kind == "Unnest" else str(inside.this))
            return called, [[*given, called.lower(), *_ROW_COLUMNS]]
        named = called or str(inside.this)
        schema = source.args.get("db")
        is_common = schema is None and any(self._same(inside, each) for each in _named_around(source))
        columns = None if is_common else (self._tables or {}).get(self._written(schema, inside))
        return named, [] if columns is None else [[*given, *columns]]

    def _check_column(self, node: Any) -> None:
        name = node.this
        if not node.table and not name.args.get("quoted") and str(name.this).lower() in NO_COLUMNS.get(self._name, ()):
            raise self.refused(f"{name.this} is no column", f'columns of tables; one of this name as "{name.this}"')

    def _check_in(self, node: Any) -> None:
        if node.args.get("field") is not None:
            raise self.refused("IN takes no name of a table here", "IN (…) with values or a query")

    def _check_growth(self, tree: Any) -> None:
        """Text that is replaced by longer text again and again fills a memory that DuckDB does not count."""
        growing = [each for each in tree.find_all(self._anonymous) if _grows(each)]
        loops = any(type(each).__name__ == "With" and each.args.get("recursive") for each in tree.walk())
        if len(growing) > (0 if loops else 2):
            raise self.refused("it replaces text by longer text too often", "at most two such functions in a query")

    def _check_select(self, node: Any) -> None:
        if extra := _extras(node, _SELECT_PARTS):
            raise self.refused(f"{extra} cannot stand in a SELECT here", "SELECT … FROM … WHERE … GROUP BY … LIMIT")

    def _check_identifier(self, node: Any) -> None:
        if not node.args.get("quoted") and not _NAME.fullmatch(str(node.this)):
            raise self.refused(f"{node.this!a} is no name", "names of letters, digits and _, or quoted ones")

    def _check_literal(self, node: Any) -> None:
        if not node.is_string and not re.fullmatch(r"[0-9._eE+-]+", str(node.this)):
            raise self.refused(f"{node.this!a} is no number", "decimal numbers")

    def _check_var(self, node: Any) -> None:
        if not re.fullmatch(r"\w[\w ]*", str(node.this), re.ASCII):
            raise self.refused(f"{node.this!a} is no word", "plain words")

    def _check_datatype(self, node: Any) -> None:
        kind = getattr(node.this, "name", None) or str(node.this)
        if kind not in TYPES or node.args.get("kind"):
            raise self.refused(f"a cast to {kind.lower()} is not allowed", "casts to the usual types")

    def _check_anonymous(self, node: Any) -> None:
        name = node.this if isinstance(node.this, str) else str(node.this.this)
        folded = name.lower()
        if not name.isascii() or folded not in self._functions:
            raise self.refused(
                f"the function {name} is not allowed", "functions that only compute from their arguments"
            )
        if not isinstance(node.this, str):
            raise self.refused(f"the function {name} is quoted", "names of functions without quotes")
        if folded in SERIES and self._name == "duckdb" and type(node.parent).__name__ != "Table":
            raise self.refused(f"{name} makes a list in the memory", f"FROM {folded}(…)")
        if folded in SIZED and not self._is_small(node.expressions, SIZED[folded]):
            raise self.refused(
                f"the size given to {name} is no number up to {_MAX_SIZE}", f"{name} with a small number"
            )
        if folded in FORMATS and self._name in ("sqlite", "postgres") and not _is_format(node.expressions):
            raise self.refused(f"the format given to {name} is no plain text of short fields", "as '%.2f'")

    def _is_small(self, arguments: list[Any], at: int) -> bool:
        return len(arguments) > at and _is_number(arguments[at]) and int(arguments[at].this) <= _MAX_SIZE

    def _check_sizes(self, tree: Any) -> None:
        """What makes a text longer by much stands in no other call that does."""
        for node in tree.find_all(self._anonymous):
            if str(node.this).lower() in SIZED and any(
                each is not node and str(each.this).lower() in SIZED for each in node.find_all(self._anonymous)
            ):
                raise self.refused(f"{node.this} is given the result of such a function", "one of them")

    # ---- tables
    def _check_table(self, node: Any) -> None:
        if extra := _extras(node, _TABLE_PARTS):
            raise self.refused(f"{extra} cannot stand at a table here", "table or schema.table")
        if type(node.this).__name__ != "Identifier":  # a function that gives rows; it is checked as one
            if type(node.this).__name__ not in ("Anonymous", "Unnest") or node.args.get("db") is not None:
                raise self.refused("what stands in FROM is no table", "tables, subqueries, and functions of rows")
            return
        schema, name = node.args.get("db"), node.this
        if self._name == "postgres" and str(name.this).lower() in VALUES_OF_ITS_OWN and not name.args.get("quoted"):
            raise self.refused(f"{name.this} is no table", self._readable())
        if schema is None and any(self._same(name, each) for each in _named_around(node)):
            return
        written = str(name.this) if schema is None else f"{schema.this}.{name.this}"
        if self._is_system(schema, name) or not self._is_known(schema, name):
            raise self.refused(f"{UNKNOWN_TABLE} {written} to read", self._readable())

    def _is_system(self, schema: Any, name: Any) -> bool:
        folded = "" if schema is None else str(schema.this).lower()
        if folded in SYSTEM_SCHEMAS or folded.startswith("pg_"):
            return True
        return str(name.this).lower().startswith(SYSTEM_TABLES) and not self._is_listed(schema, name)

    def _is_listed(self, schema: Any, name: Any) -> bool:
        return self._tables is not None and self._is_known(schema, name)

    def _is_known(self, schema: Any, name: Any) -> bool:
        if self._tables is None:
            return not re.search(r"[./\\*?]", str(name.this))  # DuckDB takes such a name for that of a file
        return self._written(schema, name) in self._tables

    def _written(self, schema: Any, name: Any) -> str:
        return ".".join(self._folded(str(e.this), bool(e.args.get("quoted"))) for e in (schema, name) if e)

    def _folded(self, name: str, quoted: bool) -> str:
        return name.lower() if self._folds or (not quoted and self._name == "postgres") else name

    def _same(self, name: Any, other: Any) -> bool:
        """Whether two identifiers are one name for every server; in doubt they are not."""
        one, two = (self._folded(str(each.this), bool(each.args.get("quoted"))) for each in (name, other))
        return one == two

    def _readable(self) -> str:
        if self._tables is None:
            return "tables that are not the server's own"
        shown = sorted(self._tables)[:30]
        return f"the tables {', '.join(shown)}{', …' if len(self._tables) > len(shown) else ''}"


def _extras(node: Any, known: Collection[str]) -> str:
    """Names of the parts that a node has beside the known ones."""
    return ", ".join(name.strip("_").upper() for name, value in node.args.items() if value and name not in known)


def _is_number(node: Any) -> bool:
    return type(node).__name__ == "Literal" and not node.is_string and str(node.this).isdecimal()


def _is_format(arguments: list[Any]) -> bool:
    first: Any = arguments[0] if arguments else None
    return type(first).__name__ == "Literal" and first.is_string and not _WIDE_FIELD.search(first.this)


def _grows(node: Any) -> bool:
    """Whether a function may make its text longer than it was."""
    name = str(node.this).lower()
    if name not in GROWING:
        return False
    texts = [each.this if type(each).__name__ == "Literal" and each.is_string else None for each in node.expressions]
    if len(texts) < 3 or texts[2] is None:
        return True
    return len(texts[2]) > (len(texts[1] or "") if name == "replace" else 0)


def _named_around(node: Any) -> Iterator[Any]:
    """Identifiers of the common table expressions that a table of this name may be.

    Within one of them those before it, and itself only in the recursive half of a recursive one: else the name would
    be that of a real table.
    """
    below, here = node, node.parent
    while here is not None:
        if type(here).__name__ == "With":
            before = here.expressions[: next(at for at, each in enumerate(here.expressions) if each is below)]
            is_own = bool(here.args.get("recursive")) and _is_in_recursive_half(below, node)
            yield from (each.args["alias"].this for each in (*before, *((below,) if is_own else ())))
        elif (clause := here.args.get("with_")) is not None and clause is not below:
            yield from (each.args["alias"].this for each in clause.expressions)
        below, here = here, here.parent


def _is_in_recursive_half(common: Any, node: Any) -> bool:
    union = common.this
    if type(union).__name__ != "Union":
        return False
    return any(each is node for each in union.expression.walk())
