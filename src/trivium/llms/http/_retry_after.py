"""How long a server wants to be left alone, in all the forms in which servers say so. No I/O."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

__all__ = ["seconds_in", "seconds_to_wait"]

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
    """Seconds for which a server wants to be left alone; 0 where it says nothing that can be read.

    The first that is said counts: `retry-after-ms`, `retry-after`, the body's own word (`retryDelay` of Google's
    interface, "try again in 7.5s"), and the time at which the buckets are full again that the headers call empty.

    Args:
        headers: those of the answer, with names in small letters, or that do not care.
        raw: its body.
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
    """The seconds from now that a text means: a number, a duration ("6m0s"), a point in time, or a date.

    What is past is 0; None where it is nothing of these.

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
    """A date as HTTP writes it, or as RFC 3339 does."""
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        with suppress(ValueError, TypeError, OverflowError, IndexError):
            found = read(text)
            return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return None
