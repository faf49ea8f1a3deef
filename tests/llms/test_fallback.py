"""A chain of models: who is asked after whom, and what users see of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest

from trivium import Agent, AsyncAgent
from trivium.exceptions import (
    AllModelsFailedError,
    ConfigurationError,
    ContextOverflowError,
    ModelError,
    ProviderAuthenticationError,
    ProviderBusyError,
    ProviderConnectionError,
    ProviderQuotaError,
    ProviderStatusError,
    RunKilledError,
)
from trivium.llms import (
    Delta,
    FallbackEvent,
    FallbackModel,
    Finish,
    OpenAIModel,
    Request,
    RetryPolicy,
    UsageEvent,
)
from trivium.schema import Usage
from trivium.testing import ScriptedModel, call_tool

from ._provider_answers import gpt_text, refused
from ._servers import ChatServer

ASK = Request([{"role": "user", "content": "hi"}])
GOOD = ScriptedModel(["hello"], "good")
PASSING = [
    ProviderConnectionError("no answer"),
    ProviderBusyError("busy", "", 503),
    ProviderQuotaError("no money", "", 429),
    AllModelsFailedError("none"),
]
LASTING = [
    ProviderAuthenticationError("wrong key", "", 401),
    ProviderStatusError("bad request", "", 400),
    ContextOverflowError("too long"),
    ModelError("no"),
    ValueError("a mistake"),
]


def failing(error: BaseException, name: str = "bad") -> ScriptedModel:
    return ScriptedModel([error], name)


@pytest.mark.parametrize("error", PASSING, ids=repr)
def test_the_next_is_asked_where_the_first_cannot_answer(error: Exception) -> None:
    model = FallbackModel([failing(error), GOOD])
    assert model.chat("hi") == "hello"
    assert asyncio.run(model.chat_async("hi")) == "hello"
    assert Agent(model)("hi").content == "hello"
    assert asyncio.run(AsyncAgent(model).acall("hi")).content == "hello"


@pytest.mark.parametrize("error", LASTING, ids=repr)
def test_any_other_error_is_raised_at_once_unless_asked_for(error: Exception) -> None:
    second = ScriptedModel(["hello"])
    with pytest.raises(type(error)):
        FallbackModel([failing(error), second]).chat("hi")
    assert second.requests == []
    assert FallbackModel([failing(error), second], on=[type(error)]).chat("hi") == "hello"


def test_the_first_that_answers_is_the_only_one_asked() -> None:
    second = ScriptedModel(["no"])
    assert FallbackModel([GOOD, second]).chat("hi") == "hello"
    assert second.requests == []


class Breaking:
    """Gives out a piece, and breaks."""

    name = "breaking"

    def __init__(self, *before: Delta) -> None:
        self.before = before

    def stream(self, request: Request) -> Iterator[Delta]:
        yield from self.before
        raise ProviderConnectionError("broke off")


def test_after_the_first_piece_nobody_else_is_asked() -> None:
    with pytest.raises(ProviderConnectionError, match="broke off"):
        FallbackModel([Breaking("Hel"), GOOD]).chat("hi")


def test_a_sign_of_life_is_no_piece() -> None:
    assert FallbackModel([Breaking("", ""), GOOD]).chat("hi") == "hello"


def test_where_all_fail_the_error_holds_each_cause() -> None:
    errors = PASSING[:3]
    with pytest.raises(AllModelsFailedError, match=r"none of 3 .*0: no answer; 1: busy; 2: no money") as caught:
        FallbackModel([failing(error, str(at)) for at, error in enumerate(errors)]).chat("hi")
    assert list(caught.value.errors) == errors
    assert caught.value.__cause__ is errors[-1]


def test_each_step_is_an_event_and_usage_is_that_of_who_answered() -> None:
    answers = ScriptedModel([["hello", Usage(5, 2), Finish("stop")]], "answers")
    stream = Agent(FallbackModel([failing(PASSING[0], "a"), failing(PASSING[1], "b"), answers])).stream("hi")
    events = list(stream)
    steps = [event.data for event in events if isinstance(event, FallbackEvent)]
    assert [(step.failed, step.error, step.model) for step in steps] == [
        ("a", PASSING[0], "b"),
        ("b", PASSING[1], "answers"),
    ]
    assert [event.data for event in events if isinstance(event, UsageEvent)] == [Usage(5, 2)]
    assert stream.result.content == "hello"


def test_tools_go_through_a_chain() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    model = FallbackModel([failing(PASSING[0]), ScriptedModel([call_tool("add", a=1, b=2), "three"])])
    assert Agent(model, tools=[add])("1 + 2?").content == "three"


def test_a_name_is_looked_up_when_it_is_needed(chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    model = FallbackModel([GOOD, "nonsense:nothing"])
    assert (model.name, model.chat("hi")) == ("good | nonsense:nothing", "hello")
    with pytest.raises(ConfigurationError, match="names no model"):
        FallbackModel([failing(PASSING[0]), "nonsense:nothing"]).chat("hi")
    made: list[str] = []

    def resolve(name: str) -> Any:
        made.append(name)
        return GOOD

    monkeypatch.setattr("trivium.llms._resolve.resolve", resolve)
    model = FallbackModel([failing(PASSING[0]), "openai:gpt-5-mini"])
    assert made == []
    assert [model.chat("hi"), model.chat("hi")] == ["hello", "hello"]
    assert made == ["openai:gpt-5-mini"]


def test_a_link_has_parameters_of_its_own() -> None:
    first, second = failing(PASSING[0]), ScriptedModel(["hello"])
    model = FallbackModel([(first, {"seed": 1}), second])
    model.chat("hi", temperature=0.5)
    assert (first.requests[0].parameters, second.requests[0].parameters) == (
        {"temperature": 0.5, "seed": 1},
        {"temperature": 0.5},
    )


def test_the_next_server_is_asked_after_the_retries_of_the_first(chat: ChatServer) -> None:
    retry = RetryPolicy(max_tries=2, first_delay=0.0)
    chat.scripts = [refused("503 Busy"), refused("503 Busy"), gpt_text("a")]
    first = OpenAIModel("one", base_url=chat.url, retry=retry)
    second = OpenAIModel("two", base_url=chat.url, retry=retry)
    assert FallbackModel([first, second]).chat("hi") == "a"
    assert [each.body["model"] for each in chat.received] == ["one", "one", "two"]


class Endless:
    """Asks others while it never answers: `killed` is told of its end."""

    name = "endless"

    def __init__(self) -> None:
        self.begun, self.ended = asyncio.Event(), asyncio.Event()

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        try:
            self.begun.set()
            await asyncio.Event().wait()
            yield "never"
        finally:
            self.ended.set()


def test_a_kill_ends_the_model_that_is_asked_and_asks_no_other() -> None:
    second = ScriptedModel(["no"])

    async def run() -> None:
        first = Endless()
        task = asyncio.create_task(AsyncAgent(FallbackModel([first, second], on=[Exception])).acall("hi", timeout=60))
        await first.begun.wait()
        task.cancel()
        with pytest.raises((asyncio.CancelledError, RunKilledError)):
            await task
        assert first.ended.is_set()

    asyncio.run(run())
    assert second.requests == []


def test_outside_any_run_a_chain_streams_too() -> None:
    async def run() -> list[Delta]:
        return [delta async for delta in FallbackModel([failing(PASSING[0]), GOOD]).stream(ASK)]

    assert asyncio.run(run()) == ["hello"]


def test_what_is_no_chain_is_refused() -> None:
    for odd in ([5], [()], [("openai:m", 1, 2)]):
        with pytest.raises(ConfigurationError, match="a chain is of models"):
            FallbackModel(odd)  # type: ignore[arg-type] - users pass anything
    with pytest.raises(ConfigurationError, match="at least one model"):
        FallbackModel([])
    with pytest.raises(ConfigurationError, match="classes of errors"):
        FallbackModel([GOOD], on=["busy"])  # type: ignore[list-item] - a mistake
