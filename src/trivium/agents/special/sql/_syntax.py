"""Parsing and writing one dialect of SQL with the same meaning, without the translations that sqlglot makes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from trivium.agents.special.sql._dialects import GRAMMARS
from trivium.agents.special.sql._texts import CONTROL, plain_texts, quoted

if TYPE_CHECKING:
    from sqlglot import Generator, Token
    from sqlglot.expressions import Expr

_AFFINITIES: Final = (
    ("INT", "BIGINT"), ("CHAR|CLOB|TEXT", "TEXT"), ("BLOB", "VARBINARY"), ("REAL|FLOA|DOUB", "DOUBLE"), ("", "DECIMAL"),
)  # fmt: skip
"""The parts of a type's name that SQLite tests one after the other, and sqlglot's type for the affinity of each."""
_STEPS: Final = 2_000
"""The steps that a parser may take from one token to another, forwards or back; nested brackets take far more …"""
_STEPS_FOR_EACH: Final = 4
"""… and those for each token. A plain query has one or two."""


class Syntax:
    """One dialect of sqlglot, without its changes that let a query run elsewhere.

    Args:
        name: "sqlite", "postgres", "mysql" or "duckdb".
    """

    def __init__(self, name: str) -> None:
        from sqlglot import Dialect

        self._name, self._dialect = name, Dialect.get_or_raise(name)
        parser, generator = self._dialect.parser_class, self._dialect.generator_class
        self._parser: type[Any] = type("PlainParser", (parser,), parser_settings(name, parser))
        self._generator: type[Generator] = type("PlainGenerator", (generator,), generator_settings(name, generator))

    def tokenize(self, sql: str) -> list[Token]:
        """Return the words and signs of a text, its texts in one form."""
        return self._dialect.tokenize(plain_texts(sql, self._name) if self._name in ("postgres", "duckdb") else sql)

    def parse(self, tokens: list[Token], sql: str) -> Sequence[Expr | None]:
        """Return the statements of some tokens; clauses with several spellings or with defaults are in one form.

        Raises:
            RecursionError: they are nested so deeply that the parser, which tries a bracket several ways, takes long.
        """
        from sqlglot import exp

        parser = self._parser(dialect=self._dialect)
        parser.steps_left = _STEPS + _STEPS_FOR_EACH * len(tokens)
        found: Sequence[Expr | None] = parser.parse(tokens, sql)
        for node in [node for tree in found if tree is not None for node in tree.find_all(exp.Concat)]:
            texts = [each.this for each in node.expressions if each.is_string and "\\" not in each.this]
            if len(texts) == len(node.expressions) and self._name == "mysql":  # 'a' 'b' is one text there
                node.replace(exp.Literal.string("".join(texts)))
        for node in [node for tree in found if tree is not None for node in tree.find_all(exp.WindowSpec, exp.Fetch)]:
            if isinstance(node, exp.WindowSpec):
                node.set("end", node.args.get("end") or "CURRENT ROW")
            elif not any((node.args.get("limit_options") or node).args.get(each) for each in ("percent", "with_ties")):
                node.replace(exp.Limit(expression=node.args.get("count") or exp.Literal.number(1)))
        return found

    def write(self, tree: Expr) -> str:
        """Return the text of a tree, without comments.

        Raises:
            UnsupportedError: the dialect has no form for a part of it; sqlglot's error.
        """
        from sqlglot import ErrorLevel

        strict = ErrorLevel.RAISE
        generator = self._generator(
            dialect=self._dialect, comments=False, normalize_functions=False, unsupported_level=strict
        )
        return generator.generate(tree)


def _counted(advance: Callable[..., None]) -> Callable[..., None]:
    """Return a parser's way to another token, in as many steps as it has."""

    def count(parser: Any, times: int = 1) -> None:
        parser.steps_left -= 1
        if parser.steps_left < 0:
            raise RecursionError  # after a ParseError it would try another way
        advance(parser, times)

    return count


@cache
def syntax_of(name: str) -> Syntax:
    """Return the syntax of this name; it is made once."""
    return Syntax(name)


def parser_settings(name: str, parser: Any) -> dict[str, object]:
    """Return the attributes of a parser that keeps functions, paths in JSON, types and texts as they are written.

    It takes no more steps than it is given; see `Syntax.parse`.
    """
    from sqlglot import TokenType, exp

    kept: dict[str, Callable[[Any], Expr | None]] = {
        word: parse for word, parse in parser.FUNCTION_PARSERS.items() if word in GRAMMARS[name]
    }
    if name == "sqlite":
        kept["CAST"] = _with_affinity(kept["CAST"])

    def read_arrow(kind: type[Expr]) -> Callable[[Any, Expr, Expr], Expr]:
        return lambda _, this, path: kind(this=this, expression=path)

    operators = "JSON_OPERATORS" if TokenType.ARROW in parser.JSON_OPERATORS else "COLUMN_OPERATORS"
    arrows = {TokenType.ARROW: read_arrow(exp.JSONExtract), TokenType.DARROW: read_arrow(exp.JSONExtractScalar)}
    return {
        "FUNCTIONS": {},
        "FUNCTION_PARSERS": kept,
        "ARRAY_CONSTRUCTORS": {"ARRAY": exp.Array},
        operators: {**getattr(parser, operators), **arrows},
        "_advance": _counted(parser._advance),
    }


def _with_affinity(parse: Callable[[Any], Expr | None]) -> Callable[[Any], Expr | None]:
    """Parse SQLite's CAST to the affinity of the type's name: sqlglot has other types of these names."""
    from sqlglot import TokenType, exp

    def parse_cast(reading: Any) -> Expr | None:
        node, at, words = parse(reading), reading._index - 1, ""
        if not isinstance(node, exp.Cast):
            return node
        while (token := reading._tokens[at]).token_type != TokenType.ALIAS:
            at, words = at - 1, f"{token.text} {words}"
        affinity = next(kind for syllables, kind in _AFFINITIES if re.search(syllables, words, re.IGNORECASE))
        node.set("to", exp.DataType(this=exp.DType[affinity]))
        return node

    return parse_cast


def generator_settings(name: str, generator: type[Generator]) -> dict[str, object]:
    """Return the attributes of a generator that writes nodes and types as they were read."""
    from sqlglot.expressions import DType

    settings: dict[str, object] = {
        "MULTI_ARG_DISTINCT": True,
        "NORMALIZE_EXTRACT_DATE_PARTS": False,
        "RESERVED_KEYWORDS": frozenset[str](),  # a name is quoted if it was
        "VALUES_AS_TABLE": True,
        "WRAP_DERIVED_VALUES": True,
        "TRANSFORMS": {**generator.TRANSFORMS, **transforms(name)},
    }
    if name == "sqlite":
        named = {"BIGINT": "INTEGER", "TEXT": "TEXT", "VARBINARY": "BLOB", "DOUBLE": "REAL", "DECIMAL": "NUMERIC"}
        settings["TYPE_MAPPING"] = {DType[kind]: word for kind, word in named.items()}
    if name == "mysql":
        settings["CAST_MAPPING"] = {DType.BIGINT: "SIGNED", DType.UBIGINT: "UNSIGNED"}
    if name == "duckdb":
        settings["TYPE_MAPPING"] = {**generator.TYPE_MAPPING, DType.FLOAT: "FLOAT"}
    return settings


def transforms(name: str) -> dict[type[Expr], Callable[..., str]]:
    """Return the writers of nodes that sqlglot would write as another function, cast or clause."""
    from sqlglot import Generator, exp

    found: dict[type[Expr], Callable[..., str]] = {
        exp.JSONExtract: _operator("->"),
        exp.JSONExtractScalar: _operator("->>"),
        exp.NullSafeEQ: _operator("<=>" if name == "mysql" else "IS NOT DISTINCT FROM"),
        exp.NullSafeNEQ: _operator("IS DISTINCT FROM"),
        exp.WithinGroup: Generator.withingroup_sql,
        exp.Pow: _operator("^"),
    }
    if name in ("postgres", "duckdb"):
        found[exp.Literal] = write_literal
    if name != "sqlite":  # which has them as functions alone
        found |= {exp.Trim: write_trim, exp.StrPosition: write_position}
    if name == "sqlite":
        found |= {exp.Cast: Generator.cast_sql, exp.Identifier: write_name}
    elif name == "mysql":
        found |= {
            exp.RegexpLike: _operator("REGEXP"),  # the only form that MySQL and MariaDB both have
            exp.GroupConcat: write_group_concat,
            exp.CurrentTimestamp: lambda *_: "CURRENT_TIMESTAMP",
            exp.Cast: write_mysql_cast,
        }
    elif name == "postgres":
        found[exp.Array] = write_array
    else:
        found |= {
            exp.RegexpLike: _operator("~"),
            exp.RegexpILike: _operator("~*"),
            exp.Join: Generator.join_sql,
            exp.If: write_if,
        }
    return found


def _operator(sign: str) -> Callable[[Generator, Any], str]:
    return lambda write, node: write.binary(node, sign)


def write_literal(write: Generator, node: Any) -> str:
    """Write a number or a text; one with characters that cannot be seen by their codes."""
    return quoted(node.this) if node.is_string and CONTROL.search(node.this) else write.literal_sql(node)


def write_name(write: Generator, node: Any) -> str:
    """Write a name for SQLite, which takes one in double quotes for a text where it names no column."""
    return f"`{node.this.replace('`', '``')}`" if node.args.get("quoted") else write.identifier_sql(node)


def write_trim(write: Generator, node: Expr) -> str:
    """Write TRIM with its side and characters."""
    side, what, text = (write.sql(node, part) for part in ("position", "expression", "this"))
    return f"TRIM({' '.join(filter(None, [side, what, 'FROM']))} {text})" if side or what else f"TRIM({text})"


def write_position(write: Generator, node: Expr) -> str:
    """Write POSITION(… IN …)."""
    return f"POSITION({write.sql(node, 'substr')} IN {write.sql(node, 'this')})"


def write_group_concat(write: Generator, node: Expr) -> str:
    """Write MySQL's GROUP_CONCAT, with a separator only if it has one."""
    separator = write.sql(node, "separator")
    return f"GROUP_CONCAT({write.sql(node, 'this')}{f' SEPARATOR {separator}' if separator else ''})"


def write_if(write: Generator, node: Expr) -> str:
    """Write DuckDB's function IF."""
    return write.func("IF", node.this, node.args.get("true"), node.args.get("false"))


def write_mysql_cast(write: Any, node: Any) -> str:
    """Write a cast to a time as MySQL's literal TIMESTAMP '…'."""
    is_time = node.to.this in write.TIMESTAMP_FUNC_TYPES
    return f"TIMESTAMP {write.sql(node, 'this')}" if is_time else write.cast_sql(node)


def write_array(write: Generator, node: Expr) -> str:
    """Write PostgreSQL's arrays, and the brackets within them."""
    return f"{'' if node.args.get('bracket_notation') else 'ARRAY'}[{write.expressions(node, flat=True)}]"
