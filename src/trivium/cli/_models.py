"""`trivium models`: what can be fetched, and what is here."""

from __future__ import annotations

import json
import sys

from rich.progress import DownloadColumn, TextColumn, TransferSpeedColumn
from rich.table import Table

from trivium.cli._screen import bar, say, stdout
from trivium.llms import ModelStore, Progress

__all__ = ["fetch", "path", "remove", "show"]


def show(as_json: bool) -> None:
    """List the models of the catalogue."""
    found = ModelStore().list()
    if as_json:
        rows = [{**each._asdict(), "path": str(each.path)} for each in found]
        sys.stdout.write(json.dumps(rows) + "\n")
        return
    table = Table("model", "size", "here", "file")
    for each in found:
        table.add_row(each.name, f"{each.bytes / 1e6:,.0f} MB", "yes" if each.present else "no", str(each.path))
    stdout().print(table)


def fetch(name: str) -> None:
    """Fetch a model with a progress bar."""
    columns = (TextColumn("{task.description}"), DownloadColumn(), TransferSpeedColumn())
    with bar(*columns) as progress:
        task = progress.add_task(f"looking for {name}", total=None)

        def shown(state: Progress) -> None:
            progress.update(
                task, completed=state.done_bytes, total=state.total_bytes, description=f"{name} from {state.source}"
            )

        file = ModelStore().fetch(name, progress=shown)
    say(f"{name} is here and verified: {file}")


def path(name: str) -> None:
    """Print the path of a model that is here."""
    sys.stdout.write(f"{ModelStore().path(name)}\n")


def remove(name: str) -> None:
    """Delete a model."""
    say(f"{name} is removed" if ModelStore().remove(name) else f"{name} was not here")
