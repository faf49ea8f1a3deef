"""Records as rows of a flat table: plain columns for CSV, spreadsheets and Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from trivium.exceptions import FieldsError
from trivium.extraction import Field

Record: TypeAlias = dict[str, Any]
"""A record of `extract_file`: the source, the fields, and the reasons of refusals."""

PLACES = ("page", "line", "quote", "attachment")
_EMPTY: Mapping[str, Any] = dict.fromkeys(("value", *PLACES))
_KINDS = {"page": "integer", "line": "integer", "confidence": "number"}


class Columns:
    """The columns of some fields: the source, then the value of each and its place, then the refusals.

    Money has the amount in its own column, and the currency in one beside it. A group has the columns of its parts.
    With line items a record has a row for each of them; the other values are in each of these rows, which `row` counts.

    Args:
        fields: the fields of each record.
        confidence: a column with the confidence of each value, too.

    Attributes:
        kinds: the kind of the values of each column, by its name.
        names: the names of the columns.
        places: the columns that each value has beside it.

    Raises:
        FieldsError: two columns would have one name, so that nobody could tell which of them is meant.

    >>> from trivium.extraction import parse_fields
    >>> Columns(parse_fields("rent: money")).names
    ['source', 'rent', 'rent_currency', 'rent_page', 'rent_line', 'rent_quote', 'rent_attachment', 'refused']
    """

    def __init__(self, fields: Sequence[Field], *, confidence: bool = False) -> None:
        self._fields = tuple(fields)
        self.places = (*PLACES, "confidence") if confidence else PLACES
        self._rows = [field.name for field in fields if field.kind == "list" and field.columns]
        self.kinds: dict[str, str] = {"source": "text"}
        if self._rows:
            self.kinds["row"] = "integer"
        for field in fields:
            for part in field.columns:
                self._add(f"{field.name}.{part.name}", part)
            if not field.columns:
                self._add(field.name, field)
        self.names = [*self.kinds, "refused"]

    def rows(self, record: Record) -> Iterator[list[Any]]:
        """Yield the rows of a record: one, or one for each line item."""
        entries = record["fields"]
        count = max([1, *(len(entries[name].get("parts", ())) for name in self._rows)])
        refused = json.dumps(record["refused"], ensure_ascii=False) if record["refused"] else None
        for row in range(count):
            cells = [cell for field in self._fields for cell in self._cells_of(field, entries[field.name], row)]
            yield [record["source"], *([row + 1] if self._rows else []), *cells, refused]

    def _add(self, name: str, field: Field) -> None:
        currency = {f"{name}_currency": "text"} if field.kind == "money" else {}
        kind = "number" if field.kind == "money" else field.kind
        added = {name: kind, **currency, **{f"{name}_{part}": _KINDS.get(part, "text") for part in self.places}}
        if taken := [each for each in added if each in self.kinds or each == "refused"]:
            raise FieldsError(
                f"a table would have two columns '{taken[0]}': give the field of that name another one, or write JSON "
                "lines (--output ….jsonl)"
            )
        self.kinds.update(added)

    def _cells_of(self, field: Field, entry: Mapping[str, Any], row: int) -> Iterator[Any]:
        """Yield the cells of a field in one row; of line items those of the item that stands there."""
        if not field.columns:
            value = entry["value"]
            yield from (value or {"amount": None, "currency": None}).values() if field.kind == "money" else (value,)
            yield from (entry.get(part) for part in self.places)
            return
        found: Any = entry.get("parts", ())
        groups: Sequence[Mapping[str, Any]] = found if field.kind == "list" else [found or {}]
        parts = groups[row] if row < len(groups) else groups[0] if field.kind == "group" else {}
        for part in field.columns:
            yield from self._cells_of(part, parts.get(part.name, _EMPTY), row)
