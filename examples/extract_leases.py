"""From a folder of leases to a table that a spreadsheet opens, with a list of what a person should look at.

    python examples/extract_leases.py letters/ --output leases.csv

The fields are those of a pydantic class. Every value stands in its document; what could not be found stays empty.
"""

from __future__ import annotations

import argparse
import csv
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from trivium.commander import run_sync
from trivium.extraction import Case, Outcome, extract_files, extraction_task, fields_from_model
from trivium.knowledge import read
from trivium.llms import resolve


class Lease(BaseModel):
    tenant: str = Field(description="full name of the tenant")
    rent: str = Field(description="what is paid each month", json_schema_extra={"format": "money"})
    starts: date = Field(description="when the lease begins")


FIELDS = fields_from_model(Lease)


def open_case(path: Path) -> Case:
    return Case(read(path), FIELDS)


def as_row(record: dict[str, Any]) -> list[Any]:
    """The values of a record, the money as two columns."""
    values = {name: entry["value"] for name, entry in record["fields"].items()}
    rent = values["rent"] or {"amount": None, "currency": None}
    return [record["source"], values["tenant"], rent["amount"], rent["currency"], values["starts"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path, default=Path("leases.csv"))
    parser.add_argument("--model", default="default", help="a name of `trivium models list`, a .gguf, openai:NAME")
    parser.add_argument("--base-url", help="an OpenAI-compatible server")
    options = parser.parse_args()

    task = extraction_task(FIELDS, resolve(options.model, options.base_url))
    outcomes: list[Outcome] = []
    paths = sorted(path for path in options.folder.iterdir() if path.is_file())
    run_sync(extract_files, task, paths, open_case, on_outcome=outcomes.append)

    with options.output.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["document", "tenant", "rent", "currency", "starts"])
        rows.writerows(as_row(outcome.record) for outcome in outcomes if outcome.record is not None)

    for outcome in outcomes:
        if outcome.record is None:
            print(outcome.error)
            continue
        for name, reason in outcome.record["refused"].items():
            print(f"{outcome.path.name}: look at {name}: {reason}")
    print(f"{sum(outcome.record is not None for outcome in outcomes)} leases in {options.output}")


if __name__ == "__main__":
    main()
