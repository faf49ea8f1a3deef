"""Answers from documents that the model is asked to confirm before anybody sees them: small models seldom abstain."""

from __future__ import annotations

import asyncio
from math import log
from typing import Any, cast

import pytest

from trivium import Task
from trivium.agents.special import DocAnswer, DocChatAgent, DocChatAgentConfig
from trivium.commander import Event
from trivium.knowledge.stores import SQLiteStoreConfig
from trivium.llms import Delta, DeltaEvent, Logprobs, TokenLogprob
from trivium.schema import Message, Usage
from trivium.tasks import NO_ANSWER
from trivium.testing import ScriptedModel, call_tool

from ._documents import LEASE, doc_agent, document

RENT = "The rent is 950 EUR [1]."
SHOWN = f"{RENT}\n\n[1] lease.txt:3"


LONG = document(LEASE + "".join(f"\nRoom {number} has a window.\n" for number in range(20)), "lease.txt")


def said(yes: float) -> list[Delta]:
    """A reply to whether an answer is correct: yes with this probability."""
    top = (("Yes", log(yes)), (" no", log(1 - yes)))
    return ["Yes", Logprobs((TokenLogprob("Yes", log(yes), top),)), Usage(40, 1)]


def is_found(message: Message) -> bool:
    return cast("DocAnswer", message.content_any).found


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        (said(0.9), SHOWN),
        (said(0.7), SHOWN),
        (said(0.6), NO_ANSWER),
        (said(0.1), NO_ANSWER),
        ("Yes", SHOWN),
        ("no", NO_ANSWER),
        ("Maybe", SHOWN),
    ],
)
def test_an_answer_is_shown_if_the_model_probably_finds_it_correct(reply: Any, shown: str):
    pieces: list[str] = []

    def hear(event: Event[Any]) -> None:
        if isinstance(event, DeltaEvent):
            pieces.append(event.piece)

    message = doc_agent([["The rent is ", "950 EUR [2].", Usage(500, 9)], reply], LONG, confirm=True)(
        "How much is the rent?", listeners=[hear]
    )
    assert message.content == shown
    assert is_found(message) == (shown == SHOWN)
    assert [each for each in pieces if each] == [shown]  # at once, and nothing of what was withdrawn
    assert message.usage == (Usage(540, 10) if isinstance(reply, list) else Usage(500, 9))


def test_an_answer_is_confirmed_in_a_loop_too():
    agent = doc_agent([RENT, said(0.7), RENT, said(0.6)], LONG, confirm=True)
    asked = [asyncio.run(agent.answer_from_docs_async("How much is the rent?")) for _ in range(2)]
    assert [is_found(each) for each in asked] == [True, False]


def test_the_question_is_one_token_behind_the_answer():
    agent = doc_agent([RENT, "Yes"], LONG, confirm=True)
    agent.answer_from_docs("How much is the rent?")
    asked, again = cast("ScriptedModel", agent.model).requests
    *before, answer, question = again.messages
    assert before == list(asked.messages)  # a server that keeps them need not read them again
    assert [answer["role"], question["role"]] == ["assistant", "user"]
    assert (again.parameters["max_tokens"], again.parameters["temperature"]) == (1, 0)


@pytest.mark.parametrize("written", ["DO-NOT-KNOW", "Elephants live in Africa."])
def test_what_the_documents_do_not_support_needs_no_confirmation(written: str):
    agent = doc_agent([written, "yes"], LONG, confirm=True)
    assert not is_found(agent("How much is the rent?"))
    assert len(cast("ScriptedModel", agent.model).requests) == 1


def test_an_answer_from_the_results_of_tools_needs_none():
    def pay() -> str:
        """Tell the pay."""
        return "9 EUR"

    agent = doc_agent([call_tool("pay"), RENT, "no"], LONG, confirm=True, tools=[pay])
    result = Task(agent, interactive=False).run("How much is the rent, and the pay?", turns=4)
    assert result is not None
    assert RENT.removesuffix(" [1].") in result.content
    assert len(cast("ScriptedModel", agent.model).requests) == 2


def test_of_few_sentences_the_check_by_words_is_enough():
    agent = doc_agent([RENT, "no"], confirm=True)
    assert is_found(agent("How much is the rent?"))
    assert len(cast("ScriptedModel", agent.model).requests) == 1


@pytest.mark.parametrize(
    ("name", "confirm", "requests"),
    [
        ("qwen2.5-coder-1.5b", None, 2),
        ("llama-3.2-3b-instruct", None, 2),
        ("gemma3:1b", None, 2),
        ("qwen2.5-coder-0.5b", None, 1),
        ("llama-3.1-70b", None, 1),
        ("phi-13b", None, 1),
        ("qwen3-30b-a3b", None, 1),
        ("gpt-4o", None, 1),
        ("gpt-4o", True, 2),
        ("qwen2.5-coder-1.5b", False, 1),
    ],
)
def test_small_models_are_asked_unless_the_config_says_otherwise(name: str, confirm: bool | None, requests: int):
    model = ScriptedModel([RENT, "yes"], name=name)
    store = SQLiteStoreConfig(embedding=None)
    agent = DocChatAgent(DocChatAgentConfig(llm=model, vecdb=store, conversation_mode=False, confirm=confirm))
    agent.ingest_docs([LONG])
    assert is_found(agent("How much is the rent?"))
    assert len(model.requests) == requests
