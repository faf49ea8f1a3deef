"""What a run has brought so far, and when the failures of its model are enough."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from trivium.commander import Event
from trivium.exceptions import (
    ChecksumError,
    ConfigurationError,
    DownloadError,
    EngineError,
    MissingExtraError,
    ModelError,
    ModelNotFoundError,
    NoModelError,
    ProviderConnectionError,
    ProviderStatusError,
    TriviumError,
)
from trivium.extraction import NOT_STATED

__all__ = ["Patience", "Tally", "is_refusal"]

_HOPELESS = (
    ChecksumError, ConfigurationError, DownloadError, EngineError, MissingExtraError, ModelNotFoundError, NoModelError,
)  # fmt: skip
_OF_THE_QUESTION = {400, 413, 422}
_OF_THE_MOMENT = {408, 409, 429}


def is_refusal(reason: str) -> bool:
    """Whether a value was proposed and turned down, rather than none proposed."""
    return reason != NOT_STATED


class Tally:
    """The records of a run and their counts, for the table and the summary."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.counts: Counter[str] = Counter()
        self.records: dict[str, dict[str, Any]] = {}

    def hear(self, event: Event) -> None:
        """Count tokens: a listener of the run."""
        if event.usage is not None:
            self.counts["tokens"] += event.usage.total

    def add(self, record: dict[str, Any]) -> None:
        """Count the record of one file, each field once: a list that is backed in part has a value."""
        self.records[record["source"]] = record
        empty = [name for name, entry in record["fields"].items() if entry["value"] is None]
        refused = sum(is_refusal(record["refused"].get(name, NOT_STATED)) for name in empty)
        fields = len(record["fields"])
        self.counts.update(files=1, fields=fields, backed=fields - len(empty), refused=refused)
        self.counts["not_stated"] += len(empty) - refused

    def summary(self) -> dict[str, Any]:
        """The counts, as `--json` gives them; `seconds` is the time since the start."""
        names = ("files", "fields", "backed", "refused", "not_stated", "failed", "skipped", "tokens")
        return {**{name: self.counts[name] for name in names}, "seconds": round(time.monotonic() - self._began, 1)}

    def line(self) -> str:
        """The summary for people."""
        counts = self.summary()
        if counts["skipped"] and not counts["files"] + counts["failed"]:
            return f"nothing is left to do: {_plural(counts['skipped'], 'files')} finished before"
        text = "{files}, {fields}: {backed} backed, {refused} refused, {not_stated} not stated; {seconds} s, {tokens}"
        named = {name: _plural(counts[name], name) for name in ("files", "fields", "tokens")}
        parts = [text.format(**{**counts, **named})]
        if counts["failed"]:
            parts.append(f"{_plural(counts['failed'], 'files')} failed, see above")
        if counts["skipped"]:
            parts.append(f"{_plural(counts['skipped'], 'files')} finished before")
        return "; ".join(parts)


def _plural(count: int, names: str) -> str:
    return f"{count:,} {names if count != 1 else names.removesuffix('s')}"


class Patience:
    """Decides when an error ends the run: what is wrong with a document never does.

    A model that cannot work at all ends it at once. A server that fails now and then is given as many
    documents in a row as `LONGEST_ROW`; so is a model that has not brought a single record yet, for a question
    that is refused or an answer that is none may be due to one document.
    """

    LONGEST_ROW = 3

    def __init__(self) -> None:
        self._has_worked = False
        self._row = 0

    def worked(self) -> None:
        """A record came."""
        self._has_worked, self._row = True, 0

    def is_over(self, error: TriviumError) -> bool:
        """Whether no further document is to be tried."""
        if _is_hopeless(error) or (isinstance(error, ProviderConnectionError) and not self._has_worked):
            return True
        if not isinstance(error, ModelError):
            return False
        self._row += 1
        return self._row >= self.LONGEST_ROW and (not self._has_worked or _is_of_the_server(error))


def _is_hopeless(error: TriviumError) -> bool:
    if isinstance(error, MissingExtraError):
        return error.extra == "local"  # a reader that is missing concerns only its documents
    if isinstance(error, ProviderStatusError):
        return error.status < 500 and error.status not in _OF_THE_QUESTION | _OF_THE_MOMENT
    return isinstance(error, _HOPELESS)


def _is_of_the_server(error: ModelError) -> bool:
    if isinstance(error, ProviderStatusError):
        return error.status not in _OF_THE_QUESTION
    return isinstance(error, ProviderConnectionError)
