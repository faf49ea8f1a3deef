"""The commands and their options, and what every command does with an error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from trivium import __version__
from trivium.cli import _extract, _models
from trivium.cli._screen import say
from trivium.exceptions import ConfigurationError, RunKilledError, TriviumError

__all__ = ["app", "run"]

INTERRUPTED = 130
USAGE = 2

app = typer.Typer(
    help="Language-model agents on your own documents.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
models = typer.Typer(help="Models that run on this machine.", no_args_is_help=True)
app.add_typer(models, name="models")


_Name = Annotated[str, typer.Argument(help="A name of `trivium models list`.")]


class Format(str, Enum):
    """How records are written."""

    jsonl = "jsonl"
    csv = "csv"
    table = "table"


def run(arguments: Sequence[str]) -> int:
    """Run the command; returns its exit status.

    A known error is one line on stderr, and status 1 (2 for a wrong option); a traceback comes only with
    `--debug`. Ctrl-C is status 130.
    """
    debug = "--debug" in arguments
    try:
        return app(args=[each for each in arguments if each != "--debug"], standalone_mode=False) or 0
    except typer.Exit as exit_:
        return exit_.exit_code
    except (KeyboardInterrupt, typer.Abort, RunKilledError):
        say("interrupted")
        return INTERRUPTED
    except Exception as error:
        if debug:
            raise
        return _report(error)


def _report(error: Exception) -> int:
    if hasattr(error, "format_message"):  # an error of the option parser
        say(f"error: {error.format_message()}")  # type: ignore[attr-defined]
        return USAGE
    if isinstance(error, TriviumError):
        say(f"error: {' '.join(str(error).split())}")
        return USAGE if isinstance(error, ConfigurationError) else 1
    say(f"error: {type(error).__name__}: {error}; this is a fault of trivium: run again with --debug and report it")
    return 1


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"trivium {__version__}\n")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Language-model agents on your own documents. Add --debug to any command to see tracebacks."""


def _option(text: str, **settings: Any) -> Any:
    return typer.Option(help=text, show_default=False, **settings)


@app.command("extract")
def _extract_command(
    files: Annotated[list[Path], typer.Argument(help="Documents, or folders of documents.")],
    fields: Annotated[str | None, _option("'tenant, rent: money, starts: date, kind: lease|sale (what it is)'")] = None,
    schema: Annotated[str | None, _option("model.py:Class (pydantic), or a JSON schema file.")] = None,
    model: Annotated[str | None, _option("A name of `trivium models list`, a .gguf file, openai:NAME.")] = None,
    base_url: Annotated[str | None, _option("An OpenAI-compatible server.")] = None,
    output: Annotated[Path | None, _option("Write records there; an interrupted run goes on there.")] = None,
    format: Annotated[Format | None, _option("Default: by the suffix of --output, else a table.")] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Begin --output anew.")] = False,
    json: Annotated[bool, typer.Option("--json", help="JSON lines and a JSON summary on stdout.")] = False,
    tree: Annotated[bool, typer.Option("--tree", help="Show the run tree with time and tokens.")] = False,
    at_once: Annotated[int | None, _option("Documents worked on at the same time.", min=1)] = None,
    tries: Annotated[int, typer.Option(min=1, help="How often values may be asked for.")] = 2,
    max_megabytes: Annotated[int, typer.Option(min=1, help="The largest document that is read.")] = 32,
) -> int:
    """Extract fields from documents; every value is backed by its place in the text, or is empty."""
    shape = format.value if format else None
    options = _extract.Options(
        fields, schema, model, base_url, output, shape, restart, json, tree, at_once, tries, max_megabytes
    )
    return _extract.extract(files, options)


def _json_option() -> Any:
    return typer.Option("--json", help="JSON on stdout.")


@models.command("list")
def _list(json: Annotated[bool, _json_option()] = False) -> None:
    """Show the models that can be fetched, and which are here."""
    _models.show(json)


@models.command("fetch")
def _fetch(name: _Name = "default") -> None:
    """Fetch a model, verified by its checksum; an interrupted download goes on."""
    _models.fetch(name)


@models.command("path")
def _path(name: _Name = "default") -> None:
    """Print where a model's file is."""
    _models.path(name)


@models.command("remove")
def _remove(name: _Name) -> None:
    """Delete a model's file."""
    _models.remove(name)
