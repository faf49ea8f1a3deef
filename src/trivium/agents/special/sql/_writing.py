"""How a query is read as a tree and written from it with the same meaning: sqlglot translates, which is not wanted."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any, Final

from trivium.agents.special.sql._dialects import GRAMMARS

__all__ = ["Writing", "writing_of"]

_PLAIN_ESCAPES: Final = re.compile(r"[eE]'(?:[^'\\]|''|\\[\\ntr])*'")
_AFFINITIES: Final = (
    ("INT", "BIGINT"), ("CHAR|CLOB|TEXT", "TEXT"), ("BLOB", "VARBINARY"), ("REAL|FLOA|DOUB", "DOUBLE"), ("", "DECIMAL"),
)  # fmt: skip
"""What SQLite looks for in the name of a type, one after the other, and sqlglot's type of what it takes it for."""


class Writing:
    """One dialect of sqlglot, without what it does to make a query run elsewhere.

    Args:
        name: "sqlite", "postgres", "mysql" or "duckdb".
    """

    def __init__(self, name: str) -> None:
        self.dialect: Any = _sqlglot("dialects.dialect").Dialect.get_or_raise(name)
        self._parser = _plain(self.dialect.parser_class, _parser_parts(name, self.dialect.parser_class))
        self._generator = _plain(self.dialect.generator_class, _generator_parts(name, self.dialect.generator_class))

    def tokens(self, sql: str) -> list[Any]:
        """The words and signs of a text."""
        return self.dialect.tokenize(sql)

    def trees(self, tokens: list[Any], sql: str) -> list[Any]:
        """The statements that they make up; what can be said in two ways, or be left out, stands in one."""
        exp = _sqlglot("expressions")
        found = self._parser(dialect=self.dialect).parse(tokens, sql)
        for node in [node for tree in found if tree is not None for node in tree.find_all(exp.WindowSpec, exp.Fetch)]:
            if isinstance(node, exp.WindowSpec):
                node.set("end", node.args.get("end") or "CURRENT ROW")
            elif not any((node.args.get("limit_options") or node).args.get(each) for each in ("percent", "with_ties")):
                node.replace(exp.Limit(expression=node.args.get("count") or exp.Literal.number(1)))
        return found

    def text(self, tree: Any) -> str:
        """The text of a tree, without comments."""
        strict = _sqlglot("errors").ErrorLevel.RAISE
        options = {"comments": False, "normalize_functions": False, "unsupported_level": strict}
        return self._generator(dialect=self.dialect, **options).generate(tree)


@cache
def writing_of(name: str) -> Writing:
    """The one of this name; it is made once."""
    return Writing(name)


def _sqlglot(module: str) -> Any:
    return import_module(f"sqlglot.{module}")


def _plain(kind: Any, parts: dict[str, Any]) -> Any:
    return type("Plain", (kind,), parts)


def _parser_parts(name: str, parser: Any) -> dict[str, Any]:
    exp, tokens = _sqlglot("expressions"), _sqlglot("tokens").TokenType
    kept = {word: parse for word, parse in parser.FUNCTION_PARSERS.items() if word in GRAMMARS[name]}
    arrows = {tokens.ARROW: _arrow(exp.JSONExtract), tokens.DARROW: _arrow(exp.JSONExtractScalar)}
    held = "JSON_OPERATORS" if tokens.ARROW in parser.JSON_OPERATORS else "COLUMN_OPERATORS"
    parts: dict[str, Any] = {
        "FUNCTIONS": {},  # all stay as they are written
        "FUNCTION_PARSERS": kept,
        "ARRAY_CONSTRUCTORS": {"ARRAY": exp.Array},
        held: {**getattr(parser, held), **arrows},  # a path stays the text that it is
    }
    if name == "sqlite":
        kept["CAST"] = _affine(kept["CAST"])
    if name == "postgres":
        parts["PRIMARY_PARSERS"] = {**parser.PRIMARY_PARSERS, tokens.BYTE_STRING: _escaped}
    return parts


def _arrow(kind: Any) -> Any:
    def parsed(_: Any, this: Any, path: Any) -> Any:
        return kind(this=this, expression=path)

    return parsed


def _affine(parse: Any) -> Any:
    """SQLite's CAST, to what SQLite takes the name of the type for: sqlglot has other types of these names."""
    exp, before = _sqlglot("expressions"), _sqlglot("tokens").TokenType.ALIAS

    def parsed(parser: Any) -> Any:
        node, at, words = parse(parser), parser._index - 1, ""
        if not isinstance(node, exp.Cast):
            return node
        while (token := parser._tokens[at]).token_type != before:
            at, words = at - 1, f"{token.text} {words}"
        affinity = next(kind for syllables, kind in _AFFINITIES if re.search(syllables, words, re.IGNORECASE))
        node.set("to", exp.DataType(this=exp.DType[affinity]))
        return node

    return parsed


def _escaped(parser: Any, token: Any) -> Any:
    """PostgreSQL's E'…' as the plain text that it is."""
    if not _PLAIN_ESCAPES.fullmatch(parser.sql[token.start : token.end + 1]):
        parser.raise_error("E'…' may hold \\n, \\t, \\r and \\\\, and '' for a quote")
    return _sqlglot("expressions").Literal.string(token.text)


def _generator_parts(name: str, generator: Any) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "MULTI_ARG_DISTINCT": True,
        "NORMALIZE_EXTRACT_DATE_PARTS": False,
        "VALUES_AS_TABLE": True,
        "WRAP_DERIVED_VALUES": True,
    }
    return {**parts, **_types(name, generator), "TRANSFORMS": {**generator.TRANSFORMS, **_transforms(name)}}


def _types(name: str, generator: Any) -> dict[str, Any]:
    """What types are called."""
    kinds = _sqlglot("expressions").DType
    if name == "sqlite":
        named = {"BIGINT": "INTEGER", "TEXT": "TEXT", "VARBINARY": "BLOB", "DOUBLE": "REAL", "DECIMAL": "NUMERIC"}
        return {"TYPE_MAPPING": {kinds[kind]: word for kind, word in named.items()}}
    if name == "mysql":
        return {"CAST_MAPPING": {kinds.BIGINT: "SIGNED", kinds.UBIGINT: "UNSIGNED"}}
    return {"TYPE_MAPPING": {**generator.TYPE_MAPPING, kinds.FLOAT: "FLOAT"}} if name == "duckdb" else {}


def _transforms(name: str) -> dict[Any, Any]:
    """How nodes are written that sqlglot would write as another function, cast or clause."""
    exp, plain = _sqlglot("expressions"), _sqlglot("generator").Generator
    found: dict[Any, Any] = {
        exp.JSONExtract: _operator("->"),
        exp.JSONExtractScalar: _operator("->>"),
        exp.NullSafeEQ: _operator("<=>" if name == "mysql" else "IS NOT DISTINCT FROM"),
        exp.NullSafeNEQ: _operator("IS DISTINCT FROM"),
        exp.WithinGroup: plain.withingroup_sql,
        exp.Pow: _operator("^"),
    }
    if name != "sqlite":  # which has them as functions alone
        found |= {exp.Trim: _trim, exp.StrPosition: _position}
    own: dict[str, dict[Any, Any]] = {
        "sqlite": {exp.Cast: plain.cast_sql},
        "mysql": {
            exp.RegexpLike: _operator("REGEXP"),  # the only form that MySQL and MariaDB both have
            exp.GroupConcat: _group_concat,
            exp.CurrentTimestamp: _now,
            exp.Cast: _mysql_cast,
        },
        "postgres": {exp.Array: _array},
        "duckdb": {
            exp.RegexpLike: _operator("~"),
            exp.RegexpILike: _operator("~*"),
            exp.Join: plain.join_sql,
            exp.If: _if,
        },
    }
    return found | own.get(name, {})


def _operator(sign: str) -> Any:
    def written(write: Any, node: Any) -> str:
        return write.binary(node, sign)

    return written


def _trim(write: Any, node: Any) -> str:
    side, what, text = (write.sql(node, part) for part in ("position", "expression", "this"))
    return f"TRIM({' '.join(filter(None, [side, what, 'FROM']))} {text})" if side or what else f"TRIM({text})"


def _position(write: Any, node: Any) -> str:
    return f"POSITION({write.sql(node, 'substr')} IN {write.sql(node, 'this')})"


def _group_concat(write: Any, node: Any) -> str:
    separator = write.sql(node, "separator")
    return f"GROUP_CONCAT({write.sql(node, 'this')}{f' SEPARATOR {separator}' if separator else ''})"


def _mysql_cast(write: Any, node: Any) -> str:
    is_time = node.to.this in write.TIMESTAMP_FUNC_TYPES
    return f"TIMESTAMP {write.sql(node, 'this')}" if is_time else write.cast_sql(node)


def _array(write: Any, node: Any) -> str:
    return f"{'' if node.args.get('bracket_notation') else 'ARRAY'}[{write.expressions(node, flat=True)}]"


def _if(write: Any, node: Any) -> str:
    return write.func("IF", node.this, node.args.get("true"), node.args.get("false"))


def _now(*_: Any) -> str:
    return "CURRENT_TIMESTAMP"
