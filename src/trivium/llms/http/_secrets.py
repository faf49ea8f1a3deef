"""Secrets of a request: found in its address and headers, redacted in logs and errors."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

HIDDEN: Final = "***"
_NAME: Final = re.compile("key|token|secret|signature|passw|auth|cookie|credential", re.IGNORECASE)

_LONG: Final = 6
"""Characters of a secret that stands in no other word by chance."""
_BEFORE: Final = "|".join(
    (r"(?<![^\W_])", r"(?<=%[\dA-Fa-f]{2})", r"(?<=\\[bfnrt])", r"(?<=\\u[\dA-Fa-f]{4})", r"(?<=\\x[\dA-Fa-f]{2})")
)
"""The beginning of a word, also after a character that an address or JSON has escaped."""


def is_secret(name: str) -> bool:
    """Tell by its name whether a header or a parameter holds a secret.

    Example:
        >>> [name for name in ("X-Api-Key", "accept", "access_token") if is_secret(name)]
        ['X-Api-Key', 'access_token']
    """
    return _NAME.search(name) is not None


def secrets_of(url: str, headers: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield the secrets in an address and in headers, in the forms in which they are sent."""
    parts = urlsplit(url)
    if parts.password:
        login = f"{unquote(parts.username or '')}:{unquote(parts.password)}"
        yield from (parts.password, unquote(parts.password), b64encode(login.encode()).decode())
    for name, value in parse_qsl(parts.query):
        if is_secret(name):
            yield from (value, quote(value, safe=""))
    for name, value in (headers or {}).items():
        if is_secret(name):
            yield from (value, value.rpartition(" ")[2])
        if name.lower() == "cookie":
            cookies = (each.partition("=")[2].strip() for each in value.split(";"))
            yield from (each for each in cookies if len(each) >= _LONG)  # a shorter one may be any word


def redact_url(url: str) -> str:
    """Return an address without user and password, and with `***` for each secret parameter."""
    parts = urlsplit(url)
    query = [(name, HIDDEN if is_secret(name) else value) for name, value in parse_qsl(parts.query, True)]
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=urlencode(query, safe="*")))


def redact(text: str, secrets: Iterable[str]) -> str:
    """Replace every secret in a text by `***`; a short one, as servers that need no key are given, as a whole word.

    Example:
        >>> redact("no answer from http://host/chat?key=a", ["a"])
        'no answer from http://host/chat?key=***'
    """
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        if len(secret) >= _LONG:
            text = text.replace(secret, HIDDEN)
        else:
            text = re.sub(rf"(?:{_BEFORE}){re.escape(secret)}(?![^\W_])", HIDDEN, text)
    return text
