"""Passages and records themselves, picked by a model that sees them by number."""

from __future__ import annotations

import pytest

from trivium.agents.special import RetrieverAgent
from trivium.llms import DeltaEvent
from trivium.parsing import Chunk
from trivium.tasks import NO_ANSWER
from trivium.testing import ScriptedModel

from ._documents import doc_agent, document

PEOPLE = [document(f"{name}\n", f"{name.split(',')[0]}.txt") for name in (
    "Ada, plumber, Porto", "Bob, baker, Rome", "Cyd, plumber, Oslo",
)]  # fmt: skip


def test_the_passages_that_the_model_names_are_the_answer_in_its_order():
    agent = doc_agent([""], *PEOPLE, kind=RetrieverAgent)
    seen: list[str] = []

    def pick(request: object) -> str:
        seen.append(agent.llm.requests[-1].messages[-1]["content"])
        return '{"passages": [2, 1]}'

    agent.llm = ScriptedModel(pick)
    message = agent("Which plumber is there?")
    found = message.content_any
    assert all(isinstance(each, Chunk) for each in found)
    assert {each.content for each in found} == {"Ada, plumber, Porto", "Cyd, plumber, Oslo"}
    assert message.content == "\n\n".join(f"{each.metadata.citation}\n{each.content}" for each in found)
    assert seen[0].index(found[1].content) < seen[0].index(found[0].content)


def test_where_none_fits_it_says_so():
    message = doc_agent(['{"passages": []}'], *PEOPLE, kind=RetrieverAgent)("Which plumber?")
    assert (message.content, message.content_any) == (NO_ANSWER, [])


@pytest.mark.parametrize(
    ("answer", "count"),
    [("I cannot.", 2), ('{"passages": [9, -1]}', 2), ('{"passages": ["P1"]}', 2), ('{"passages": ["1"]}', 1)],
)
def test_a_model_that_fails_to_pick_loses_nothing(answer: str, count: int):
    message = doc_agent([answer], *PEOPLE, kind=RetrieverAgent)("Which plumber?")
    assert len(message.content_any) == count


def test_without_any_passage_no_model_is_asked():
    agent = doc_agent(["never"], *PEOPLE, kind=RetrieverAgent)
    assert agent("xylophone").content == NO_ANSWER
    assert agent.llm.requests == []


def test_what_the_model_names_is_not_heard():
    heard: list[object] = []
    agent = doc_agent(['{"passages": [1]}'], *PEOPLE, kind=RetrieverAgent)
    agent("Which plumber?", listeners=[lambda event: heard.append(event) if isinstance(event, DeltaEvent) else None])
    assert heard == []
