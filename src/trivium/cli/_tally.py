"""The counts of a run, and the decision when the failures of its model end it."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from trivium.cli._screen import in_words
from trivium.commander import Event
from trivium.exceptions import (
    AnswerBrokeOffError,
    ChecksumError,
    ConfigurationError,
    DownloadError,
    EngineError,
    JournalError,
    MissingExtraError,
    ModelError,
    ModelNotFoundError,
    NoModelError,
    ProviderConnectionError,
    ProviderStatusError,
    TriviumError,
)
from trivium.extraction import NOT_STATED

_FATAL = (
    ChecksumError, ConfigurationError, DownloadError, EngineError, MissingExtraError, ModelNotFoundError, NoModelError,
)  # fmt: skip
_OF_THE_QUESTION = {400, 413, 422}
_OF_THE_MOMENT = {408, 409, 429}
_MINUTES = 100
"""The seconds from which a time is told in minutes."""


def is_refusal(reason: str) -> bool:
    """Test whether a value was proposed and refused; else none was proposed."""
    return reason != NOT_STATED


class Tally:
    """The records of a run and their counts, for the table and the summary."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.counts: Counter[str] = Counter()
        self.records: dict[str, dict[str, Any]] = {}

    def receive(self, event: Event) -> None:
        """Count tokens: a listener of the run."""
        if event.usage is not None:
            self.counts["tokens"] += event.usage.total

    def add(self, record: dict[str, Any]) -> None:
        """Count the record of one file, each field once: a list that is supported in part has a value."""
        self.records[record["source"]] = record
        empty = [name for name, entry in record["fields"].items() if entry["value"] is None]
        refused = sum(is_refusal(record["refused"].get(name, NOT_STATED)) for name in empty)
        fields = len(record["fields"])
        self.counts["in_part"] += sum(name not in empty for name in record["refused"])
        self.counts.update(files=1, fields=fields, backed=fields - len(empty), refused=refused)
        self.counts["not_stated"] += len(empty) - refused

    def summary(self) -> dict[str, Any]:
        """Return the counts for `--json`; `seconds` is the time since the start."""
        names = ("files", "fields", "backed", "refused", "not_stated", "failed", "skipped", "tokens")
        return {**{name: self.counts[name] for name in names}, "seconds": round(time.monotonic() - self._began, 1)}

    def time_left(self, done: int, total: int) -> str:
        """Write how long the rest will take, by the documents that are done."""
        seconds = (time.monotonic() - self._began) * (total - done) / done
        return f"{seconds:.0f} s" if seconds < _MINUTES else f"{seconds / 60:.0f} min"

    def line(self) -> str:
        """Write the summary for the user."""
        counts = self.summary()
        if counts["skipped"] and not counts["files"] + counts["failed"]:
            return f"nothing is left to do: {in_words(counts['skipped'], 'files')} finished before"
        text = "{files}, {fields}: {backed} backed{part}, {refused} refused, {not_stated} not stated"
        named = {name: in_words(counts[name], name) for name in ("files", "fields", "tokens")}
        part = f" ({self.counts['in_part']} in part)" if self.counts["in_part"] else ""
        parts = [text.format(**{**counts, **named, "part": part}), f"{counts['seconds']} s, {named['tokens']}"]
        if counts["failed"]:
            folders = self.counts["folders"]
            failed = {"files": counts["failed"] - folders, "folders": folders}
            named = " and ".join(in_words(count, name) for name, count in failed.items() if count)
            parts.append(f"{named} failed, see above")
        if counts["skipped"]:
            parts.append(f"{in_words(counts['skipped'], 'files')} finished before")
        return "; ".join(parts)


class Patience:
    """Decides when an error ends the run; an error of a document never does.

    A model that cannot work at all ends it at once. A server that fails sometimes ends it after `LONGEST_ROW` documents
    in a row; so does a model that has made no record yet, since a refused request or an invalid answer may be due to
    one document.
    """

    LONGEST_ROW = 3

    def __init__(self) -> None:
        self._has_worked = False
        self._row = 0

    def reset(self) -> None:
        """Reset the counts, after a record."""
        self._has_worked, self._row = True, 0

    def is_exhausted(self, error: TriviumError) -> bool:
        """Count an error; return True if no further document is to be tried."""
        is_away = isinstance(error, ProviderConnectionError) and not isinstance(error, AnswerBrokeOffError)
        if is_fatal(error) or (is_away and not self._has_worked):
            return True
        if not isinstance(error, ModelError):
            return False
        self._row += 1
        is_of_server = is_away or (isinstance(error, ProviderStatusError) and error.status not in _OF_THE_QUESTION)
        return self._row >= self.LONGEST_ROW and (not self._has_worked or is_of_server)


def is_fatal(error: TriviumError) -> bool:
    """Test whether an error means that the model cannot work for any document."""
    if isinstance(error, MissingExtraError):
        return error.extra == "local"  # a missing reader concerns only the documents of its format
    if isinstance(error, ProviderStatusError):
        return error.status < 500 and error.status not in _OF_THE_QUESTION | _OF_THE_MOMENT
    return isinstance(error, _FATAL) or type(error) is JournalError  # the journal, and not one run of it
