"""Answers of the embedded model from documents: right or wrong, and whether what is cited holds them."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corpus import Page
from questions import Question

from trivium.agents.special import DocChatAgent, DocChatAgentConfig
from trivium.agents.special._citations import Citation, DocAnswer
from trivium.caches import SQLiteCache
from trivium.knowledge import VectorStore
from trivium.llms import CachedModel, LocalModel

__all__ = ["holds", "measure", "says"]

_QUOTES = str.maketrans("’‘“”", "''\"\"")


def says(text: str, phrases: Sequence[str]) -> bool:
    """Whether a text has one of the phrases as words, whatever the case; "^no" is a text that begins so."""
    plain = " ".join(text.translate(_QUOTES).casefold().split())
    for phrase in phrases:
        wanted = phrase.translate(_QUOTES).casefold()
        if wanted.startswith("^"):
            if re.match(rf"{re.escape(wanted[1:])}\b", plain):
                return True
        elif re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", plain):
            return True
    return False


def holds(citation: Citation, question: Question) -> bool:
    """Whether a citation holds the answer: its quote has a noted phrase, and stands in the lines that it names."""
    lines = Path(citation.source).read_text(encoding="utf-8").split("\n")[citation.line - 1 : citation.end_line]
    phrases = [each.removeprefix("^") for each in question.answer_any if each != "^no"]
    return citation.quote in "\n".join(lines) and says(citation.quote, phrases)


def in_gold(citation: Citation, question: Question, pages: Mapping[str, Page], corpus: Path) -> bool:
    """Whether the cited lines lie in a gold passage, whole."""
    for file, span in question.gold:
        text = pages[file].text
        first, last = text.count("\n", 0, span.start) + 1, text.count("\n", 0, span.end) + 1
        if Path(citation.source) == corpus / file and first <= citation.line <= citation.end_line <= last:
            return True
    return False


def measure(
    store: VectorStore,
    questions: Sequence[Question],
    pages: Mapping[str, Page],
    corpus: Path,
    folder: Path,
    count: int | None = None,
    part: str = "held-out",
) -> dict[str, Any]:
    """Ask the embedded model the questions of a part whose answers are known, and those that have none.

    What the model wrote is kept in `folder` by the request: a run that was cut off goes on where it was, and after a
    change of how answers are checked the model is not asked again. Each answer is a line of answers.jsonl at once.
    """
    some = [each for each in questions if each.part == part]
    told = [each for each in some if each.answer_any][:count]
    untold = [each for each in some if each.kind == "unanswerable"][:count]
    model = CachedModel(LocalModel(), SQLiteCache(folder / "written.db", max_bytes=None))
    config = DocChatAgentConfig(llm=model, vecdb=store, conversation_mode=False, references=False)
    agent = DocChatAgent(config)
    file = folder / "answers.jsonl"
    old = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    before = {line["question"]: line["seconds"] for line in old}
    lines: list[dict[str, Any]] = []
    for number, question in enumerate(sorted([*told, *untold], key=lambda each: each.id), 1):
        began = time.monotonic()
        answer = agent.answer_from_docs(question.question).content_any
        assert isinstance(answer, DocAnswer)
        line: dict[str, Any] = {
            "question": question.question,
            "answer": answer.answer,
            "told": answer.found,
            "right": answer.found and says(answer.answer, question.answer_any),
            "citations": [each.place.removeprefix(f"{corpus}/") for each in answer.citations],
            "quotes": [each.quote for each in answer.citations],
            "held": [holds(each, question) for each in answer.citations],
            "in gold": [in_gold(each, question, pages, corpus) for each in answer.citations],
            "answerable": bool(question.gold),
            # Of a run that asked the model; what is kept comes in no time.
            "seconds": max(round(time.monotonic() - began, 1), before.get(question.question, 0.0)),
        }
        lines.append(line)
        with file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")
        mark = "not told" if not answer.found else "right" if line["right"] else "wrong"
        print(f"  {number} of {len(told) + len(untold)}: {mark}, {line['seconds']} s", file=sys.stderr)
    asked = [line for line in lines if line["answerable"]]
    cited = [each for line in lines for each in zip(line["held"], line["in gold"], strict=True)]
    return {
        "asked": len(asked),
        "right": sum(line["right"] for line in asked),
        "not told": sum(not line["told"] for line in asked),
        "citations": len(cited),
        "citations held": sum(held for held, _ in cited),
        "citations held or in gold": sum(any(each) for each in cited),
        "citations of answerable": sum(len(line["held"]) for line in asked),
        "unanswerable": len(lines) - len(asked),
        "honest": sum(not line["told"] for line in lines if not line["answerable"]),
        "seconds": round(sum(line["seconds"] for line in lines) / max(1, len(lines)), 1),
        "model": agent.model.name,
        "lines": lines,
    }
