"""`trivium chat`: a conversation with a model, with tools and documents."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any, cast

from trivium.actions import BaseAction, Tool, ToolCallEvent, ToolResultEvent
from trivium.agents import Agent
from trivium.cli._documents import Shelf, UsedPassage
from trivium.cli._model import choose_model
from trivium.cli._objects_at import object_at
from trivium.cli._screen import as_error, one_line, say
from trivium.cli._sources import STDIN, find_documents, open_document
from trivium.commander import EndedEvent, Event
from trivium.exceptions import ConfigurationError, TriviumError
from trivium.llms import DeltaEvent
from trivium.schema import Message
from trivium.terminal import Terminal
from trivium.terminal._chat import COMMANDS, Conversation, at_terminal, on_lines
from trivium.terminal._terminal import is_terminal
from trivium.terminal._words import result_text

__all__ = ["Options", "chat"]

FAILED = 1
_MOST_BYTES = 32 << 20
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of the command, as given."""

    model: str | None
    base_url: str | None
    tools: Sequence[str]
    documents: Sequence[Path]
    budget: int
    system: str | None
    session: Path | None
    history: Path | None
    json: bool


def chat(options: Options) -> int:
    """Talk until the person leaves; see `trivium chat --help`.

    Returns:
        The exit status: 1 if a turn failed on a pipe.

    Raises:
        TriviumError: the conversation could not begin, or its file could not be written.
    """
    terminal = None
    if is_terminal() and not options.json:
        terminal = Terminal(commands=COMMANDS, history=options.history)
    conversation = Conversation(_agent(options, _passages_to(options, terminal)), file=options.session)
    if terminal is not None:
        at_terminal(conversation, terminal)
        return 0
    if not sys.stdin.isatty() and hasattr(sys.stdin, "reconfigure"):
        cast("Any", sys.stdin).reconfigure(encoding="utf-8", errors="replace")
    if options.json:
        failed = on_lines(conversation, (_JSONLines(),), _write_answer, _write_error)
    else:
        failed = on_lines(conversation, (), _write_text, lambda error: say(f"error: {as_error(error)}"))
    return FAILED if failed else 0


# ---- what was asked for
def _agent(options: Options, on_use: Callable[[list[UsedPassage]], object]) -> Agent:
    model = choose_model(options.model, options.base_url)
    tools = [_tool(name) for name in options.tools]
    documents = _documents(options.documents)
    shelf = Shelf(documents, options.budget, on_use) if documents else None
    return Agent(model, options.system, tools=tools, aggregator=shelf, name=one_line(model.name))


def _documents(paths: Sequence[Path]) -> list[Any]:
    if STDIN in paths:
        raise ConfigurationError("standard input is the conversation: give documents as files")
    found, errors = find_documents(paths, None)
    if errors:
        raise errors[0]
    return [open_document(path, _MOST_BYTES) for path in found]


def _python() -> Any:
    from trivium.actions.python import IPythonInterpreter

    return IPythonInterpreter()


def _web() -> Any:
    from trivium.actions.web import WebBrowser

    return WebBrowser()


def _arxiv() -> Any:
    from trivium.actions.web import ArxivSearch

    return ArxivSearch()


_SHIPPED = {"arxiv": _arxiv, "python": _python, "web": _web}


def _tool(name: str) -> Any:
    if name in _SHIPPED:
        return _made(name, _SHIPPED[name])
    if ":" not in name:
        raise ConfigurationError(
            f"there is no tool {one_line(name)!r}: give {', '.join(_SHIPPED)}, or one of your own as module:function"
        )
    found: object = object_at(name, "tool", "tools:add", (Tool, BaseAction, FunctionType))
    if isinstance(found, type) and issubclass(found, BaseAction):
        return _made(name, found)
    is_class = isinstance(found, type)
    if isinstance(found, Tool | BaseAction) or (not is_class and callable(cast("Any", found))):
        return found
    kind = "class" if is_class else type(found).__name__
    raise ConfigurationError(f"{name} is a {kind}; give a function, a Tool or an action")


def _made(name: str, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except TriviumError:
        raise
    except Exception as error:
        raise ConfigurationError(f"{name}() failed: {type(error).__name__}: {one_line(error)}") from error


# ---- what is shown
def _passages_to(options: Options, terminal: Terminal | None) -> Callable[[list[UsedPassage]], object]:
    if options.json:
        return _write_passages
    tell = say if terminal is None else terminal.note
    return lambda passages: tell(_passages_line(passages))


def _passages_line(passages: Sequence[UsedPassage]) -> str:
    places: dict[str, list[str]] = {}
    for each in passages:
        places.setdefault(each.source, []).append(each.place)
    texts = [f"{one_line(source)} ({_first(found)})" for source, found in places.items()]
    return f"passages: {_first(texts, '; ')}" if texts else "passages: none fits into --budget"


def _first(texts: Sequence[str], between: str = ", ") -> str:
    more = len(texts) - _MOST_NAMED
    return between.join([*texts[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])])


def _write_text(answer: Message) -> None:
    sys.stdout.write(f"{answer.content}\n")
    sys.stdout.flush()


def _write(event: str, **data: Any) -> None:
    sys.stdout.write(json_text.dumps({"event": event, **data}, default=str) + "\n")
    sys.stdout.flush()


def _write_answer(answer: Message) -> None:
    usage = answer.usage
    _write("answer", content=answer.content, **({"tokens": usage.total} if usage is not None else {}))


def _write_error(error: TriviumError) -> None:
    _write("error", error=as_error(error), kind=type(error).__name__)


def _write_passages(passages: list[UsedPassage]) -> None:
    _write("passages", passages=[each._asdict() for each in passages])


class _JSONLines:
    """Writes what happens in a turn, one JSON object a line."""

    def __init__(self) -> None:
        self._calls: dict[Any, str] = {}

    def __call__(self, event: Event[Any]) -> None:
        """Take one event."""
        if isinstance(event, DeltaEvent):
            if isinstance(event.data, str):
                _write("delta", text=event.data)
        elif isinstance(event, ToolCallEvent):
            name, arguments = event.data
            self._calls[event.node] = name
            _write("tool_call", name=name, arguments=arguments)
        elif isinstance(event, ToolResultEvent):
            _write("tool_result", name=self._calls.pop(event.node, ""), result=result_text(event.data))
        elif isinstance(event, EndedEvent) and event.node in self._calls:
            _write("tool_error", name=self._calls.pop(event.node), error=one_line(event.data))
