"""`trivium ask`: a question, answered from documents."""

from __future__ import annotations

import json as json_text
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from trivium.agents.special import DocAnswer, DocChatAgent, DocChatAgentConfig
from trivium.cli._knowledge import NOT_TOLD, as_data, cited, is_url, on_whole_cache, places_of, read_into, store_of
from trivium.cli._model import choose_model
from trivium.cli._screen import one_line, stdout
from trivium.commander import Event
from trivium.exceptions import ConfigurationError
from trivium.llms import DeltaEvent
from trivium.schema import Message
from trivium.terminal.lowlevel import safe_text

__all__ = ["Options", "ask"]

DOES_NOT_TELL = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of the command, as given."""

    model: str | None
    base_url: str | None
    chunks: int
    context: int
    embedding: str
    store: Path | None
    keep: bool
    json: bool
    max_megabytes: int


def ask(words: Sequence[str], options: Options) -> int:
    """Answer a question from documents; see `trivium ask --help`.

    Args:
        words: the documents, then the question.
        options: the options.

    Returns:
        The exit status: 3 where the documents do not tell.

    Raises:
        TriviumError: it cannot be answered.
    """
    given, question = _parted(words, options.store)
    places = places_of(given)
    model, began = choose_model(options.model, options.base_url), time.monotonic()
    store = store_of(places, options.embedding, options.store, options.keep)
    config = DocChatAgentConfig(
        llm=model,
        vecdb=store,
        n_relevant_chunks=options.chunks,
        max_context=options.context,
        references=False,
        no_answer=NOT_TOLD,
    )
    listeners = [] if options.json else [_write]

    def answered() -> Message:
        agent = DocChatAgent(config)
        read_into(agent, places, options.max_megabytes << 20, is_own=options.store is None)
        return agent(question, listeners=listeners)

    answer = on_whole_cache(store, answered)
    return _as_json(answer, began) if options.json else _show(cast("DocAnswer", answer.content_any))


def _parted(words: Sequence[str], store: Path | None) -> tuple[Sequence[str], str]:
    """The documents and the question."""
    *given, question = words
    if os.path.exists(question) or is_url(question) or question == "-":
        text = f'trivium ask {" ".join(map(one_line, words))} "What is the rent?"'
        raise ConfigurationError(f"the question is missing: put it behind the documents, as in: {text}")
    if not question.strip():
        raise ConfigurationError("the question is empty: say what you want to know")
    if not given and store is None:
        raise ConfigurationError(
            "no documents are named: put files, folders, URLs or - before the question, as in: trivium ask docs/ "
            f'"{one_line(question)}"'
        )
    return given, question


def _write(event: Event[Any]) -> None:
    if isinstance(event, DeltaEvent) and isinstance(event.data, str):
        sys.stdout.write(safe_text(event.data))
        sys.stdout.flush()


def _show(answer: DocAnswer) -> int:
    sys.stdout.write("\n")
    if not answer.found:
        return DOES_NOT_TELL
    console = stdout()
    sys.stdout.write("\n")
    for line in cited(answer.citations, console.width if console.is_terminal else 200):
        console.print(line, soft_wrap=True)
    return 0


def _as_json(message: Message, began: float) -> int:
    answer = cast("DocAnswer", message.content_any)
    found: dict[str, Any] = {
        "question": answer.question,
        "answer": answer.answer if answer.found else None,
        "found": answer.found,
        "citations": [as_data(each) for each in answer.citations],
        "tokens": 0 if message.usage is None else message.usage.total,
        "seconds": round(time.monotonic() - began, 1),
    }
    sys.stdout.write(json_text.dumps(found, ensure_ascii=False) + "\n")
    return 0 if answer.found else DOES_NOT_TELL
