"""Delays that servers request before a retry, in all forms that they use. No I/O."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

_EPOCH: Final = 1e9
"""Numbers from here on are points in time (seconds since 1970; a thousand times as much: milliseconds)."""
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SHORT: Final = {"ms": "ms", "second": "s", "minute": "m", "hour": "h"}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_DURATION: Final = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")
_IN_JSON: Final = re.compile(r'"retry_?[dD]elay"\s*:\s*"([\d.hms]{1,20})"')
_IN_TEXT: Final = re.compile(
    r"(?:try again|retry) (?:in|after) "
    r"(?:((?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+)\b|(\d+(?:\.\d+)?) ?(ms|second|minute|hour))",
    re.IGNORECASE,
)
_BUCKETS: Final = (
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    *((f"x-ratelimit-remaining-{each}", f"x-ratelimit-reset-{each}") for each in ("requests", "tokens")),
    *(
        (f"anthropic-ratelimit-{each}-remaining", f"anthropic-ratelimit-{each}-reset")
        for each in ("requests", "tokens", "input-tokens", "output-tokens")
    ),
)


def seconds_to_wait(headers: Mapping[str, str], raw: str = "") -> float:
    """Return the seconds that a server requests before a retry; 0 if it requests none.

    The first of these counts: `retry-after-ms`, `retry-after`, a delay in the body (`retryDelay` of Google's interface,
    "try again in 7.5s"), and the reset times of the rate limits that the headers report as used up.

    Args:
        headers: headers of the response, by lower-case names or case-insensitive.
        raw: body of the response.
    """
    if (value := seconds_in(headers.get("retry-after-ms", ""))) is not None:
        return value / 1000
    if (value := seconds_in(headers.get("retry-after", ""))) is not None:
        return value
    if (found := _IN_JSON.search(raw)) and (value := seconds_in(found[1])) is not None:
        return value
    if found := _IN_TEXT.search(raw):
        return seconds_in((found[1] or f"{found[2]}{_SHORT[found[3].lower()]}").lower()) or 0.0
    empty = [reset for remaining, reset in _BUCKETS if headers.get(remaining, "").strip() == "0"]
    return max((seconds_in(headers.get(reset, "")) or 0.0 for reset in empty), default=0.0)


def seconds_in(text: str) -> float | None:
    """Parse a number, a duration ("6m0s"), a timestamp or a date as seconds from now.

    The past is 0; None for any other text.

    Example:
        >>> seconds_in("1m30s"), seconds_in("-5"), seconds_in("soon")
        (90.0, 0.0, None)
    """
    text = text.strip()
    with suppress(ValueError):
        number = float(text)
        if number >= _EPOCH:
            number = (number / 1000 if number >= 1000 * _EPOCH else number) - datetime.now(UTC).timestamp()
        return max(0.0, number) if math.isfinite(number) else None
    if _DURATION.fullmatch(text):
        return sum(float(count) * _UNITS[unit] for count, unit in _PART.findall(text))
    when = _date(text)
    return None if when is None else max(0.0, (when - datetime.now(UTC)).total_seconds())


def _date(text: str) -> datetime | None:
    """Parse a date of HTTP or of RFC 3339."""
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        with suppress(ValueError, TypeError, OverflowError, IndexError):
            found = read(text)
            return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return None
