"""Dates of documents: from the notations of the formats to ISO 8601."""

from __future__ import annotations

import datetime
from email.utils import parsedate_to_datetime


def iso_date(given: object) -> str | None:
    """Return a date or time in ISO 8601, without a time at midnight; None if it is not a date.

    >>> iso_date("2024-03-01T00:00:00"), iso_date(" 2024-03-01T10:30:00Z"), iso_date("last week")
    ('2024-03-01', '2024-03-01T10:30:00+00:00', None)
    """
    if isinstance(given, str):
        try:
            given = datetime.datetime.fromisoformat(given.strip()[:40])
        except ValueError:
            return None
    if isinstance(given, datetime.datetime):
        is_day = given.time() == datetime.time() and given.tzinfo is None
        return (given.date() if is_day else given).isoformat()
    return given.isoformat() if isinstance(given, datetime.date) else None


def mail_date(given: str) -> str | None:
    """Return the date of an e-mail header in ISO 8601; None if it is not a date.

    >>> mail_date("Fri, 01 Mar 2024 10:30:00 +0100")
    '2024-03-01T10:30:00+01:00'
    """
    try:
        return parsedate_to_datetime(given[:200]).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
