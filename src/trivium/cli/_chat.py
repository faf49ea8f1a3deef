"""`trivium chat`: a conversation with a model, with tools and documents."""

from __future__ import annotations

import json as json_text
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any, cast

from trivium.actions import BaseAction, Tool, ToolCallEvent, ToolResultEvent
from trivium.agents import Agent
from trivium.cli._model import choose_model
from trivium.cli._objects_at import failed, import_object
from trivium.cli._screen import as_error, one_line, write_line
from trivium.cli._sources import STDIN, ReadOptions
from trivium.commander import EndedEvent, Event
from trivium.exceptions import ConfigurationError, TriviumError
from trivium.journal import Journal
from trivium.llms import DeltaEvent
from trivium.schema import Message
from trivium.terminal import Terminal
from trivium.terminal.lowlevel import (
    COMMANDS,
    Conversation,
    chat_at_terminal,
    chat_on_lines,
    is_terminal,
)

FAILED = 1
_COMMANDS = {
    "/model": "show the model; /model NAME goes on with another",
    "/docs": "list the documents; /docs PLACE reads another one",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """The options of the command, as given."""

    model: str | None
    base_url: str | None
    tools: Sequence[str]
    budget: int
    docs: Sequence[str]
    reading: ReadOptions
    embedding: str
    system: str | None
    session: Path | None
    journal: str | None
    history: Path | None
    json: bool


def run_chat(options: ChatOptions) -> int:
    """Run a conversation until the user leaves; see `trivium chat --help`.

    Returns:
        The exit status: 1 if a turn failed on a pipe.

    Raises:
        TriviumError: the conversation could not begin, or its file could not be written.
    """
    terminal = None
    if is_terminal() and not options.json:
        terminal = Terminal(commands={**COMMANDS, **_COMMANDS}, history=options.history)
    if options.docs:
        agent: Agent = reading_agent(options, terminal)
    else:
        model = choose_model(options.model, options.base_url)
        tools = [find_tool(name) for name in options.tools]
        agent = Agent(model, options.system, tools=tools, name=one_line(model.name))
    if options.journal is None:
        made = Conversation(agent, file=options.session)
    else:
        journal = Journal(options.journal, key=os.environ.get("TRIVIUM_JOURNAL_KEY", ""))
        made = Conversation(agent, str(options.session or "chat"), journal=journal)
    with closing(made) as conversation:
        if terminal is not None:
            commands = {"/model": _model_of(agent, options), "/docs": _docs_of(agent, options.reading)}
            chat_at_terminal(conversation, terminal, commands=commands)
            return 0
        return FAILED if _chat_on_pipe(conversation, as_json=options.json) else 0


def _chat_on_pipe(conversation: Conversation, *, as_json: bool) -> int:
    """Chat on standard input and output; return the number of turns that failed."""
    if not sys.stdin.isatty() and hasattr(sys.stdin, "reconfigure"):
        cast("Any", sys.stdin).reconfigure(encoding="utf-8", errors="replace")
    if as_json:
        return chat_on_lines(conversation, (_JSONLines(),), _write_answer, _write_error)
    return chat_on_lines(
        conversation,
        (),
        lambda answer: _print(str(answer.content)),
        lambda error: write_line(f"error: {as_error(error)}"),
    )


# ---- commands
def _model_of(agent: Agent, options: ChatOptions) -> Callable[[str], str]:
    """Return the command that shows or changes the model."""

    def change(name: str) -> str:
        if name:
            agent.llm = choose_model(name, options.base_url)
        return f"the model is {one_line(agent.model.name)}"

    return change


def _docs_of(agent: Agent, reading: ReadOptions) -> Callable[[str], str]:
    """Return the command that lists the documents, or reads another one."""

    def add(place: str) -> str:
        from trivium.agents.special import DocChatAgent
        from trivium.cli._knowledge import display_name, find_places, ingest_places

        if not isinstance(agent, DocChatAgent):
            return "there are no documents: leave, and begin with --docs PLACE"
        if place:
            ingest_places(agent, find_places([place]), reading, is_own=True)
        return "\n".join(f"{display_name(each.source)}: {each.chunks:,} passages" for each in agent.sources())

    return add


# ---- the agent
def reading_agent(options: ChatOptions, terminal: Terminal | None) -> Agent:
    """Make an agent that answers from documents alone, and reads them."""
    from trivium.agents.special import DocChatAgent, DocChatAgentConfig
    from trivium.cli._knowledge import (
        NOT_TOLD,
        CitationsHook,
        choose_store,
        citation_data,
        citation_lines,
        find_places,
        ingest_places,
        with_repaired_cache,
    )

    if str(STDIN) in options.docs:
        raise ConfigurationError("standard input is the conversation: give documents as files")
    places, model = find_places(options.docs), choose_model(options.model, options.base_url)
    store = choose_store(places, options.reading, options.embedding)
    config = DocChatAgentConfig(llm=model, vecdb=store, max_context=options.budget, no_answer=NOT_TOLD)
    config.references = terminal is None and not options.json
    if options.system is not None:
        config.system_message += f"\n{options.system}"
    tools = [find_tool(name) for name in options.tools]

    def read() -> DocChatAgent:
        agent = DocChatAgent(config, tools=tools, name=one_line(model.name))
        ingest_places(agent, places, options.reading, is_own=True)
        return agent

    agent = with_repaired_cache(store, read)
    if terminal is not None:
        agent.register_hook(CitationsHook(lambda found: terminal.show(citation_lines(found, terminal.console.width))))
    elif options.json:
        agent.register_hook(CitationsHook(lambda found: _write("citations", citations=list(map(citation_data, found)))))
    return agent


def find_tool(name: str) -> Any:
    """Return the tool of a name on the command line: one that comes with trivium, or one of the user's own.

    Raises:
        ConfigurationError: there is no such tool, or it cannot be made.
    """
    if name in _SHIPPED:
        return _make(name, _SHIPPED[name])
    if ":" not in name:
        raise ConfigurationError(
            f"there is no tool {one_line(name)!r}: give {', '.join(_SHIPPED)}, or your own tool as module:function"
        )
    found: object = import_object(name, "tool", "tools:add", (Tool, BaseAction, FunctionType))
    if isinstance(found, type) and issubclass(found, BaseAction):
        return _make(name, found)
    is_class = isinstance(found, type)
    if isinstance(found, Tool | BaseAction) or (not is_class and callable(cast("Any", found))):
        return found
    kind = "is a class" if is_class else f"is of the class {type(found).__name__}"
    raise ConfigurationError(f"{name} {kind}; give a function, a Tool or an action")


def make_interpreter() -> object:
    """Make the tool `python`, which runs code in a sandbox."""
    from trivium.actions.python import IPythonInterpreter

    return IPythonInterpreter()


def make_browser() -> object:
    """Make the tool `web`, which searches and reads pages."""
    from trivium.actions.web import WebBrowser

    return WebBrowser()


def make_arxiv() -> object:
    """Make the tool `arxiv`, which searches for papers."""
    from trivium.actions.web import ArxivSearch

    return ArxivSearch()


_SHIPPED = {"arxiv": make_arxiv, "python": make_interpreter, "web": make_browser}


def _make(name: str, make: Callable[[], object]) -> object:
    try:
        return make()
    except TriviumError:
        raise
    except Exception as error:
        raise failed(f"{name}()", error) from error


# ---- the output on a pipe
def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _write(event: str, **data: object) -> None:
    _print(json_text.dumps({"event": event, **data}, default=str))


def _write_answer(answer: Message) -> None:
    usage = answer.usage
    _write("answer", content=answer.content, **({"tokens": usage.total} if usage is not None else {}))


def _write_error(error: TriviumError) -> None:
    _write("error", error=as_error(error), kind=type(error).__name__)


class _JSONLines:
    """Writes the events of a turn, one JSON object a line."""

    def __init__(self) -> None:
        self._calls: dict[Any, str] = {}

    def __call__(self, event: Event[Any]) -> None:
        """Write one event."""
        if isinstance(event, DeltaEvent):
            if isinstance(event.data, str):
                _write("delta", text=event.data)
        elif isinstance(event, ToolCallEvent):
            name, arguments = event.data
            self._calls[event.node] = name
            _write("tool_call", name=name, arguments=arguments)
        elif isinstance(event, ToolResultEvent):
            _write("tool_result", name=self._calls.pop(event.node, ""), result=event.display().text)
        elif isinstance(event, EndedEvent) and event.node in self._calls:
            _write("tool_error", name=self._calls.pop(event.node), error=one_line(event.data))
