"""`trivium ask`: answer a question from documents."""

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
from trivium.cli._knowledge import (
    NOT_TOLD,
    choose_store,
    citation_data,
    citation_lines,
    find_places,
    ingest_places,
    is_url,
    with_repaired_cache,
)
from trivium.cli._model import choose_model
from trivium.cli._screen import one_line, stdout
from trivium.commander import Event
from trivium.exceptions import ConfigurationError
from trivium.llms import DeltaEvent
from trivium.schema import Message
from trivium.terminal.lowlevel import safe_text

__all__ = ["AskOptions", "answer_question"]

DOES_NOT_TELL = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
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
    max_seconds: float


def answer_question(words: Sequence[str], options: AskOptions) -> int:
    """Answer a question from documents; see `trivium ask --help`.

    Args:
        words: the documents, then the question.
        options: the options.

    Returns:
        The exit status: 3 if the documents do not contain an answer.

    Raises:
        TriviumError: the question cannot be answered.
    """
    given, question = split_words(words, options.store)
    places = find_places(given)
    model, began = choose_model(options.model, options.base_url), time.monotonic()
    store = choose_store(places, options.embedding, options.store, options.keep)
    config = DocChatAgentConfig(
        llm=model,
        vecdb=store,
        n_relevant_chunks=options.chunks,
        max_context=options.context,
        references=False,
        no_answer=NOT_TOLD,
    )
    listeners = [] if options.json else [write_delta]

    def run() -> Message:
        agent = DocChatAgent(config)
        most = options.max_megabytes << 20
        ingest_places(agent, places, most, options.max_seconds, is_own=options.store is None)
        return agent(question, listeners=listeners)

    message = with_repaired_cache(store, run)
    answer = cast("DocAnswer", message.content_any)
    if options.json:
        seconds = round(time.monotonic() - began, 1)
        tokens = 0 if message.usage is None else message.usage.total
        sys.stdout.write(json_text.dumps(answer_data(answer, tokens, seconds), ensure_ascii=False) + "\n")
    else:
        write_citations(answer)
    return 0 if answer.found else DOES_NOT_TELL


def split_words(words: Sequence[str], store: Path | None) -> tuple[Sequence[str], str]:
    """Split the words of the command into the documents and the question.

    Raises:
        ConfigurationError: there is no question, or there are no documents.
    """
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


def write_delta(event: Event[object]) -> None:
    """Write a piece of the answer: a listener."""
    if isinstance(event, DeltaEvent) and isinstance(event.data, str):
        sys.stdout.write(safe_text(event.data))
        sys.stdout.flush()


def write_citations(answer: DocAnswer) -> None:
    """Write the end of the answer's line, and the citations below it."""
    sys.stdout.write("\n")
    if answer.found:
        console = stdout()
        sys.stdout.write("\n")
        for line in citation_lines(answer.citations, console.width if console.is_terminal else 200):
            console.print(line, soft_wrap=True)


def answer_data(answer: DocAnswer, tokens: int, seconds: float) -> dict[str, Any]:
    """Return an answer as JSON."""
    return {
        "question": answer.question,
        "answer": answer.answer if answer.found else None,
        "found": answer.found,
        "citations": [citation_data(each) for each in answer.citations],
        "tokens": tokens,
        "seconds": seconds,
    }
