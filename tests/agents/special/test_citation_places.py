"""A citation names the page, the lines, the heading and the chunk of what it quotes, though passages are of many."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from pptx import Presentation

from parsing._pdf import pdf
from trivium.agents.special import Citation, DocChatAgent, DocChatAgentConfig
from trivium.knowledge import Chunk, Hit
from trivium.knowledge.retrieval import RelevanceExtractor
from trivium.knowledge.stores import SQLiteStoreConfig
from trivium.testing import ScriptedModel

pytestmark = pytest.mark.usefixtures("forked_processes")

PAGES = ("Project Falcon starts on 4 March.", "The budget is 88,000 EUR.", "Ada leads the team.")


def slides(path: Path) -> None:
    made = Presentation()
    for text in PAGES:
        shapes: Any = made.slides.add_slide(made.slide_layouts[1]).shapes
        shapes.title.text, shapes.placeholders[1].text = "Slide", f"Points\n{text}"
    made.save(str(path))


def sheets(path: Path) -> None:
    book: Any = openpyxl.Workbook()
    for text in PAGES:
        sheet = book.create_sheet()
        for row in (["what", "note"], ["nothing", "-"], ["all", text]):
            sheet.append(row)
    book.remove(book.worksheets[0])
    book.save(path)


def printed(path: Path) -> None:
    path.write_bytes(pdf([["Page", "of it", text] for text in PAGES]))


def agent_of(path: Path, *answers: str) -> DocChatAgent:
    store = SQLiteStoreConfig(embedding=None)
    return DocChatAgent(
        DocChatAgentConfig(llm=ScriptedModel(answers), vecdb=store, doc_paths=[path], conversation_mode=False)
    )


def check(agent: DocChatAgent, citations: Sequence[Citation]) -> None:
    """What a citation quotes stands in the chunk that it names, which has its page and heading."""
    for each in citations:
        (chunk,) = agent.store.get_documents_by_ids([each.chunk_id])
        assert isinstance(chunk, Chunk)
        assert each.quote in chunk.content
        assert (each.page, each.heading) == (chunk.metadata.page, chunk.metadata.heading)


@pytest.mark.parametrize(("name", "make"), [("a.pptx", slides), ("a.xlsx", sheets), ("a.pdf", printed)])
def test_short_pages_are_cited_one_by_one(tmp_path: Path, name: str, make: Any):
    make(tmp_path / name)
    agent = agent_of(tmp_path / name, " ".join(PAGES))
    found = agent("When does Falcon start, what is the budget, who leads the team?").content_any.citations
    assert [each.page for each in found] == [1, 2, 3]
    assert all(each.line <= 3 <= each.end_line and PAGES[each.number - 1] in each.quote for each in found)
    check(agent, found)
    (hit,) = agent.retriever.retrieve("budget")
    assert all(text in hit.chunk.content for text in PAGES)
    assert hit.chunk.metadata.citation.startswith(f"{tmp_path / name}, page 1, line 1 to page 3, line ")


def test_the_heading_and_the_chunk_are_those_of_the_quote(tmp_path: Path):
    filler = "Filler words about nothing here. " * 10
    rooms = {"Rent": "The rent is 950 EUR.", "Pets": "Dogs are welcome.", "Deposit": "The deposit is 2000 EUR."}
    texts = [f"## {name}\n\n{text} {filler}\n\n" for name, text in rooms.items()]
    (tmp_path / "lease.md").write_text("# Lease\n\n" + "".join(texts))
    agent = agent_of(tmp_path / "lease.md", " ".join(rooms.values()))
    found = agent("Are dogs welcome, and what are deposit and rent?").content_any.citations
    assert [each.heading for each in found] == ["Lease > Rent", "Lease > Pets", "Lease > Deposit"]
    check(agent, found)


def test_what_is_left_of_a_passage_knows_its_pages(tmp_path: Path):
    printed(tmp_path / "a.pdf")
    agent = agent_of(tmp_path / "a.pdf")
    (passage,) = agent.get_relevant_chunks("budget")
    assert len({passage.about(passage.content.index(text)).page for text in PAGES}) == 3
    extract = RelevanceExtractor(ScriptedModel(['{"sentences": [2, 3]}', '{"sentences": [2]}']))
    (left,) = extract("budget?", [Hit(passage, 1.0)])
    assert left.chunk.metadata.citation.endswith("page 2, line 1 to page 3, line 3")
    assert left.chunk.about(left.chunk.content.index("Ada")).page == 3
    (alone,) = extract("budget?", [Hit(passage, 1.0)])
    assert alone.chunk.metadata.citation.endswith("page 2, lines 1-3")


def test_two_sentences_on_two_pages_are_not_cited_as_one(tmp_path: Path):
    (tmp_path / "a.pdf").write_bytes(pdf([["The boiler hums."], ["It costs 80 EUR."]]))
    agent = agent_of(tmp_path / "a.pdf", "The boiler costs 80 EUR.")
    check(agent, agent("What does the boiler cost?").content_any.citations)
