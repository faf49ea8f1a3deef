"""The guard: a query written by a model becomes one that only reads, or is refused."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from trivium.agents.special.sql._dialects import FUNCTIONS, RESERVED
from trivium.agents.special.sql._names import TableNames
from trivium.agents.special.sql._rules import QUERY_FORM, UNREADABLE, TreeRules, extra_parts, number_in
from trivium.agents.special.sql._syntax import syntax_of
from trivium.agents.special.sql._texts import CONTROL
from trivium.exceptions import ConfigurationError, MissingExtraError, QueryRefusedError
from trivium.schema.lowlevel import checked

if TYPE_CHECKING:
    from sqlglot import Token
    from sqlglot.expressions import Expr

MAX_CHARACTERS: Final = 20_000
_MAX_DEPTH: Final = 30
_MAX_SHOWN: Final = 100
_LETTER: Final = re.compile(r"[^\W\d]")
_SPACE: Final = r"(?:\s|--[^\n]*\n|/\*(?!!|M!|\+)(?:[^*]|\*(?!/))*\*/)"
_PLAN_WORD: Final = rf"(?:QUERY{_SPACE}+PLAN|ANALY[SZ]E|VERBOSE|EXTENDED|PARTITIONS|FORMAT{_SPACE}*={_SPACE}*\w+)\b"
_PLAN_OPTION: Final = (
    r"ANALY[SZ]E|BUFFERS|COSTS|FORMAT|GENERIC_PLAN|MEMORY|SERIALIZE|SETTINGS|SUMMARY|TIMING|VERBOSE|WAL"
)
_EXPLAIN: Final = re.compile(
    rf"{_SPACE}*EXPLAIN\b{_SPACE}*(?:\({_SPACE}*((?:{_PLAN_OPTION})\b(?:[\w,']|{_SPACE})*)\)"
    rf"|((?:{_PLAN_WORD}{_SPACE}*)*))",
    re.IGNORECASE,
)
_PLAN_WORDS: Final = {
    "duckdb": re.compile(r"ANALY[SZ]E"),
    "mysql": re.compile(r"EXTENDED|PARTITIONS|ANALYZE( FORMAT=(?:JSON|TREE))?|FORMAT=(?:JSON|TRADITIONAL|TREE)"),
    "postgres": re.compile(r"ANALY[SZ]E|VERBOSE|ANALY[SZ]E VERBOSE"),
    "sqlite": re.compile(r"QUERY PLAN"),
}
_PLAN_OPTIONS: Final = {
    "duckdb": re.compile(r"ANALY[SZ]E|FORMAT ('?)(?:TEXT|JSON|YAML)\1"),
    "postgres": re.compile(
        r"FORMAT ('?)(?:TEXT|XML|JSON|YAML)\1|SERIALIZE(?: NONE| OFF| TEXT| BINARY)?"
        rf"|(?!FORMAT|SERIALIZE)(?:{_PLAN_OPTION})( ON| OFF| TRUE| FALSE| 1| 0)?"
    ),
}
"""The options of EXPLAIN that change what a plan says, and ANALYZE, which runs the query: one that may be run."""
_QUOTES: Final = "a name that is a word of SQL stands in quotes"
_ENDS: Final = ("ALIAS", "VAR", "IDENTIFIER", "R_PAREN", "NUMBER", "STRING", "END")
"""The kinds of tokens behind which a text in double quotes is an alias, or goes on with the text before it."""
_COMPARISONS: Final = ("EQ", "NEQ", "LT", "LTE", "GT", "GTE", "NULLSAFE_EQ", "LIKE")
_BEGINNINGS: Final = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "L_PAREN")


@checked
def check_query(
    sql: str,
    dialect: str,
    *,
    tables: Collection[str] | None = None,
    functions: Collection[str] = (),
    max_rows: int | None = None,
) -> str:
    """Return the query to send for one that a model wrote: one that reads and computes, and does nothing else.

    The model's text itself is never sent: it is parsed, each node of the tree must be of a kind that is allowed, and
    new text is written from the tree. The new text is parsed and checked again, and must give the same tree, so that it
    means the same. Only what is listed is allowed; all else is refused. EXPLAIN of such a query is allowed, with
    options of the plan's form, and with ANALYZE, which runs it.

    Args:
        sql: the query.
        dialect: "sqlite", "postgres", "mysql" (MariaDB too) or "duckdb".
        tables: the tables that it may read, as `table` or `schema.table`; None: all but the server's own. As a dict
            with the columns of each, for PostgreSQL, which would call a function if `table.name` names none of them,
            and for MySQL, where a column in double quotes would be a text.
        functions: functions that it may call beside the built-in ones that only compute.
        max_rows: the LIMIT of the query if it has none, or a larger one; None: no limit.

    Returns:
        The text to send, without comments.

    Raises:
        QueryRefusedError: it is no query, or one that could do more than read; `reason` and `allowed` say why.
        ConfigurationError: the dialect is unknown.
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
    query = _Query(sql, dialect, tables, functions)
    explain = _EXPLAIN.match(sql)
    words = query.explain_words(*explain.groups()) if explain else ""
    try:
        tree = query.parse(sql[explain.end() :] if explain else sql)
        if max_rows is not None and not explain:  # a plan is that of the query as it is given
            tree = query.limit(tree, max_rows)
        sent = query.write(tree)
        query.compare(tree, query.parse(sent))
    except RecursionError:
        raise query.refused("it is nested too deeply", "a flatter query") from None
    return f"{words}{sent}"


class _Query:
    """One query under one set of rules."""

    def __init__(self, sql: str, dialect: str, tables: Collection[str] | None, functions: Collection[str]) -> None:
        try:
            self._syntax = syntax_of(dialect)
        except ImportError:
            raise MissingExtraError("sqlglot", "sql") from None
        self._sql, self._dialect = sql, dialect
        self._names = TableNames(dialect, tables)
        self._rules = TreeRules(dialect, self._names, functions, self.refused)

    def refused(self, reason: str, allowed: str) -> QueryRefusedError:
        """Make the error of a refusal."""
        return QueryRefusedError(reason, allowed, self._sql)

    def explain_words(self, options: str | None, plan: str | None) -> str:
        """Write EXPLAIN with options, or with the words that the dialect has before the query."""
        words = re.sub(r"\s*=\s*", "=", " ".join(re.sub(rf"{_SPACE}+", " ", plan or "").upper().split()))
        if words and not _PLAN_WORDS[self._dialect].fullmatch(words):
            raise self.refused(f"EXPLAIN has no {words} here", "EXPLAIN with a query")
        known = _PLAN_OPTIONS.get(self._dialect)
        written = [" ".join(re.sub(rf"{_SPACE}+", " ", each).upper().split()) for each in (options or "").split(",")]
        if options and not (known and all(map(known.fullmatch, written))):
            raise self.refused(f"EXPLAIN has no option {options.strip()} here", "EXPLAIN (FORMAT JSON), or without any")
        return f"EXPLAIN ({', '.join(written)}) " if options else f"EXPLAIN {words}{' ' if words else ''}"

    def parse(self, sql: str) -> Expr:
        """Parse a text that is one query and holds nothing that is not allowed."""
        from sqlglot.errors import ParseError, SqlglotError

        if len(sql) > MAX_CHARACTERS:
            raise self.refused(f"it is longer than {MAX_CHARACTERS} characters", "a shorter query")
        if found := CONTROL.search(sql):
            raise self.refused(f"it holds the character {found.group()!a}", "plain text")
        try:
            tokens = self._syntax.tokenize(sql)
            self.check_tokens(tokens)
            self.check_quotes(tokens, sql)
            parsed = self._syntax.parse(tokens, sql)
        except SqlglotError as error:
            details = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
            text = details.get("description") or str(error).splitlines()[0]
            raise self.refused(f"{UNREADABLE} ({text})", f"{QUERY_FORM}; {_QUOTES}") from None
        trees = [each for each in parsed if each is not None and type(each).__name__ != "Semicolon"]
        if len(trees) != 1:
            raise self.refused("it holds several statements", "one query")
        tree = trees[0]
        while type(tree).__name__ == "Subquery" and not extra_parts(tree, {"this"}):
            tree = tree.this
        self._rules.check(tree)
        if self._dialect != "duckdb":  # its tables have names that need no quotes
            self.quote_reserved(tree)
        return tree

    def quote_reserved(self, tree: Expr) -> None:
        """Quote each name that is a reserved word: the parser knows it for a name where a server would not."""
        from sqlglot.expressions import Identifier

        for name in tree.find_all(Identifier):
            if not name.args.get("quoted") and name.this.lower() in RESERVED:
                name.set("this", name.this.lower() if self._dialect == "postgres" else name.this)
                name.set("quoted", True)

    def check_tokens(self, tokens: Sequence[Token]) -> None:
        """Refuse what can be seen before parsing: no query, several, comments that may run, and deep nesting."""
        kinds = [token.token_type.name for token in tokens]
        while kinds and kinds[-1] == "SEMICOLON":
            kinds.pop()
        if not kinds or kinds[0] not in _BEGINNINGS:
            raise self.refused(f"{tokens[0].text.upper()} begins no query" if kinds else "it is empty", QUERY_FORM)
        if "SEMICOLON" in kinds:
            raise self.refused("it holds several statements", "one query")
        depth = 0
        for token, after in zip(tokens, [*tokens[1:], None], strict=True):
            if (
                token.token_type.name == "NUMBER"
                and after
                and after.start == token.end + 1
                and _LETTER.match(after.text)
            ):
                raise self.refused(f"{token.text}{after.text} is no number", "numbers without _, and a space behind")
            if any(comment.startswith(("!", "M!", "+")) for comment in token.comments):
                raise self.refused("it holds a comment that a server may run", "comments of words, or none")
            depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
            if depth > _MAX_DEPTH:
                raise self.refused("it is nested too deeply", "a flatter query")

    def check_quotes(self, tokens: Sequence[Token], sql: str) -> None:
        """Refuse a column in double quotes where these make a text of it."""
        named = {token.text.lower() for token in tokens}
        for at, token in enumerate(tokens if self._dialect == "mysql" else ()):
            is_text = token.token_type.name == "STRING" and sql[token.start] == '"'
            if is_text and self._names.is_column(token.text, named) and not _is_meant_as_text(tokens[:at]):
                raise self.refused(
                    f'"{token.text}" is a text here, and no column', f"`{token.text}` for the column, '…' for a text"
                )

    def write(self, tree: Expr) -> str:
        """Write the text of a tree, without comments."""
        from sqlglot.errors import UnsupportedError

        try:
            return self._syntax.write(tree)
        except UnsupportedError as error:
            part = str(error).splitlines()[0]
            raise self.refused(f"{self._dialect} has not all of it ({part})", "what it has") from None

    def limit(self, tree: Expr, rows: int) -> Expr:
        """Return the tree with at most so many rows."""
        from sqlglot.expressions import Query

        if not isinstance(tree, Query) or type(tree).__name__ not in ("Select", "Union", "Except", "Intersect"):
            return tree
        limit = tree.args.get("limit")
        if limit is None:
            return tree.limit(rows, dialect=self._dialect)
        number = number_in(limit.args.get("expression"))
        if number is None:
            raise self.refused("its LIMIT is no plain number", "LIMIT with a number")
        return tree if number <= rows else tree.limit(rows, dialect=self._dialect)

    def compare(self, given: Expr, sent: Expr) -> None:
        """Refuse a query that would be sent with another meaning: one that is parsed as another tree."""
        while given != sent:
            parts, others = list(given.iter_expressions()), list(sent.iter_expressions())
            pairs = [pair for pair in zip(parts, others, strict=False) if pair[0] != pair[1]]
            if type(given) is not type(sent) or len(parts) != len(others) or len(pairs) != 1:
                near = self.write(sent)[:_MAX_SHOWN]
                way = f"another way to say this part; {_QUOTES}"
                raise self.refused(f"it cannot be sent as it is meant, near {near}", way)
            ((given, sent),) = pairs


def _is_meant_as_text(before: Sequence[Token]) -> bool:
    """Test whether a text in double quotes behind these tokens is an alias, or compared with what is no literal."""
    kinds = [kind for each in reversed(before) if (kind := each.token_type.name) != "NOT"]
    listed = len(list(takewhile(lambda kind: kind in ("COMMA", "STRING"), kinds)))
    if kinds[listed : listed + 2] == ["L_PAREN", "IN"]:
        return True
    return kinds[0] in _ENDS or (kinds[0] in _COMPARISONS and kinds[1] not in ("STRING", "NUMBER"))
