"""PostgreSQL's and DuckDB's forms of texts as plain texts, by the rules of PostgreSQL's own lexer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sqlglot.errors import TokenError

CONTROL: Final = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
"""Characters that stand in a query only as escapes: they cannot be seen, or change what is seen."""

_LETTER: Final = r"A-Za-z_\x80-\U0010ffff"
_TOKEN: Final = re.compile(
    r"--[^\n\r]*|(?P<comment>/\*)|\"[^\"]*\"|(?P<kind>[uU]&|[eEnNbBxX]?)'"
    rf"|\$(?P<tag>(?:[{_LETTER}][{_LETTER}\d]*)?)\$|[{_LETTER}\d][{_LETTER}\d$]*"
)
"""Texts, and what else may hold a quote or a dollar; words are whole, since `a$$b$$` is one name."""
_COMMENT: Final = re.compile(r"/\*|\*/")
_REST: Final = re.compile(r"((?:[^']|'')*)'(?!')")
_ESCAPED_REST: Final = re.compile(r"((?:[^'\\]|''|\\.)*)'(?!')", re.DOTALL)
_NEXT_PART: Final = re.compile(r"(?:[ \t\f\v]|--[^\n\r]*)*[\n\r](?:[ \t\n\r\f\v]|--[^\n\r]*[\n\r])*'")
_UESCAPE: Final = re.compile(r"""[ \t\n\r\f\v]*UESCAPE[ \t\n\r\f\v]*'([^'"+\da-fA-F\s])'(?!')""", re.IGNORECASE)
_ESCAPE: Final = re.compile(
    rb"''|\\(?:([0-7]{1,3})|x([\da-fA-F]{1,2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.))", re.DOTALL
)
_SIGNS: Final = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def plain_texts(sql: str, dialect: str) -> str:
    r"""Return a query with each text in the one form '…', as it stands or as it is meant.

    These are `E'…'`, `U&'…'`, `N'…'` and `$tag$…$tag$`, and texts that go on after a line's end. Bytes as `\xc3` are of
    UTF-8, as PostgreSQL's databases have it by default.

    Args:
        sql: the query.
        dialect: "postgres" or "duckdb".

    Raises:
        TokenError: a text has no end, or an escape that means nothing; sqlglot's error.

    Example:
        >>> plain_texts(r"SELECT E'it\'s', $$a;b$$", "postgres")
        "SELECT  'it''s' ,  'a;b' "
    """
    made, at = list[str](), 0
    while found := _TOKEN.search(sql, at):
        made.append(sql[at : found.start()])
        start, at = found.span()
        kind, tag = (found["kind"] or "").lower(), found["tag"]
        meant: str | None = None
        if found["comment"]:
            at = _comment_end(sql, at)
        elif tag is not None:
            at, meant = _read_dollars(sql, at, tag)
        elif found["kind"] is not None:
            parts, at = _read_parts(sql, at, _ESCAPED_REST if kind == "e" else _REST)
            if kind == "e":
                meant = _unescaped(parts, dialect)
            elif kind == "u&" and dialect == "postgres":
                escape = _UESCAPE.match(sql, at)
                meant, at = _code_points(parts, escape[1] if escape else "\\"), escape.end() if escape else at
            elif (kind == "n" and dialect == "postgres") or (kind == "" and len(parts) > 1):
                meant = "".join(parts).replace("''", "'")
        made.append(sql[start:at] if meant is None else f" '{meant.replace(chr(39), chr(39) * 2)}' ")
    return "".join([*made, sql[at:]])


def quoted(text: str) -> str:
    r"""Return the literal of a text with characters that cannot be seen.

    Example:
        >>> print(quoted("it's\x08"))
        E'it''s\x08'
    """
    shown = text.replace("\\", r"\\").replace("'", "''")
    return f"E'{CONTROL.sub(_hexadecimal, shown)}'"


def _hexadecimal(found: re.Match[str]) -> str:
    return "".join(rf"\x{each:02x}" for each in found.group().encode())


def _error(reason: str) -> TokenError:
    from sqlglot.errors import TokenError  # an extra

    return TokenError(reason)


def _comment_end(sql: str, at: int) -> int:
    """Return the end of a comment, in which others may stand."""
    depth = 1
    while depth and (found := _COMMENT.search(sql, at)):
        depth, at = depth + (1 if found.group() == "/*" else -1), found.end()
    return at if not depth else len(sql)


def _read_dollars(sql: str, at: int, tag: str) -> tuple[int, str]:
    """Read the rest of $tag$…$tag$."""
    end = sql.find(f"${tag}$", at)
    if end < 0:
        raise _error(f"a text in ${tag}$ has no end")
    return end + len(tag) + 2, sql[at:end]


def _read_parts(sql: str, at: int, rest: re.Pattern[str]) -> tuple[list[str], int]:
    """Read the rest of a text whose first quote was read, with its parts in the lines that follow."""
    parts = list[str]()
    while found := rest.match(sql, at):
        parts.append(found[1])
        following = _NEXT_PART.match(sql, found.end())
        if following is None:
            return parts, found.end()
        at = following.end()
    raise _error("a text has no end")


def _unescaped(parts: list[str], dialect: str) -> str:
    r"""Return the meaning of the parts of E'…'."""

    def meaning(found: re.Match[bytes]) -> bytes:
        octal, byte, short, long, sign = found.groups()
        if dialect == "duckdb" and (short or long or sign == b"v"):  # there these are letters
            raise _error(f"duckdb has no escape {found.group().decode()}")
        if short or long:
            return chr(int(short or long, 16)).encode("utf-8", "surrogatepass")
        if octal or byte:
            return bytes([int(octal, 8) & 255 if octal else int(byte, 16)])
        if sign in (b"u", b"U"):
            raise _error("E'…' has \\u with four digits, \\U with eight")
        return _SIGNS.get(sign, sign) if sign else b"'"

    return _joined(lambda: b"".join(_ESCAPE.sub(meaning, each.encode()) for each in parts))


def _code_points(parts: list[str], escape: str) -> str:
    """Return the meaning of the parts of U&'…'."""
    sign = re.escape(escape)
    codes = re.compile(rf"{sign}(?:([\da-fA-F]{{4}})|\+([\da-fA-F]{{6}})|({sign})|)")

    def meaning(found: re.Match[str]) -> str:
        short, long, itself = found.groups()
        if not (short or long or itself):
            raise _error(f"U&'…' has {escape} with four digits, {escape}+ with six, or {escape}{escape}")
        return itself or chr(int(short or long, 16))

    written = "".join(parts).replace("''", "'")
    return _joined(lambda: codes.sub(meaning, written).encode("utf-8", "surrogatepass"))


def _joined(text: Callable[[], bytes]) -> str:
    """Return a text that an escape may have made, with the two halves of a character as one."""
    try:
        found = text().decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16")
    except ValueError:
        raise _error("an escape is no character") from None
    if "\0" in found:
        raise _error("an escape is the character \\0")
    return found
