"""The commands and their options, and the report of errors."""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from trivium import __version__
from trivium.cli import end_at_once_if_interrupted
from trivium.cli._ingest import EMBEDDING, INGEST_EXAMPLES, Encoding, Exclude, Include, ingest_command
from trivium.cli._run_commands import (
    COMMANDS,
    EVAL_EXAMPLES,
    RUNS_EXAMPLES,
    WORKER_EXAMPLES,
    eval_command,
    worker_command,
)
from trivium.cli._screen import as_error, prepare, show_log, silence, write_line
from trivium.events import safe_line
from trivium.exceptions import ConfigurationError, RunKilledError, TriviumError

FAILED, USAGE, INTERRUPTED = 1, 2, 130

_EXAMPLES = """\b
Examples:
  trivium extract letters/ --fields "tenant, rent: money, starts: date"
  trivium extract a.pdf b.docx --schema lease.py:Lease --output leases.csv
  trivium extract a.txt --fields "kind: lease|sale (what it is), names: list"
\b
Types: text (the default), number, integer, date, money, boolean, a|b|c,
  list, list of TYPE. A description may follow in parentheses.
Models: --model small, --model any.gguf, or a server:
  --model openai:NAME --base-url http://127.0.0.1:8000/v1
  --model scripted:FILE.json gives the answers in a file.
An interrupted run continues where it ended: give the same --output again.
Exit status: 0; 1 if a file failed or the run stopped; 2 for a wrong option;
  130 after Ctrl-C. --debug shows a traceback."""
_MODEL = "A name of `trivium models list`, a .gguf, openai:NAME; else $TRIVIUM_MODEL, else default, on this machine."
_MIN_CONFIDENCE = "Leave out values that are less likely right, from 0 to 1; else as it was measured."
_AT_ONCE = "Documents processed at once; each record is written when it is done."
_START = """\b
Start here:
  trivium models fetch
  trivium extract letters/ --fields "tenant, rent: money, starts: date"
  trivium ask letters/ "Who pays the most?"
\b
--debug, anywhere in the line, shows a traceback when something fails."""

app = typer.Typer(
    help="Language-model agents: get data from documents, ask them, chat, serve, evaluate, and inspect runs.",
    epilog=_START,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
_SERVE_EXAMPLES = """\b
Examples:
  trivium serve agents:writer
  trivium serve agents:make_writer --port 0 --allow temperature
  trivium serve agents:writer checker=agents:critic --journal runs.db
\b
Clients send "Authorization: Bearer TOKEN". OpenAI's take URL/v1 as base_url;
  POST /runs takes {"message": "…", "session_id": "ada"}, and GET
  /runs/ID/events streams what comes of it. MCP is at URL/mcp. AG-UI, the AI
  SDK and A2A are in the guide "Serving".
Exit status: 0 after SIGTERM; 1 if it fails; 2 for a wrong option or object;
  130 after Ctrl-C."""
_LARGEST = "The largest request: files and images come within one."
_PER_ADDRESS = "Of these from one address; a proxy has one."
_ACCESS = "The token of clients; else $TRIVIUM_SERVE_TOKEN, else one is made and shown. Other users can see arguments."
_USERS = "A file with a line NAME=TOKEN for each user, who then has runs, conversations and approvals of their own."
_APPROVER = "A user who decides on the calls of all users, who then decide on none; may be repeated."
_SERVED = "Where runs are written down, to go on after a restart: an SQLite file or the URL of a PostgreSQL database."
_WAIT = "Seconds that a run waits for an approval; else no limit."
_ORIGIN = "A web origin whose pages may call it; may be repeated."
_PUBLIC = "The address by which others know it, as https://agents.example.org: that of the proxy before it."
_ALLOW = "A keyword that clients may send to the agent; may be repeated."

_ASK_EXAMPLES = """\b
Examples:
  trivium ask lease.pdf "When does the lease end?"
  trivium ask docs/ https://example.com/faq.html "How is it installed?"
  trivium ask --store team.db handbook/ "Who signs for expenses?" --json
  git log | trivium ask - "When was the tokenizer replaced?"
\b
The answer is taken from the documents alone; each [1] is a place that can
  be opened, and that supports the statement. What was read is cached, so that
  the next question is answered at once; changed files are read again.
Exit status: 0; 3 if the documents contain no answer; 1 if it fails; 2 for a
  wrong option; 130 after Ctrl-C before the answer."""
_FILES = "Files, folders, URLs or - for stdin, then the question."
_STORE = "Store what is read there; without FILES, search all of it. Else a file of the cache."
_PRUNE = "Remove from --store the documents that FILES no longer hold, or that patterns leave out."
_CHUNKS = "Passages that are read to answer."
_CONTEXT = "Characters of documents that are read to answer."
_VECTORS = "Compute the vectors of many new documents after the answer; default: at a terminal."
_DOCS = "Answer from this file, folder or URL alone, with citations; may be repeated."

_CHAT_EXAMPLES = """\b
Examples:
  trivium chat
  trivium chat --docs handbook/
  trivium chat --document lease.pdf --session lease.db
  trivium chat --tool python --tool tools:add --model openai:NAME
  echo "What is the rent?" | trivium chat --document lease.pdf --json
\b
Tools: python (in a sandbox), web, arxiv, or your own as module:function.
--docs and --document are one option: answers come from the documents alone,
  with citations.
Exit status: 0; 1 if it fails, or a turn on a pipe did; 2 for a wrong
  option; 130 after Ctrl-C on a pipe, or while a local model loads."""
_TOOL = "python, web, arxiv or module:function; may be repeated."
_HISTORY = "Keep the typed lines there; else they are forgotten at the end."

_MCP_EXAMPLES = """\b
Examples:
  trivium mcp tools uvx mcp-server-time
  trivium mcp tools https://example.com/mcp --header "Authorization: Bearer …"
  trivium mcp serve tools:add agents:writer
  trivium mcp serve agents:writer --http --port 0
\b
Exit status: 1 if it fails; 2 for a wrong option or object; 130 after Ctrl-C."""

_DOCTOR_EPILOG = "Exit status: 0; 1 if something that is installed or set does not work."

mcp = typer.Typer(help="MCP: show a server's tools, serve your own.", no_args_is_help=True)
app.add_typer(mcp, name="mcp")

models = typer.Typer(help="Models that run on this machine: list, fetch, remove.", no_args_is_help=True)
app.add_typer(models, name="models")

_Name = Annotated[str, typer.Argument(metavar="NAME", help="A name of `trivium models list`.")]
_AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]


class Format(str, Enum):
    """The form of records."""

    jsonl = "jsonl"
    csv = "csv"
    table = "table"


def run(arguments: Sequence[str]) -> int:
    """Run the command; return its exit status.

    A known error is one line on stderr, and status 1 (2 for a wrong option); only `--debug` shows a traceback. The
    status after Ctrl-C is 130.
    """
    prepare()
    end = arguments.index("--") if "--" in arguments else len(arguments)
    debug = "--debug" in arguments[:end]
    given = [each for each in arguments[:end] if each != "--debug"] + list(arguments[end:])
    show_log(has_tracebacks=debug or given[:1] != ["chat"])  # in a chat the error is the model's business
    try:
        command = typer.main.get_command(app)
        with command.make_context("trivium", given) as context:  # not `app(…)`: it would swallow Ctrl-C
            status = command.invoke(context) or 0
        sys.stdout.flush()
        return status
    except typer.Exit as exit_:
        return exit_.exit_code
    except (KeyboardInterrupt, typer.Abort, RunKilledError):
        end_at_once_if_interrupted()
        write_line("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # as of `| head`: the reader has left
        silence()
        return FAILED
    except Exception as error:
        if debug:
            raise
        return _report(error)


def _report(error: Exception) -> int:
    parser_error: Any = error
    if type(error).__name__ == "NoArgsIsHelpError":
        write_line(parser_error.format_message())
        return USAGE
    if hasattr(error, "format_message"):  # an error of the option parser
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "trivium"
        text = safe_line(parser_error.format_message())
        write_line(f"error: {text if text.endswith(('.', '?')) else f'{text}.'} See `{command} --help`.")
        return USAGE
    if isinstance(error, TriviumError):
        write_line(f"error: {as_error(error)}")
        return USAGE if isinstance(error, ConfigurationError) else FAILED
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        write_line("error: too many files are open: raise the limit (`ulimit -n`, or systemd's LimitNOFILE=)")
        return FAILED
    if isinstance(error, OSError) and error.filename is None:
        silence()
        write_line(f"error: cannot write the output: {error.strerror}; send it elsewhere")
        return FAILED
    text = safe_line(error)
    write_line(
        f"error: {type(error).__name__}: {text}; this is a fault of trivium: run again with --debug and report it"
    )
    return FAILED


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
    """Language-model agents: get data from documents, ask them, chat, serve, evaluate, and inspect runs."""


def _option(text: str, metavar: str | None = None, **settings: Any) -> Any:
    return typer.Option(help=text, metavar=metavar, show_default=False, **settings)


@app.command("extract", short_help="Extract fields from documents.", epilog=_EXAMPLES, no_args_is_help=True)
def _extract_command(
    files: Annotated[list[Path], typer.Argument(metavar="FILES", hidden=True)],
    fields: Annotated[str | None, _option("The fields: 'name: type (description), …'.", "LIST")] = None,
    schema: Annotated[str | None, _option("The same from model.py:Class (pydantic) or a JSON schema.", "FILE")] = None,
    model: Annotated[str | None, _option(_MODEL, "MODEL")] = None,
    base_url: Annotated[str | None, _option("Where an OpenAI-compatible server is.", "URL")] = None,
    output: Annotated[Path | None, _option("Write .jsonl, .csv, .xlsx or .parquet, or continue there.", "FILE")] = None,
    format: Annotated[Format | None, _option("jsonl, csv or table; else as fits the output.", "FORMAT")] = None,
    report: Annotated[Path | None, _option("Write a page to look at: values beside their evidence.", "FILE")] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Begin --output anew.")] = False,
    journal: Annotated[str | None, _option("Store answers there; none is asked for twice.", "FILE")] = None,
    json: Annotated[bool, typer.Option("--json", help="JSON lines and a JSON summary on stdout.")] = False,
    tree: Annotated[bool, typer.Option("--tree", help="Show the run tree with time and tokens.")] = False,
    at_once: Annotated[int | None, _option(_AT_ONCE, "N", min=1)] = None,
    tries: Annotated[int, typer.Option(min=1, metavar="N", help="The number of times that values are asked for.")] = 2,
    excerpt: Annotated[int | None, _option("Characters of a document that are read.", "N", min=1)] = None,
    min_confidence: Annotated[float | None, _option(_MIN_CONFIDENCE, "P", min=0.0, max=1.0)] = None,
    max_megabytes: Annotated[int, typer.Option(min=1, metavar="N", help="The largest document that is read.")] = 32,
    max_seconds: Annotated[float, typer.Option(min=0.1, metavar="S", help="Time to read a file or attachment.")] = 15,
    max_scans: Annotated[int, typer.Option(min=0, metavar="N", help="The most pages of a scan that OCR reads.")] = 200,
    languages: Annotated[str | None, _option("Of scans: 'deu+eng'; else those that are seen.", "NAMES")] = None,
    include: Include = None,
    exclude: Exclude = None,
    encoding: Encoding = "",
) -> int:
    """Extract fields from FILES, and from the files in folders; - is stdin.

    Each value is backed by its place in the text, or is empty.
    """
    from trivium.cli import _extract  # each command loads what it needs, and the parser nothing
    from trivium.cli._sources import ReadOptions

    read = (max_megabytes << 20, max_seconds, encoding, include or (), exclude or (), max_scans)
    options = _extract.ExtractOptions(
        fields=fields,
        schema=schema,
        model=model,
        base_url=base_url,
        output=None if output == Path("-") else output,
        report=report,
        format=format.value if format else None,
        restart=restart,
        journal=journal,
        json=json,
        tree=tree,
        at_once=at_once,
        tries=tries,
        excerpt=excerpt,
        min_confidence=min_confidence,
        reading=ReadOptions(*read, tuple(filter(None, (languages or "").split("+")))),
    )
    return _extract.run_extraction(files, options)


@app.command("ask", short_help="Answer a question from documents.", epilog=_ASK_EXAMPLES, no_args_is_help=True)
def _ask_command(
    words: Annotated[list[str], typer.Argument(metavar="FILES... QUESTION", help=_FILES)],
    model: Annotated[str | None, _option(_MODEL, "MODEL")] = None,
    base_url: Annotated[str | None, _option("Where an OpenAI-compatible server is.", "URL")] = None,
    chunks: Annotated[int, typer.Option("-k", min=1, metavar="N", help=_CHUNKS)] = 5,
    context: Annotated[int, typer.Option(min=100, metavar="N", help=_CONTEXT)] = 3600,
    embedding: Annotated[str, _option(EMBEDDING, "NAME")] = "",
    store: Annotated[Path | None, _option(_STORE, "FILE")] = None,
    prune: Annotated[bool, typer.Option("--prune", help=_PRUNE)] = False,
    no_store: Annotated[bool, typer.Option("--no-store", help="Do not cache what is read.")] = False,
    wait: Annotated[bool | None, typer.Option("--wait/--no-wait", help=_VECTORS, show_default=False)] = None,
    json: Annotated[bool, typer.Option("--json", help="The answer and its citations as JSON on stdout.")] = False,
    include: Include = None,
    exclude: Exclude = None,
    encoding: Encoding = "",
    max_megabytes: Annotated[int, typer.Option(min=1, metavar="N", help="The largest document that is read.")] = 32,
    max_seconds: Annotated[float, typer.Option(min=0.1, metavar="S", help="Time to read a file or attachment.")] = 15,
) -> int:
    """Answer a question from FILES, with a citation for each statement."""
    from trivium.cli import _ask
    from trivium.cli._sources import ReadOptions

    options = _ask.AskOptions(
        model=model,
        base_url=base_url,
        chunks=chunks,
        context=context,
        embedding=embedding,
        store=store,
        prune=prune,
        keep=not no_store,
        wait=wait,
        json=json,
        reading=ReadOptions(max_megabytes << 20, max_seconds, encoding, include or (), exclude or ()),
    )
    return _ask.answer_question(words, options)


app.command("ingest", short_help="Read documents into a store.", epilog=INGEST_EXAMPLES, no_args_is_help=True)(
    ingest_command
)


@app.command("serve", short_help="Serve an agent over HTTP.", epilog=_SERVE_EXAMPLES, no_args_is_help=True)
def _serve_command(
    references: Annotated[
        list[str], typer.Argument(metavar="[NAME=]MODULE:OBJECT...", help="Agents, or functions that make one.")
    ],
    host: Annotated[str, typer.Option(metavar="HOST", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="0 takes a free one.")] = 8090,
    journal: Annotated[str | None, _option(_SERVED, "FILE")] = None,
    token: Annotated[str | None, _option(_ACCESS, "TEXT")] = None,
    users: Annotated[Path | None, _option(_USERS, "FILE")] = None,
    approver: Annotated[list[str] | None, _option(_APPROVER, "NAME")] = None,
    origin: Annotated[list[str] | None, _option(_ORIGIN, "URL")] = None,
    public_url: Annotated[str, _option(_PUBLIC, "URL")] = "",
    allow: Annotated[list[str] | None, _option(_ALLOW, "NAME")] = None,
    timeout: Annotated[float | None, _option("Seconds that a run may take; else no limit.", "S", min=0.001)] = None,
    max_runs: Annotated[int, typer.Option(min=1, metavar="N", help="Runs at once; more are refused.")] = 100,
    max_sessions: Annotated[int, typer.Option(min=1, metavar="N", help="Remembered sessions of a user.")] = 10_000,
    max_megabytes: Annotated[int, typer.Option(min=1, metavar="N", help=_LARGEST)] = 1,
    user_runs: Annotated[int | None, _option("Runs of each user at once; else no limit.", "N", min=1)] = None,
    user_tokens: Annotated[int | None, _option("Tokens of each user a day; else no limit.", "N", min=1)] = None,
    user_usd: Annotated[float | None, _option("US dollars of each user a day; else no limit.", "X", min=1e-6)] = None,
    approval_seconds: Annotated[float | None, _option(_WAIT, "S", min=0.001)] = None,
    keep_days: Annotated[float | None, _option("Days that runs are kept; else no limit.", "N", min=0.001)] = None,
    connections: Annotated[int, typer.Option(min=1, metavar="N", help="Connections at once.")] = 1000,
    per_address: Annotated[int, typer.Option(min=1, metavar="N", help=_PER_ADDRESS)] = 200,
    grace: Annotated[float, typer.Option(min=0, metavar="S", help="Seconds that runs have to end on SIGTERM.")] = 5.0,
) -> None:
    """Serve MODULE:OBJECT over HTTP; modules of this folder are found. Of several, each is a model by its name."""
    from trivium.cli import _serve
    from trivium.serving import ConnectionLimits, OwnerLimits

    options: Any = {"origins": origin or (), "keywords": allow or (), "timeout": timeout, "journal": journal or ""}
    options |= {"max_runs": max_runs, "max_sessions": max_sessions, "max_bytes": max_megabytes << 20}
    options["public_url"] = public_url
    options |= {"approvers": approver or (), "approval_seconds": approval_seconds, "keep_days": keep_days}
    options["owner_limits"] = OwnerLimits(runs=user_runs, tokens_per_day=user_tokens, usd_per_day=user_usd)
    limits = ConnectionLimits(total=connections, per_address=min(per_address, connections))
    address = _serve.ServedAt(host, port, _serve.read_tokens(token, users), grace, limits)
    _serve.serve_agents(references, address, options)


@app.command("chat", short_help="Talk to a model, with tools and documents.", epilog=_CHAT_EXAMPLES)
def _chat_command(
    model: Annotated[str | None, _option(_MODEL, "MODEL")] = None,
    base_url: Annotated[str | None, _option("Where an OpenAI-compatible server is.", "URL")] = None,
    tool: Annotated[list[str] | None, _option(_TOOL, "TOOL")] = None,
    budget: Annotated[int, typer.Option(min=100, metavar="N", help="Characters of documents in a question.")] = 3600,
    docs: Annotated[
        list[str] | None, typer.Option("--docs", "--document", metavar="PLACE", help=_DOCS, show_default=False)
    ] = None,
    embedding: Annotated[str, _option(f"For --docs: {EMBEDDING}", "NAME")] = "",
    encoding: Encoding = "",
    system: Annotated[str | None, _option("The system message of the model.", "TEXT")] = None,
    session: Annotated[Path | None, _option("Keep the conversation in this journal, and continue it.", "FILE")] = None,
    journal: Annotated[str | None, _option("Keep it in one with other runs, named by --session.", "FILE")] = None,
    history: Annotated[Path | None, _option(_HISTORY, "FILE", envvar="TRIVIUM_HISTORY")] = None,
    json: Annotated[bool, typer.Option("--json", help="The events as JSON lines on stdout.")] = False,
) -> int:
    """Talk to a model until you leave: at a terminal, or one line of stdin a turn.

    /quit or the end of the input leaves. At a terminal Ctrl-C stops an answer, and /help shows more commands.
    """
    from trivium.cli import _chat
    from trivium.cli._sources import ReadOptions

    options = _chat.ChatOptions(
        model=model,
        base_url=base_url,
        tools=tool or (),
        budget=budget,
        docs=docs or (),
        reading=ReadOptions(encoding=encoding),
        embedding=embedding,
        system=system,
        session=session,
        journal=journal,
        history=history,
        json=json,
    )
    return _chat.run_chat(options)


@models.command("list")
def _list(json: _AsJson = False) -> None:
    """Show the models that can be fetched, and which are here."""
    from trivium.cli import _models

    _models.list_models(json)


@models.command("fetch")
def _fetch(name: _Name = "default") -> None:
    """Fetch a model and verify it.

    An interrupted download continues where it ended.
    """
    from trivium.cli import _models

    _models.fetch_model(name)


@models.command("path")
def _path(name: _Name = "default") -> None:
    """Print where a model's file is."""
    from trivium.cli import _models

    _models.print_path(name)


@models.command("remove")
def _remove(name: _Name) -> None:
    """Delete a model's file."""
    from trivium.cli import _models

    _models.remove_model(name)


@mcp.command("tools", epilog=_MCP_EXAMPLES, no_args_is_help=True, context_settings={"allow_interspersed_args": False})
def _mcp_tools(
    command: Annotated[
        list[str], typer.Argument(metavar="COMMAND-OR-URL", help="The command that starts the server, or its URL.")
    ],
    env: Annotated[list[str] | None, _option("NAME=VALUE for its process; may be repeated.", "PAIR")] = None,
    header: Annotated[list[str] | None, _option("NAME: VALUE for a URL; may be repeated.", "PAIR")] = None,
    json: _AsJson = False,
) -> None:
    """Show the tools of an MCP server, and the digest that pins them.

    Options of this command stand before the server's command.
    """
    from trivium.cli import _mcp  # other commands need nothing of it

    _mcp.show_tools(command, env or (), header or (), json)


@mcp.command("serve", epilog=_MCP_EXAMPLES, no_args_is_help=True)
def _mcp_serve(
    references: Annotated[list[str], typer.Argument(metavar="MODULE:OBJECT", help="A tool, toolkit, agent or task.")],
    http: Annotated[bool, typer.Option("--http", help="Over HTTP; else over stdin and stdout.")] = False,
    host: Annotated[str | None, typer.Option(metavar="HOST", help="Where to listen.", show_default="127.0.0.1")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, metavar="N", help="0 takes a free one.", show_default="8091")
    ] = None,
    token: Annotated[str | None, _option(_ACCESS, "TEXT")] = None,
    public_url: Annotated[str, _option(_PUBLIC, "URL")] = "",
) -> None:
    """Serve MODULE:OBJECT as an MCP server. Modules of this folder are found."""
    from trivium.cli import _mcp  # other commands need nothing of it

    _mcp.serve_references(references, http, host, port, token, public_url)


@app.command("doctor", short_help="Show what is installed and works, and how to fix the rest.", epilog=_DOCTOR_EPILOG)
def _doctor_command(json: _AsJson = False) -> int:
    """Show what is installed and works here, and the command that mends what does not.

    Names of keys are shown, never their values; nothing goes over the network.
    """
    from trivium.cli import _doctor

    return _doctor.run_doctor(json)


app.command("worker", short_help="Take runs from a queue.", epilog=WORKER_EXAMPLES, no_args_is_help=True)(
    worker_command
)
app.command("eval", short_help="Evaluate an agent.", epilog=EVAL_EXAMPLES, no_args_is_help=True)(eval_command)
for _name, (_command, _text) in COMMANDS.items():
    _needs = _name not in ("runs", "forget", "queues", "schedules")
    app.command(_name, short_help=_text, epilog=RUNS_EXAMPLES, no_args_is_help=_needs)(_command)
