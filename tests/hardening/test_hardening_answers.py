"""The thirty bad answers of `hardening.md`, streamed and whole, for each wire format, over a real socket."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from trivium import Agent
from trivium.exceptions import AnswerFormatError, ProviderError, TriviumError
from trivium.llms import ModelProtocol
from trivium.schema import Message
from trivium.testing import ScriptedModel, call_tool

from ._answers import BOTH, EMPTY, REPAIRED, RUNS, SHOWN
from ._bytes_server import BytesServer
from ._page import PAGE, page
from ._said import Call, Said, Wire
from ._trial import (
    AT_ONCE,
    GOOD,
    SECONDS,
    TRIALS,
    WIRES,
    Seen,
    Trial,
    agent_at,
    asked,
    good,
    script_of,
    try_out,
)


@pytest.fixture(scope="module")
def server() -> Iterator[BytesServer]:
    with BytesServer([]) as running:
        yield running


@pytest.fixture(scope="module")
def models(server: BytesServer) -> dict[str, ModelProtocol]:
    return {wire.name: wire.model(server.url, retry=AT_ONCE) for wire in WIRES}


@pytest.mark.parametrize("trial", [each for each in TRIALS if each.applies], ids=str)
def test_a_bad_answer_becomes_what_the_table_says(
    trial: Trial, server: BytesServer, models: dict[str, ModelProtocol]
) -> None:
    check(trial, try_out(trial, models[trial.wire.name], server))


@pytest.mark.parametrize("trial", [each for each in TRIALS if each.applies][::5], ids=str)
def test_the_same_in_a_task(trial: Trial, server: BytesServer, models: dict[str, ModelProtocol]) -> None:
    seen = try_out(trial, models[trial.wire.name], server, in_task=True)
    if trial.expected == EMPTY:  # there a model that says nothing has no response, and is asked again
        assert (seen.words, seen.after) == (SHOWN, GOOD)
        assert isinstance(seen.answer, Message)
        assert seen.answer.content == GOOD
    else:
        check(trial, seen)


@pytest.mark.parametrize("trial", [each for each in TRIALS if each.applies][::7], ids=str)
def test_the_same_in_async_code(trial: Trial, server: BytesServer, models: dict[str, ModelProtocol]) -> None:
    check(trial, try_out(trial, models[trial.wire.name], server, in_loop=True))


@pytest.mark.parametrize("wire", WIRES, ids=[wire.name for wire in WIRES])
def test_a_model_that_never_mends_its_calls_is_given_up(wire: Wire, server: BytesServer) -> None:
    """What was asked stays; what it made of it is remembered with the results, so the session goes on."""
    agent = agent_at(server.url, wire)
    server.play(*[script_of(wire, Said(calls=(Call(name="fly"),), finish="tool_calls"), True)] * 3, then=good(wire))
    assert isinstance(asked(agent, "1 + 2?"), AnswerFormatError)
    assert len(server.bodies) == 3
    assert agent("And then?", timeout=SECONDS).content == GOOD
    assert [problem for body in server.bodies for problem in wire.problems(body)] == []


def test_calls_of_a_model_that_gives_no_ids_have_ids_of_their_own() -> None:
    def now() -> str:
        """Tell the time."""
        return "noon"

    model = ScriptedModel([call_tool("now"), "one", call_tool("now"), "two"])
    agent = Agent(model, tools=[now])
    assert [agent("When?").content, agent("And now?").content] == ["one", "two"]
    calls = [call for message in model.requests[-1].messages for call in message.get("tool_calls", ())]
    assert len({call["id"] for call in calls}) == len(calls) == 2


def check(trial: Trial, seen: Seen) -> None:
    """See that it became what it should, and that the session is none the worse for it."""
    case, expected = trial.case, trial.expected
    assert (seen.words, seen.problems, seen.after) == (expected, [], GOOD), repr(seen)[:2000]
    if expected == SHOWN:
        assert seen.answer.content == case.text  # type: ignore[union-attr]
    elif expected in (RUNS, BOTH):
        assert seen.runs == [*case.runs, *case.runs] if case.next_call else seen.runs == [*case.runs]
    elif expected == REPAIRED:
        assert seen.results[-1].startswith("error: ")
        assert case.says in seen.results[-1]
    if not isinstance(seen.answer, TriviumError):
        return
    assert case.says in str(seen.answer)
    assert isinstance(seen.answer, ProviderError)
    assert seen.answer.raw, "what was sent is not kept"
    assert "; " in str(seen.answer) or ": " in str(seen.answer)  # it says what to do


def test_the_page_says_what_becomes_of_all() -> None:
    """The tests here and those of the transport hold that what is seen is what is expected."""
    assert PAGE.read_text(encoding="utf-8") == page(), "run scripts/hardening_table.py"
