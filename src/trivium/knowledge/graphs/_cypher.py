"""The guard of a graph: it accepts only Cypher that reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from trivium.exceptions import QueryRefusedError

_TOKEN: Final = re.compile(
    r"""
      (?P<gap>     [ \t\r\n\f]+ | //[^\r\n]* | /\*.*?\*/ )
    | (?P<text>    '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
    | (?P<quoted>  `[^`]+` )
    | (?P<number>  (?:0[xo][0-9A-Fa-f]+|(?:\d+(?:\.(?!\.)\d+)?|\.\d+)(?:[eE][+-]?\d+)?)(?![A-Za-z_0-9]) )
    | (?P<word>    [A-Za-z_][A-Za-z_0-9]* )
    | (?P<sign>    <> | <= | >= | =~ | \.\. | \|\| | [-+*/%^=<>()\[\]{},.:|] )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPES: Final = frozenset("\\'\"`nrtbf/")  # no \u: Neo4j reads it before it looks for the end of a text
_LARGEST: Final = 20_000  # characters; no question needs more

# fmt: off
_KEYWORDS: Final = frozenset([
    "ALL", "AND", "ANY", "AS", "ASC", "ASCENDING", "BY", "CASE", "CONTAINS", "COUNT", "DESC", "DESCENDING", "DISTINCT",
    "ELSE", "END", "ENDS", "EXISTS", "FALSE", "IN", "IS", "LIMIT", "MATCH", "NONE", "NOT", "NULL", "OPTIONAL", "OR",
    "ORDER", "RETURN", "SHORTEST", "SINGLE", "SKIP", "STARTS", "THEN", "TRUE", "UNION", "UNWIND", "WHEN", "WHERE",
    "WITH", "XOR",
])
_FUNCTIONS: Final = frozenset([
    "abs", "all", "any", "avg", "ceil", "ceiling", "coalesce", "collect", "concat", "contains", "cos", "count", "date",
    "date_part", "datetime", "degrees", "duration", "elementid", "endnode", "exists", "exp", "floor", "head", "id",
    "interval", "keys", "label", "labels", "last", "left", "length", "list_contains", "list_sort", "log", "log10",
    "lower", "ltrim", "max", "min", "nodes", "none", "nullif", "offset", "pi", "pow", "properties", "radians", "rels",
    "relationships", "replace", "reverse", "right", "round", "rtrim", "shortestpath", "sign", "sin", "single", "size",
    "split", "sqrt", "startnode", "stdev", "substring", "sum", "tail", "tan", "timestamp", "toboolean", "tofloat",
    "tointeger", "tolower", "tostring", "toupper", "trim", "type", "upper", "year",
])
_NO_VARIABLES: Final = frozenset([  # words that begin a statement or a clause in some Cypher
    "ADD", "ALTER", "ANALYZE", "ATTACH", "BEGIN", "CALL", "CHECKPOINT", "COMMENT", "COMMIT", "COPY", "CREATE", "CYPHER",
    "DELETE", "DENY", "DETACH", "DROP", "DRYRUN", "ENABLE", "EXPLAIN", "EXPORT", "FINISH", "FOREACH", "FORCE", "FROM",
    "GRANT", "IMPORT", "INSERT", "INSTALL", "INTO", "LET", "LOAD", "MERGE", "NEXT", "ON", "PERIODIC", "PROFILE",
    "PROJECT", "REMOVE", "RENAME", "REVOKE", "ROLLBACK", "SET", "SHOW", "START", "STOP", "TERMINATE", "TO", "UNINSTALL",
    "UPDATE", "USE", "USING", "YIELD",
])
# fmt: on
_BEGINNINGS: Final = frozenset(["MATCH", "OPTIONAL", "WITH", "UNWIND", "RETURN"])


class _Token(NamedTuple):
    kind: str
    text: str
    gap: str  # " " if whitespace or a comment precedes it


def check_cypher(query: str) -> str:
    """Check that a query only reads the graph, and return it rewritten from the checked tokens.

    Accepted is one query of MATCH, WHERE, WITH, UNWIND, RETURN, UNION, ORDER BY, SKIP and LIMIT. Every other word must
    be a label, a type or a property, a variable that the query binds, or a function without side effects. Parameters,
    calls, subqueries in CALL and escapes by code point are refused.

    Args:
        query: Cypher, for example from a model.

    Raises:
        QueryRefusedError: it may do more than read; the message says what is not allowed.

    Example:
        >>> check_cypher("MATCH (p:Person) // all\\n RETURN p.name;")
        'MATCH (p:Person) RETURN p.name'
        >>> check_cypher("MATCH (p) DELETE p")
        Traceback (most recent call last):
        ...
        trivium.exceptions.QueryRefusedError: refused: DELETE is not allowed; allowed: reading, with MATCH and RETURN
    """
    tokens = list(_tokens(query))
    if not tokens or tokens[0].text.upper() not in _BEGINNINGS:
        raise _refused(query, f"a query begins with {', '.join(sorted(_BEGINNINGS))}")
    bound = set(_bound(tokens))
    for place, token in enumerate(tokens):
        before, after = _at(tokens, place - 1), _at(tokens, place + 1)
        if token.kind == "text":
            escaped = re.findall(r"\\(.)", token.text, re.DOTALL)
            if not _ESCAPES.issuperset(escaped):
                raise _refused(query, "a text may hold \\n, \\t, \\\\ and escaped quotes, and no other escapes")
        elif token.kind == "quoted" and after == "(":
            raise _refused(query, f"the function {token.text} is not allowed")
        elif token.kind == "word":
            check_word(query, token.text, before, after, bound)
    return "".join(token.gap + token.text for token in tokens)


def _tokens(query: str) -> Iterator[_Token]:
    text = query.strip().removesuffix(";").rstrip()
    if len(text) > _LARGEST:
        raise _refused(query, f"it is longer than {_LARGEST:,} characters")
    place, gap = 0, ""
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise _refused(query, f"{text[place]!r} is not allowed here")
        place = match.end()
        if match.lastgroup == "gap":
            gap = " "
        else:
            yield _Token(match.lastgroup or "", match[0], gap)
            gap = ""


def _bound(tokens: Sequence[_Token]) -> Iterator[str]:
    """Return the variables that a query binds: in a pattern, after AS, as a path, or in a comprehension."""
    for place, token in enumerate(tokens):
        if token.kind == "word" and token.text.upper() not in _NO_VARIABLES | _KEYWORDS:
            before, after = _at(tokens, place - 1), _at(tokens, place + 1)
            behind = _at(tokens, place + 2)
            is_path = after == "=" and (behind == "(" or behind.lower() == "shortestpath")
            if before in {"(", "["} or before.upper() == "AS" or is_path:
                yield token.text


def check_word(query: str, word: str, before: str, after: str, bound: set[str]) -> None:
    """Check one word by the tokens beside it and the variables that the query binds.

    Raises:
        QueryRefusedError: it is not allowed there.
    """
    if before == "." and after != "(":
        return  # a property
    if before in {":", "|"} and after != "(" and word.upper() not in _NO_VARIABLES:
        return  # a label or a type
    if after == "(" and word.upper() not in _KEYWORDS:
        if before == "." or word.lower() not in _FUNCTIONS:
            raise _refused(query, f"the function {word} is not allowed")
        return
    if word.upper() in _KEYWORDS or (after == ":" and before in {"{", ","}):
        return  # a keyword, or a key of a map
    if word not in bound:
        raise _refused(query, f"{word} is not allowed")


def _at(tokens: Sequence[_Token], place: int) -> str:
    return tokens[place].text if 0 <= place < len(tokens) else ""


def _refused(query: str, why: str) -> QueryRefusedError:
    return QueryRefusedError(why, "reading, with MATCH and RETURN", query)
