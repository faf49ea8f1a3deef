"""The requests that scripted models keep."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from trivium import Agent
from trivium.exceptions import ConfigurationError
from trivium.journal import Journal
from trivium.language_models import MockLM, MockLMConfig
from trivium.testing import RecordedModel, ScriptedModel, call_tool


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ANSWERS = [call_tool("add", a=1, b=2), call_tool("add", a=3, b=4), "seven"]


def scripted(folder: Path) -> Any:
    return ScriptedModel(ANSWERS)


def mocked(folder: Path) -> Any:
    answers = iter(ANSWERS)
    return MockLM(MockLMConfig(response_fn=lambda _: next(answers)))


def recorded(folder: Path) -> Any:
    with closing(Journal(str(folder / "runs.db"))) as journal:
        Agent(ScriptedModel(ANSWERS), tools=[add])("How much?", run_id="a", journal=journal)
        return RecordedModel(journal.view("a"))


@pytest.mark.parametrize("make", [scripted, mocked, recorded])
def test_each_request_is_kept_as_it_was_sent(tmp_path: Path, make: Any):
    model = make(tmp_path)
    assert Agent(model, tools=[add])("How much?").content == "seven"
    roles = [[each["role"] for each in request.messages] for request in model.requests]
    assert roles == [
        ["user"], ["user", "assistant", "tool"], ["user", "assistant", "tool", "assistant", "tool"],
    ]  # fmt: skip


def test_a_model_of_ones_own_keeps_a_request_as_it_was_sent():
    kept: list[Any] = []

    class Own(ScriptedModel):
        def stream(self, request: Any) -> Any:
            kept.append((request, request.as_sent()))
            return super().stream(request)

    Agent(Own(ANSWERS), tools=[add])("How much?")
    assert [len(as_sent.messages) for _, as_sent in kept] == [1, 3, 5]
    assert [as_sent.tools for _, as_sent in kept] == [request.tools for request, _ in kept]


@pytest.mark.parametrize(
    ("answers", "questions", "said"),
    [(["a", "b"], 1, "2 answers, and was asked 1 times: some are left"), (["a"], 2, "asked 2 times: the last was rep")],
)
def test_a_script_that_is_too_long_or_too_short_can_be_noticed(answers: list[str], questions: int, said: str):
    model = ScriptedModel(answers)
    for _ in range(questions):
        Agent(model)("How much?")
    with pytest.raises(AssertionError, match=said):
        model.assert_all_used()


def test_a_script_whose_answers_are_all_used_passes_and_a_function_has_none_to_count():
    model = ScriptedModel(ANSWERS)
    Agent(model, tools=[add])("How much?")
    model.assert_all_used()
    with pytest.raises(ConfigurationError, match="look at `requests`"):
        ScriptedModel(lambda request: "a").assert_all_used()


def test_an_async_function_is_no_script():
    async def answer(request: Any) -> str:
        return "late"

    given: Any = answer
    with pytest.raises(ConfigurationError, match=r"a plain `def`.*async def stream"):
        ScriptedModel(given)
