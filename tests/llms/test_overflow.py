"""Messages that do not fit: how it is recognised, what is left out, and that it is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium import Agent
from trivium.exceptions import ConfigurationError, ContextOverflowError
from trivium.llms import Delta, OpenAIModel, OverflowEvent, OverflowModel, Request
from trivium.llms._overflow import ChatMessages, without_oldest
from trivium.llms.http._refusals import overflow
from trivium.testing import ScriptedModel

from ._provider_answers import event_stream, gpt_text, refused, sent
from ._servers import ChatServer

Message = Mapping[str, Any]
TEXTS: dict[str, tuple[int, int]] = {
    "This model's maximum context length is 4097 tokens. However, your messages resulted in 4688 tokens.": (4688, 4097),
    "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the "
    "messages, 8192 in the completion).": (131134, 131072),
    "This model's maximum context length is 8191 tokens, however you requested 8238 tokens (8238 in your prompt; 0 "
    "for the completion).": (8238, 8191),
    '{"code": "context_length_exceeded", "message": "Your input exceeds the context window of this model."}': (0, 0),
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.": (
        300000,
        272000,
    ),
    "prompt is too long: 208310 tokens > 200000 maximum": (208310, 200000),
    "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length": (
        199759,
        200000,
    ),
    "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).": (1200293, 1048576),
    '{"error":{"code":400,"message":"the request exceeds the available context size","type":'
    '"exceed_context_size_error","n_prompt_tokens":5020,"n_ctx":4096}}': (5020, 4096),
    "request (5020 tokens) exceeds the available context size (4096 tokens), try increasing it": (5020, 4096),
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096.": (5000, 4096),
    "Prompt contains 40000 tokens, too large for model with 32768 maximum context length": (40000, 32768),
    "This endpoint's maximum context length is 8192 tokens. However, you requested about 10000 tokens": (10000, 8192),
    "the input length exceeds the context length": (0, 0),
    "Input is too long for requested model.": (0, 0),
}


@pytest.mark.parametrize("text", TEXTS)
def test_each_provider_says_it_in_its_own_words(text: str) -> None:
    assert overflow(text) == TEXTS[text]


@pytest.mark.parametrize(
    "text",
    [
        "Rate limit reached: Limit 6000, Requested 8000 tokens. Please try again in 2s.",
        "max_tokens is too large: 99999",
        "no such model",
        "the API key is too long",
        "",
    ],
)
def test_other_refusals_are_no_overflow(text: str) -> None:
    assert overflow(text) is None


@given(st.text())
def test_any_text_is_an_overflow_or_none(text: str) -> None:
    found = overflow(text)
    assert found is None or min(found) >= 0


def test_the_error_carries_what_is_known_and_is_not_tried_again(chat: ChatServer) -> None:
    chat.scripts = [refused("400 No", next(iter(TEXTS)), "context_length_exceeded"), gpt_text("a")]
    with pytest.raises(ContextOverflowError, match=r"send less.*OverflowModel") as caught:
        OpenAIModel("m", base_url=chat.url).chat("hi")
    assert (caught.value.tokens, caught.value.window, caught.value.status) == (4688, 4097, 400)
    assert len(chat.received) == 1


# ---- what is left out
def say(role: str, text: str = "x" * 100, **more: Any) -> Message:
    return {"role": role, "content": text, **more}


def calls(*ids: str) -> list[Message]:
    """A message that calls tools, and their results."""
    call = say("assistant", "", tool_calls=[{"id": each, "function": {"name": "f", "arguments": "{}"}} for each in ids])
    return [call, *(say("tool", tool_call_id=each) for each in ids)]


TALK = [say("system"), say("user", "1"), *calls("a", "b"), say("assistant"), say("user", "2"), say("assistant")]


def test_the_oldest_turn_goes_whole() -> None:
    messages = [*TALK, say("user", "3")]
    assert without_oldest(messages, 0.99) == [say("system"), say("user", "2"), say("assistant"), say("user", "3")]


def test_all_turns_may_go_but_not_the_system_message_and_the_last_of_the_user() -> None:
    assert without_oldest([*TALK, say("user", "3")], 0.0) == [say("system"), say("user", "3")]


def test_in_the_last_turn_the_oldest_calls_go_with_their_results() -> None:
    messages = [say("user", "1"), *calls("a"), *calls("b", "c"), *calls("d")]
    assert without_oldest(messages, 0.9) == [say("user", "1"), *calls("b", "c"), *calls("d")]
    assert without_oldest(messages, 0.0) == [say("user", "1"), *calls("d")]


@st.composite
def talks(draw: st.DrawFn) -> list[Message]:
    ids = iter(range(1000))
    messages = [say("system", draw(st.text(max_size=20)))] * draw(st.integers(0, 2))
    for _ in range(draw(st.integers(0, 5))):
        messages.append(say("user", draw(st.text(max_size=50))))
        for _ in range(draw(st.integers(0, 3))):
            messages += calls(*(str(next(ids)) for _ in range(draw(st.integers(1, 3)))))
        if draw(st.booleans()):
            messages.append(say("assistant", draw(st.text(max_size=50))))
    return messages


@given(talks(), st.floats(0, 1))
def test_what_is_left_is_a_history_that_every_provider_takes(messages: list[Message], share: float) -> None:
    found = without_oldest(messages, share)
    kept = {id(each) for each in found}
    assert [each for each in messages if id(each) in kept or each["role"] == "system"] == found
    users = [each for each in messages if each["role"] == "user"]
    assert found[-1:] == messages[-1:] or messages[-1]["role"] != "user"
    assert not users or users[-1] in found
    called = {call["id"] for each in found for call in each.get("tool_calls", ())}
    answered = {each["tool_call_id"] for each in found if each["role"] == "tool"}
    assert called == answered
    rest = [each["role"] for each in found if each["role"] != "system"]
    assert not users or rest[0] == "user"
    if without_oldest(messages, 0.0) != messages:
        assert len(found) < len(messages), "at least one piece goes"


# ---- the model
class Small:
    """A window of so many characters."""

    name = "small"

    def __init__(self, window: int, says: bool = True) -> None:
        self.window, self.says = window, says
        self.asked: list[int] = []

    def stream(self, request: Request) -> list[Delta]:
        size = sum(len(each["content"]) for each in request.messages)
        self.asked.append(len(request.messages))
        if size > self.window:
            raise ContextOverflowError("too long", "", 400, *((size, self.window) if self.says else (0, 0)))
        return ["fits"]


LONG = [say("system"), *[say(role) for _ in range(20) for role in ("user", "assistant")], say("user", "last")]


@pytest.mark.parametrize("says", [True, False])
def test_it_is_asked_again_with_less(says: bool) -> None:
    small = Small(2000, says)
    assert OverflowModel(small, "drop_oldest").chat(LONG) == "fits"
    assert len(small.asked) == 2
    assert 2 < small.asked[-1] < len(LONG)


@pytest.mark.parametrize("says", [True, False])
def test_a_conversation_of_any_length_goes_on(says: bool) -> None:
    turns = [say(role) for _ in range(1000) for role in ("user", "assistant")]
    small = Small(500, says)
    assert OverflowModel(small, "drop_oldest").chat([say("system"), *turns, say("user", "last")]) == "fits"
    assert small.asked[-1] >= 2
    with pytest.raises(ContextOverflowError):
        OverflowModel(small, "drop_oldest", max_tries=1).chat(turns)


def test_an_image_counts_as_in_limits_and_does_not_push_all_else_out() -> None:
    photo = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{'A' * 400_000}"}}
    talk = [say(role) for _ in range(60) for role in ("user", "assistant")]
    last = {"role": "user", "content": [{"type": "text", "text": "What is it?"}, photo]}
    found = without_oldest([*talk, last], 0.9)
    assert found[-1] == last
    assert len(talk) * 0.8 < len(found) < len(talk)


def test_what_cannot_fit_says_how_much_was_left_out() -> None:
    with pytest.raises(ContextOverflowError, match=r"too long; 41 of 43 messages were left out.*: shorten the system"):
        OverflowModel(Small(20, says=False), "drop_oldest").chat([*LONG[:-1], say("assistant"), say("user", "x" * 21)])


def test_without_a_strategy_it_is_an_error() -> None:
    with pytest.raises(ContextOverflowError):
        Agent(Small(5))("much too long")


def test_what_was_dropped_is_reported_and_the_memory_keeps_it() -> None:
    agent = Agent(OverflowModel(ScriptedModel(lambda request: _answer(request)), "drop_oldest"))
    for _ in range(3):
        agent("hi")
    stream = agent.stream("hi again")
    told = [event.data for event in stream if isinstance(event, OverflowEvent)]
    assert stream.result.content == "ok"
    assert [each["content"] for each in told[0].dropped][:2] == ["hi", "ok"]
    assert told[0].kept + len(told[0].dropped) == 7
    model = ScriptedModel(["ok"])
    agent.llm = model
    agent("hi")
    assert len(model.requests[0].messages) == 9


def _answer(request: Request) -> Any:
    return "ok" if len(request.messages) < 7 else ContextOverflowError("too long")


def test_a_function_says_what_is_sent_sync_or_async() -> None:
    def last(messages: Sequence[Message]) -> Sequence[Message]:
        return messages[-1:]

    async def shorter(messages: Sequence[Message]) -> Sequence[Message]:
        return messages[-2:]

    for strategy, count in ((last, 1), (shorter, 2)):
        small = Small(250)
        assert OverflowModel(small, strategy).chat(LONG) == "fits"
        assert small.asked == [len(LONG), count]


def test_calls_without_an_id_have_different_ones_in_a_history_of_which_a_part_is_sent(chat: ChatServer) -> None:
    too_long = refused("400 No", next(iter(TEXTS)), "context_length_exceeded")
    call = event_stream(
        sent({"choices": [{"index": 0, "delta": {"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}}]}),
        sent({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
    )
    chat.scripts = [call, gpt_text("a"), too_long, call, too_long, gpt_text("b")]
    agent = Agent(OverflowModel(OpenAIModel("m", base_url=chat.url, api_key="k"), "drop_oldest"), tools=[_f])
    assert [agent("one").content, agent("two").content] == ["a", "b"]
    memory = agent.current_memory()
    assert memory is not None
    assert len({call.id for message in memory.messages for call in message.tool_calls}) == 2


def _f() -> str:
    return "1"


def test_the_tries_are_bounded() -> None:
    small = Small(-1)
    with pytest.raises(ContextOverflowError):
        OverflowModel(small, lambda messages: [*messages, say("user")], max_tries=3).chat("hi")
    assert small.asked == [1, 2, 3]


def without_first(messages: ChatMessages) -> ChatMessages:
    return messages[1:]


@pytest.mark.parametrize(("strategy", "tries"), [(without_first, None), ("drop_oldest", 3)])
def test_where_the_tries_ended_it_the_error_says_so(strategy: Any, tries: int | None) -> None:
    with pytest.raises(ContextOverflowError, match=r"\d+ of 42 messages were left out.*: raise max_tries, or have"):
        OverflowModel(Small(20, says=False), strategy, max_tries=tries).chat(LONG)


def test_where_nothing_can_go_the_error_is_raised() -> None:
    small = Small(5)
    with pytest.raises(ContextOverflowError):
        OverflowModel(small, "drop_oldest").chat("much too long")
    assert len(small.asked) == 1


def test_a_strategy_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        OverflowModel(Small(5), "drop_newest")  # type: ignore[arg-type] - a mistake
    with pytest.raises(ConfigurationError):
        OverflowModel(Small(5), "drop_oldest", max_tries=0)
    with pytest.raises(ConfigurationError, match="the messages to send"):
        OverflowModel(Small(5), lambda messages: None).chat("much too long")  # type: ignore[arg-type] - a mistake
