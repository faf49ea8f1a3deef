"""The redaction of secrets in contents before they are recorded."""

from __future__ import annotations

import re
from typing import Any, Final, cast

from trivium.events import JSONObject

_HIDDEN: Final = "***"
_WORDS: Final = "(?:api|access|private|secret)[_-]?key|token|secret|passw(?:or)?d|passphrase|authorization|cookie"
_NAME: Final = re.compile(rf"(?:^|[_.-]|(?<=[a-z])(?=[A-Z]))(?i:{_WORDS}|credentials?|signature)$")
_IN_JSON: Final = re.compile(rf'("[^"]*(?:{_WORDS})"\s*:\s*")(?:[^"\\]|\\.)+', re.IGNORECASE)
_VALUE: Final = re.compile(
    r"\b[srp]k-[\w-]{16,}|\bgh[opsur]_\w{30,}|\bxox[a-z]-[\w-]{10,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{30,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+|(?<=\bBearer )[\w.~+/=-]{8,}"
)
"""The forms of keys of large providers, JSON web tokens, and tokens after "Bearer"."""


def mask_secrets(value: object, name: str = "") -> Any:
    """Return JSON values with `***` in place of each secret: by the name that it has, or by its form.

    Example:
        >>> mask_secrets({"password": "x", "max_tokens": 5, "raw": '{"token": "x"}'})
        {'password': '***', 'max_tokens': 5, 'raw': '{"token": "***"}'}
    """
    if isinstance(value, str):
        return _HIDDEN if value and _NAME.search(name) else _VALUE.sub(_HIDDEN, _IN_JSON.sub(rf"\1{_HIDDEN}", value))
    if isinstance(value, dict):
        return {key: mask_secrets(each, key) for key, each in cast("JSONObject", value).items()}
    if isinstance(value, list):
        return [mask_secrets(each, name) for each in cast("list[object]", value)]
    return value
