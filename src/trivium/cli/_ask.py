"""`trivium ask`: answer a question from documents."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from rich.progress import TextColumn

from trivium.agents.special import Citation, DocAnswer, DocChatAgent, DocChatAgentConfig
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
from trivium.cli._screen import bar, in_words, one_line, show_json, stdout, write_line
from trivium.cli._sources import ReadOptions
from trivium.cli._words_first import AT_ONCE, ENOUGH, add_vectors, late_chunks, may_be_late
from trivium.exceptions import ConfigurationError
from trivium.knowledge import Hit, SQLiteStoreConfig
from trivium.knowledge.retrieval import NearestSentences
from trivium.llms import DeltaEvent, LocalModel
from trivium.schema import Message
from trivium.terminal.lowlevel import safe_text

DOES_NOT_TELL = 3
_NEAREST, _LONGEST = 3, 900
"""The passages that are shown where there is no answer, and their characters."""
_PLACE = ("source", "line", "end_line", "page", "attachment", "heading")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
    """The options of the command, as given."""

    model: str | None
    base_url: str | None
    chunks: int
    context: int
    embedding: str
    store: Path | None
    prune: bool
    keep: bool
    wait: bool | None
    json: bool
    reading: ReadOptions


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
    if options.prune and not places.paths:
        raise ConfigurationError("--prune compares a store with folders: put them before the question")
    model, began = choose_model(options.model, options.base_url), time.monotonic()
    reading, is_own = options.reading, options.store is None
    store = choose_store(places, reading, options.embedding, options.store, options.keep)
    late = 0
    config = DocChatAgentConfig(llm=model, references=False, no_answer=NOT_TOLD, n_relevant_chunks=options.chunks)

    def make(store: SQLiteStoreConfig, most: int = options.context) -> DocChatAgent:
        return DocChatAgent(config.model_copy(update={"vecdb": store, "max_context": min(most, options.context)}))

    def read(store: SQLiteStoreConfig, most: int = options.context, quiet: bool = False) -> DocChatAgent:
        agent = make(store, most)
        ingest_places(agent, places, reading, is_own=is_own, prune=is_own or options.prune, quiet=quiet)
        return agent

    def run() -> tuple[DocChatAgent, Message]:
        nonlocal late
        agent: DocChatAgent | None = None
        if may_be_late(store, places, is_own):
            by_words = choose_store(places, reading, "none")
            agent = with_repaired_cache(by_words, lambda: read(by_words, AT_ONCE))
            late = late_chunks(agent, make(store))
        if agent is None or late <= ENOUGH:
            agent, late = read(store, quiet=agent is not None), 0
        note_read(agent, time.monotonic() - began)
        if isinstance(model, LocalModel):
            model.repack = False  # much is read, and little is written
            model.load(agent.beginning())  # while the passages are searched
        return agent, ask(agent, question, is_written=not options.json)

    agent, message = with_repaired_cache(store, run)
    answer = cast("DocAnswer", message.content_any)
    near = [] if answer.found else nearest(agent, question)
    if options.json:
        tokens = 0 if message.usage is None else message.usage.total
        data = answer_data(answer, near, tokens, round(time.monotonic() - began, 1))
        data["searched_by"] = "words" if late or agent.store.embedding is None else "words and vectors"
        show_json(data)
    else:
        write_citations(answer, near)
    sys.stdout.flush()
    if late and (sys.stdout.isatty() if options.wait is None else options.wait):
        add_vectors(make(store), places, late, reading)
    elif late:
        write_line(f"searched by words alone: --wait computes the vectors of {late:,} passages, for the next questions")
    return 0 if answer.found else DOES_NOT_TELL


def ask(agent: DocChatAgent, question: str, is_written: bool) -> Message:
    """Ask an agent, and write its answer as it comes; until then something moves at a terminal."""
    with bar(TextColumn("the model reads and answers")) as progress:
        progress.add_task("", total=None)
        stream = agent.stream(question)
        for event in stream:  # not a listener: where nobody reads the answer any more, the error ends the call
            if is_written and isinstance(event, DeltaEvent) and isinstance(event.data, str) and event.data:
                progress.stop()
                sys.stdout.write(safe_text(event.data))
                sys.stdout.flush()
        return stream.result


def note_read(agent: DocChatAgent, seconds: float) -> None:
    """Tell a user at a terminal what the answer is taken from."""
    if sys.stderr.isatty():
        records = agent.sources()
        passages = sum(record.chunks for record in records)
        write_line(f"{in_words(len(records), 'documents')}, {in_words(passages, 'passages')}; {seconds:.1f} s")


def nearest(agent: DocChatAgent, question: str) -> list[Citation]:
    """Return the passages nearest to a question that the documents do not answer."""
    hits = [Hit(chunk, 0.0) for chunk in agent.get_relevant_chunks(question)]
    chunks = [hit.chunk for hit in NearestSentences(None, characters=_LONGEST, around=1)(question, hits)]
    return [
        Citation(number=number, quote=chunk.content, **chunk.metadata.model_dump(include=set(_PLACE)))
        for number, chunk in enumerate(chunks[:_NEAREST], 1)
    ]


def split_words(words: Sequence[str], store: Path | None) -> tuple[Sequence[str], str]:
    """Split the words of the command into the documents and the question.

    Raises:
        ConfigurationError: there is no question, or there are no documents.
    """
    *given, question = words
    if os.path.exists(question) or is_url(question) or question == "-":
        places = [each for each in words if os.path.exists(each) or is_url(each) or each == "-"]
        asked = [each for each in given if each not in places and " " in each.strip()]
        if len(asked) == 1:
            text = f"trivium ask {one_line(shlex.join([*places, *asked]))}"
            raise ConfigurationError(f"the question comes last, behind the documents, as in: {text}")
        text = f'trivium ask {one_line(shlex.join(words))} "What is the rent?"'
        raise ConfigurationError(f"the question is missing: put it behind the documents, as in: {text}")
    if not question.strip():
        raise ConfigurationError("the question is empty: say what you want to know")
    if not given and store is None:
        raise ConfigurationError(
            "no documents are named: put files, folders, URLs or - before the question, as in: trivium ask docs/ "
            f'"{one_line(question)}"'
        )
    return given, question


def write_citations(answer: DocAnswer, near: Sequence[Citation] = ()) -> None:
    """Write the end of the answer's line, and the citations below it, or else the nearest passages."""
    sys.stdout.write("\n")
    shown = answer.citations if answer.found else near
    if answer.found or near:
        console = stdout()
        sys.stdout.write("\n" if answer.found else "\nThe nearest passages:\n")
        for line in citation_lines(shown, console.width if console.is_terminal else 200):
            console.print(line, soft_wrap=True)


def answer_data(answer: DocAnswer, near: Sequence[Citation], tokens: int, seconds: float) -> dict[str, Any]:
    """Return an answer as JSON."""
    return {
        "question": answer.question,
        "answer": answer.answer if answer.found else None,
        "found": answer.found,
        "citations": [citation_data(each) for each in answer.citations],
        "nearest": [citation_data(each) for each in near],
        "tokens": tokens,
        "seconds": seconds,
    }
