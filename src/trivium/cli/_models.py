"""`trivium models`: list, fetch and remove the models that run on this machine."""

from __future__ import annotations

import json
import sys

from rich import box
from rich.progress import DownloadColumn, TextColumn, TransferSpeedColumn
from rich.table import Table

from trivium.cli._screen import bar, stdout, write_line
from trivium.llms import ModelStore, Progress
from trivium.llms.lowlevel import CATALOGUE


def list_models(as_json: bool) -> None:
    """List the models of the catalogue."""
    store = ModelStore()
    aliases = {entry.name: entry.alias for entry in CATALOGUE}
    found = [(aliases[each.name], each) for each in store.list()]
    if as_json:
        rows = [{**each._asdict(), "alias": alias, "path": str(each.path)} for alias, each in found]
        sys.stdout.write(json.dumps(rows) + "\n")
        return
    table = Table("name", "or", "size", "here", box=box.HORIZONTALS, border_style="dim")
    for alias, each in found:
        table.add_row(each.name, alias, f"{each.bytes / 1e6:,.0f} MB", "yes" if each.present else "no")
    stdout().print(table)
    write_line(f"the folder is {store.folder}; `trivium models fetch NAME` brings one there")


def fetch_model(name: str) -> None:
    """Fetch a model with a progress bar."""
    columns = (TextColumn("{task.description}"), DownloadColumn(), TransferSpeedColumn())
    sources: set[str] = set()
    with bar(*columns) as progress:
        task = progress.add_task(f"looking for {name}", total=None)

        def update(state: Progress) -> None:
            what = f"{name} from {state.source}"
            progress.update(task, completed=state.done_bytes, total=state.total_bytes, description=what)
            if progress.disable and state.source not in sources:  # no bar: a line, for it takes minutes
                write_line(f"fetching {what}, {state.total_bytes / 1e6:,.0f} MB")
            sources.add(state.source)

        file = ModelStore().fetch(name, progress=update)
    write_line(f"{name} is here and verified: {file}")


def print_path(name: str) -> None:
    """Print the path of a model that is here."""
    sys.stdout.write(f"{ModelStore().path(name)}\n")


def remove_model(name: str) -> None:
    """Delete a model."""
    write_line(f"{name} is removed" if ModelStore().remove(name) else f"{name} was not here")
