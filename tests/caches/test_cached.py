"""Models that answer from a cache: what is kept, under which key, and what a replay costs."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium import Agent, Limits
from trivium.caches import SQLiteCache
from trivium.commander import Event, driver_neutral, gather, run_sync
from trivium.exceptions import AnswerFormatError, CacheError, ConfigurationError
from trivium.language_models import OpenAIGPT, OpenAIGPTConfig
from trivium.language_models.openai_gpt import OpenAICallParams
from trivium.llms import (
    CachedModel,
    CacheEvent,
    Capabilities,
    ClaudeModel,
    Delta,
    Dialect,
    FallbackModel,
    Finish,
    GoogleModel,
    LocalModel,
    Logprobs,
    Lookup,
    OpenAIModel,
    OverflowModel,
    Price,
    Profile,
    Reasoning,
    ReasoningState,
    Request,
    TokenLogprob,
    ToolCallPart,
)
from trivium.observers import RunRecord
from trivium.schema import ToolSpec, Usage
from trivium.testing import ScriptedModel
from trivium.utils.configuration import Settings, temporary_settings

from ._memory import Memory

ASK = [{"role": "user", "content": "hi"}]
KEY = "sk-marked-secret"


@dataclass
class Person:
    name: str
    age: int


class Broken(Memory):
    """A cache that is full."""

    async def set(self, key: str, value: str, ttl: float | None = None) -> None:
        raise CacheError("no room", "here")


def deltas_of(model: Any, request: Request | None = None) -> list[Delta]:
    async def collect() -> list[Delta]:
        return [each async for each in model.stream(request or Request(ASK))]

    return asyncio.run(collect())


WHOLE: list[Delta] = [
    Reasoning("Let "),
    Reasoning("me see."),
    "",
    "Hel",
    "lo ü \ud83d",
    Logprobs((TokenLogprob("Hel", -0.5, (("Hel", -0.5), ("Hi", -1.25))), TokenLogprob("lo", -0.0))),
    ToolCallPart(0, "call_1", "add", '{"a":'),
    ToolCallPart(0, None, None, " 1}"),
    ToolCallPart(1, "call_2", "add", ""),
    ReasoningState("anthropic", "m", ({"type": "thinking", "signature": "x"}, {"type": "redacted", "n": [1, None]})),
    Usage(10, 5, 0.0, 3, 2, 4),
    Finish("tool_calls"),
]


def test_a_replay_gives_the_same_pieces_and_costs_nothing(cache: SQLiteCache) -> None:
    model = ScriptedModel([WHOLE, "another"])
    first, again = CachedModel(model, cache), CachedModel(model, cache)
    assert deltas_of(first) == WHOLE
    replay = deltas_of(again)
    assert replay == [Usage() if isinstance(each, Usage) else each for each in WHOLE if each != ""]
    assert [type(each) for each in replay] == [type(each) for each in WHOLE if each != ""]
    assert len(model.requests) == 1


pieces = st.lists(
    st.text(max_size=5)
    | st.builds(Reasoning, st.text(max_size=5))
    | st.builds(ToolCallPart, st.integers(0, 3), st.none() | st.text(max_size=3), st.none() | st.just("f"), st.just(""))
    | st.builds(Usage, st.integers(0, 99), st.integers(0, 99), st.floats(0, 9))
    | st.builds(Logprobs, st.tuples(st.builds(TokenLogprob, st.text(max_size=3), st.floats(-9, 0), st.just(())))),
    max_size=8,
)


@given(pieces)
def test_any_answer_comes_back_as_it_was(deltas: list[Delta]) -> None:
    memory, model = Memory(), ScriptedModel([["x", *deltas], "other"])
    first, again = deltas_of(CachedModel(model, memory)), deltas_of(CachedModel(model, memory))
    free = [Usage() if isinstance(each, Usage) else each for each in first if each != ""]
    assert again == (free if Usage() in free else [*free, Usage()]), "limits of tokens would estimate it"


@pytest.mark.parametrize(
    "answer",
    [
        ["half", Finish("length")],
        ["filtered", Finish("content_filter")],
        [Reasoning("only thoughts"), Finish("stop")],
        [ToolCallPart(0, "c", "add", '{"a": '), Finish("tool_calls")],
        ValueError("broken"),
    ],
    ids=str,
)
def test_an_answer_that_is_not_whole_is_not_kept(answer: Any, cache: SQLiteCache) -> None:
    model = ScriptedModel([answer, ["good", Finish("stop")]])
    kept = CachedModel(model, cache)
    if isinstance(answer, Exception):
        with pytest.raises(ValueError, match="broken"):
            deltas_of(kept)
    else:
        deltas_of(kept)
    assert deltas_of(kept) == ["good", Finish("stop")]
    assert deltas_of(kept) == ["good", Finish("stop"), Usage()]
    assert len(model.requests) == 2


@pytest.mark.parametrize("bad", ["no JSON", '{"m": 1}', "[1]"])
@pytest.mark.parametrize("good", ['{"n": 1}', '```json\n{"n": 1}\n```', [ToolCallPart(0, "c", "add", "{}")]])
def test_a_typed_answer_that_cannot_fit_is_not_kept(bad: str, good: Any, cache: SQLiteCache) -> None:
    model = ScriptedModel([bad, good, "never"])
    kept = CachedModel(model, cache)
    asked = Request(ASK, output_schema={"type": "object", "properties": {"n": {}}, "required": ["n"]})
    first, second, third = (deltas_of(kept, asked) for _ in range(3))
    assert first != second == third[: len(second)]
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    ("bad", "good", "kind", "value"),
    [
        ('{"name": 3, "age": "x"}', '{"name": "Ann", "age": 3}', Person, Person("Ann", 3)),
        ('{"name": "Ann"}', '{"name": "Ann", "age": "3"}', Person, Person("Ann", 3)),
        ('["x"]', "[1, 2]", list[int], [1, 2]),
        ('{"value": "x"}', "3", int, 3),
    ],
)
def test_the_type_of_an_agent_decides_what_is_kept(bad: str, good: str, kind: Any, value: Any) -> None:
    memory, model = Memory(), ScriptedModel([bad, good, good, "never"])
    agent = Agent(CachedModel(model, memory), memory=False, repairs=0)[kind]
    with pytest.raises(AnswerFormatError):
        agent("hi")
    assert memory.texts == {}
    assert [agent("hi").output, agent("hi").output] == [value, value]
    (key,) = memory.texts
    memory.texts[key] = json.dumps([bad, ["Finish", "stop"]])  # as older versions stored it
    assert [agent("hi").output, agent("hi").output] == [value, value]


def test_an_answer_that_nobody_read_to_its_end_is_not_kept_and_others_go_on(cache: SQLiteCache) -> None:
    model = ScriptedModel([["a", "b"]])
    kept = CachedModel(model, cache)

    async def leave() -> None:
        stream = kept.stream(Request(ASK))
        assert await anext(stream) == "a"
        await stream.aclose()

    asyncio.run(leave())
    assert deltas_of(kept) == ["a", "b"]
    assert len(model.requests) == 2


# ---- keys
TOOL = ToolSpec("f", "does", {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}})
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
FULL = Request(
    [{"role": "system", "content": "be kind"}, {"role": "user", "content": [{"type": "text", "text": "hi"}, IMAGE]}],
    [TOOL],
    "auto",
    {"type": "object", "properties": {"x": {}}},
    {"temperature": 0.5, "stop": ["a", "b"], "seed": 1},
)


def model_of(**options: Any) -> OpenAIModel:
    given: dict[str, Any] = {"model": "m", "base_url": "http://localhost:1/v1", "api_key": "k"}
    given |= {"parameters": {"top_p": 0.5}, **options}
    return OpenAIModel(**given)


def key_of(request: Request = FULL, **options: Any) -> str:
    return CachedModel(model_of(**options), Memory()).key(request)


def changed(value: Any) -> Iterator[Any]:
    """The value with one thing changed, at every place in turn."""
    if isinstance(value, Mapping):
        given = cast("Mapping[str, Any]", value)
        for name in given:
            yield from ({**given, name: each} for each in changed(given[name]))
            yield {other: given[other] for other in given if other != name}
        yield {**given, "more": 1}
    elif isinstance(value, list | tuple):
        items = list(cast("list[Any]", value))
        for place, item in enumerate(items):
            yield from ([*items[:place], each, *items[place + 1 :]] for each in changed(item))
            yield [*items[:place], *items[place + 1 :]]
        yield [*items, "more"]
    elif isinstance(value, ToolSpec):
        for name in ("name", "description", "parameters", "strict"):
            given = {each: getattr(value, each) for each in ("name", "description", "parameters", "strict")}
            yield from (ToolSpec(**{**given, name: each}) for each in changed(given[name]))
    elif isinstance(value, bool):
        yield not value
    else:
        yield f"{value} " if isinstance(value, str) else value + 1


def test_a_change_of_anything_in_a_request_or_model_changes_the_key() -> None:
    keys = [key_of()]
    for name in {*Request._fields} - {"reader"}:  # the schema tells what it reads
        keys += [
            key_of(FULL._replace(**{name: each}))
            for each in changed(getattr(FULL, name))
            if name != "tools" or "more" not in each
        ]
    keys += [key_of(model="other"), key_of(base_url="http://localhost:2/v1"), key_of(parameters={"top_p": 0.6})]
    keys.append(CachedModel(ScriptedModel(["x"], "m"), Memory()).key(FULL))
    keys.append(CachedModel(FallbackModel([model_of()]), Memory()).key(FULL))
    keys.append(CachedModel(FallbackModel([(model_of(), {"seed": 2})]), Memory()).key(FULL))
    keys.append(CachedModel(FallbackModel([model_of(parameters={})]), Memory()).key(FULL))
    keys += [key_of(base_url=f"http://localhost:1/v1?tenant={each}") for each in "ab"]
    keys += [key_of(interface="responses"), key_of(capabilities=Capabilities(tools=False))]
    keys.append(key_of(provider=Profile("own", "http://localhost:1/v1", dialect=Dialect(schema=False))))
    strategies = ("drop_oldest", lambda messages: messages[-1:])  # type: ignore[unknown] - of messages
    keys += [CachedModel(OverflowModel(model_of(), each), Memory()).key(FULL) for each in strategies]  # type: ignore[unknown]
    keys += [CachedModel(LocalModel(f"/{each}/model.gguf"), Memory()).key(FULL) for each in "ab"]
    keys += [CachedModel(gpt_with(seed=each), Memory()).key(FULL) for each in (1, 2)]
    assert len(keys) > 60
    assert len(set(keys)) == len(keys)


def gpt_with(**params: Any) -> OpenAIGPT:
    return OpenAIGPT(OpenAIGPTConfig(chat_model="m", params=OpenAICallParams(**params)))


def test_a_key_in_the_address_counts_no_more_than_any_other_key() -> None:
    assert key_of(base_url="http://localhost:1/v1?key=a") == key_of(base_url="http://localhost:1/v1?key=b")


@pytest.mark.parametrize("value", [object(), float("nan"), {1, "a"}])
def test_what_is_no_json_value_is_reported_before_anything_is_asked(value: Any) -> None:
    model = ScriptedModel(["x"])
    with pytest.raises(ConfigurationError, match="no JSON value"):
        CachedModel(model, Memory()).chat("hi", option=value)
    assert model.requests == []


def test_what_is_no_model_or_no_cache_is_refused() -> None:
    for model, cache in (("openai:m", Memory()), (ScriptedModel(["x"]), "answers.db")):
        with pytest.raises(ConfigurationError, match="a model and a cache"):
            CachedModel(model, cache)  # type: ignore[arg-type] - as a newcomer writes it


def shuffled(value: Any, random: random.Random) -> Any:
    if isinstance(value, Mapping):
        given = cast("Mapping[str, Any]", value)
        return {name: shuffled(given[name], random) for name in random.sample(list(given), len(given))}
    return [shuffled(each, random) for each in cast("list[Any]", value)] if isinstance(value, list) else value


@given(st.randoms(use_true_random=False))
def test_the_order_of_keys_the_key_of_the_account_and_a_restart_change_nothing(random: random.Random) -> None:
    same = FULL._replace(
        messages=tuple(shuffled(FULL.messages, random)),
        tools=(ToolSpec("f", "does", shuffled(TOOL.parameters, random)),),
        output_schema=shuffled(FULL.output_schema, random),
        parameters=shuffled(FULL.parameters, random),
    )
    assert key_of(same, api_key=KEY, timeout=5.0, price=Price(1.0, 1.0)) == key_of()


@pytest.mark.parametrize(
    ("kind", "name", "key"),
    [
        (OpenAIModel, "m", "0d04406e3819574e"),
        (OpenAIModel, "gpt-4o", "58622fd511939bdc"),
        (OpenAIModel, "o3", "f98c5d0f800ceeec"),
        (ClaudeModel, "claude-sonnet-4-5", "5920b5ffb15f7871"),
        (GoogleModel, "gemini-2.5-flash", "a338bd0373fc8d06"),
    ],
)
def test_answers_of_earlier_releases_are_found(kind: type[OpenAIModel], name: str, key: str) -> None:
    model = OpenAIModel(name, base_url="http://h/v1") if kind is OpenAIModel else kind(name)
    request = Request([{"role": "user", "content": "x"}])
    assert CachedModel(model, Memory()).key(request).startswith(key)


def test_a_model_of_ones_own_says_what_else_makes_it_another_one() -> None:
    class Tuned:
        name = "tuned"

        def __init__(self, tuning: int) -> None:
            self.cache_identity = ["tuned", tuning]

        def stream(self, request: Request) -> Any:
            yield "x"

    keys = {CachedModel(Tuned(each), Memory()).key(FULL) for each in (1, 2, 2)}
    assert len(keys) == 2


def test_nothing_secret_is_in_the_file(tmp_path: Path) -> None:
    cache = SQLiteCache(tmp_path / "cache.db")
    model = ScriptedModel(["answer"])
    model._transport = model_of(api_key=KEY, base_url=f"http://me:{KEY}@localhost:1/v1")._transport  # type: ignore[attr-defined]
    kept = CachedModel(model, cache)
    assert kept.chat("hi") == "answer"
    cache.close()
    assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.iterdir())
    assert KEY not in repr(kept)


# ---- in a run
class Slow:
    """Answers once all the others have asked too, if they ask."""

    name = "slow"

    def __init__(self) -> None:
        self.asked = 0

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        self.asked += 1
        for _ in range(30):
            await asyncio.sleep(0)
        yield "yes"
        yield Usage(100, 10)


def test_equal_requests_at_once_ask_once(cache: SQLiteCache) -> None:
    model = Slow()
    agent = Agent(CachedModel(model, cache), memory=False)
    record = RunRecord()

    @driver_neutral
    async def ask() -> str:
        return (await agent.acall("hi", listeners=[record])).content

    assert run_sync(lambda: gather(*[ask] * 8)) == ["yes"] * 8
    assert model.asked == 1
    assert record.usage == Usage(100, 10)


def test_where_the_first_of_equal_requests_fails_the_next_asks() -> None:
    model = ScriptedModel([ValueError("broken"), "good"])
    agent = Agent(CachedModel(model, Memory()), memory=False)

    @driver_neutral
    async def ask() -> str:
        try:
            return (await agent.acall("hi")).content
        except ValueError:
            return "failed"

    assert sorted(run_sync(lambda: gather(*[ask] * 4))) == ["failed", "good", "good", "good"]
    assert len(model.requests) == 2


def test_an_answer_from_the_cache_is_reported_and_counts_against_no_limit_but_turns(cache: SQLiteCache) -> None:
    inner = ScriptedModel([["yes", Usage(1000, 1000, 0.5)]])
    agent = Agent(CachedModel(inner, cache), memory=False)
    received: list[Lookup] = []

    def listen(event: Event) -> None:
        if isinstance(event, CacheEvent):
            received.append(event.data)

    assert agent("hi", listeners=[listen]).usage == Usage(1000, 1000, 0.5)
    for _ in range(3):
        assert agent("hi", listeners=[listen], limits=Limits(turns=1, tokens=10, usd=0.01)).usage == Usage()
    assert [each.hit for each in received] == [False, True, True, True]
    assert received[1].saved == Usage(1000, 1000, 0.0) or received[1].saved == Usage(1000, 1000, 0.5)
    assert received[1].key == received[0].key


def test_settings_switch_it_off_here(cache: SQLiteCache) -> None:
    model = ScriptedModel(["one", "two", "three"])
    kept = CachedModel(model, cache)
    with temporary_settings(Settings(cache=False)):
        assert [kept.chat("hi"), kept.chat("hi")] == ["one", "two"]
    assert [kept.chat("hi"), kept.chat("hi")] == ["three", "three"]


def test_an_answer_that_cannot_be_kept_is_given_out_and_it_is_reported() -> None:
    received: list[Any] = []
    agent = Agent(CachedModel(ScriptedModel(["yes"]), Broken()), memory=False)
    assert agent("hi", listeners=[lambda event: received.append(event.data) if event.kind == "cache" else None]).content
    assert isinstance(received[-1].error, CacheError)


def test_what_another_program_put_there_is_no_answer() -> None:
    memory = Memory()
    kept = CachedModel(ScriptedModel(["good"]), memory)
    for text in ("", "null", "[[]]", '[["Nothing", 1]]', '{"a": 1}', "[1]", '[["Finish"]]'):
        memory.texts[kept.key(Request(ASK))] = text
        assert deltas_of(kept) == ["good"]
        assert json.loads(memory.texts[kept.key(Request(ASK))]) == ["good"]
