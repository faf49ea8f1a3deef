"""What a search in the source finds: evidence of a value, or the reason of its refusal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias, cast

NOT_STATED = "the document does not state it"
"""The reason of a refusal if nothing was proposed: there is nothing to ask again about."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A value that is in the source: `text[start:end] == quote`, always.

    Args:
        value: the value in its normal form, ready for JSON.
        quote: the words of the source, unchanged.
        start: the offset at which the quote begins in the source.
        end: the offset at which it ends.
        others: other values that the quote may mean, such as the other day of 05/06/2024.
    """

    value: Any
    quote: str
    start: int
    end: int
    others: tuple[Any, ...] = ()

    def in_currency(self, code: str) -> Self:
        """Return an amount of money that has no currency as one in this; anything else as it is."""
        value: Any = self.value  # pyright narrows an attribute to an unknown mapping
        is_bare = isinstance(value, Mapping) and cast("Mapping[str, Any]", value).get("currency", "") is None
        return replace(self, value={**value, "currency": code}) if is_bare else self


@dataclass(frozen=True, slots=True)
class GroupEvidence:
    """Values that belong together, at least one of them in the source; each of the others has a refusal.

    Args:
        parts: the evidence or the refusal of each part of the group.
    """

    parts: Mapping[str, Evidence | Refusal]

    @property
    def found(self) -> list[Evidence]:
        """The evidence of the parts that are in the source."""
        return [part for part in self.parts.values() if isinstance(part, Evidence)]

    @property
    def value(self) -> dict[str, Any]:
        """The value of each part; None if it has none."""
        return {name: part.value if isinstance(part, Evidence) else None for name, part in self.parts.items()}

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """One for each proposed value that was not accepted."""
        return tuple(
            Refusal(f"{name}: {part.reason}")
            for name, part in self.parts.items()
            if isinstance(part, Refusal) and part.reason != NOT_STATED
        )

    def in_currency(self, code: str) -> Self:
        """Return the group with its amounts that have no currency in this one."""
        return replace(self, parts={name: part.in_currency(code) for name, part in self.parts.items()})


@dataclass(frozen=True, slots=True)
class ListEvidence:
    """A list with at least one item in the source; the others are left out, each with a refusal.

    Args:
        items: the items that are in the source, each place once, in the proposed order.
        refusals: one for each item, or value of an item, that was left out, and one if the list was full, so that
            more may be missing.
    """

    items: tuple[Evidence | GroupEvidence, ...]
    refusals: tuple[Refusal, ...] = ()

    @property
    def value(self) -> list[Any]:
        """The values of the items."""
        return [item.value for item in self.items]

    def in_currency(self, code: str) -> Self:
        """Return the list with its amounts that have no currency in this one."""
        return replace(self, items=tuple(item.in_currency(code) for item in self.items))


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason for which a proposed value is not accepted, in words for the model and the user.

    Args:
        reason: one short line.
    """

    reason: str

    def in_currency(self, code: str) -> Self:
        """Return the refusal: it has no amount."""
        return self


Finding: TypeAlias = Evidence | GroupEvidence | ListEvidence | Refusal
"""The judgement of a proposed value."""


def evidence_in(finding: Finding) -> list[Evidence]:
    """Return all evidence of a finding, in its order."""
    if isinstance(finding, ListEvidence):
        return [each for item in finding.items for each in evidence_in(item)]
    return finding.found if isinstance(finding, GroupEvidence) else [finding] if isinstance(finding, Evidence) else []
