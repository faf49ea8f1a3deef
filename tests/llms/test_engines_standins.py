"""VllmModel and LMDeployPipeline against stand-ins that have the interfaces of the wheels and nothing more."""

from __future__ import annotations

import asyncio
import copy
import pickle
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from operator import mul
from typing import Any

import pytest

from trivium import Agent, AsyncAgent
from trivium.exceptions import ConfigurationError, EngineError, MissingExtraError, ModelError
from trivium.llms import (
    INTERNLM2_META,
    AsyncBaseLLM,
    AsyncLMDeployPipeline,
    AsyncVllmModel,
    BaseLLM,
    Finish,
    LMDeployPipeline,
    Request,
    UsageEvent,
    VllmModel,
)
from trivium.schema import ModelStatusCode, ToolSpec, Usage

from ._engine_standins import CHARACTERS, FACTS, LMDeployStandIn, Record, VllmStandIn
from ._killing import kill_at_first_piece, kill_at_first_piece_async

HELLO = [{"role": "user", "content": "hello"}]
OTHER = [{"role": "user", "content": "other"}]
CHAT = "<USER>HELLO"
PROMPT = "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> VllmStandIn:
    return VllmStandIn(monkeypatch)


@pytest.fixture
def lmdeploy(monkeypatch: pytest.MonkeyPatch) -> LMDeployStandIn:
    return LMDeployStandIn(monkeypatch)


class Case:
    """One engine's sync and async class, with the stand-in below."""

    def __init__(self, engine: Any, sync: Callable[..., Any], twin: Callable[..., Any], names: dict[str, str]) -> None:
        self.engine, self.sync, self.twin, self.names = engine, sync, twin, names


@pytest.fixture(params=["vllm", "lmdeploy"])
def case(request: pytest.FixtureRequest) -> Case:
    engine = request.getfixturevalue(request.param)
    if request.param == "vllm":
        return Case(engine, VllmModel, AsyncVllmModel, {"tokens": "max_tokens", "seed": "seed"})
    return Case(engine, LMDeployPipeline, AsyncLMDeployPipeline, {"tokens": "max_new_tokens", "seed": "random_seed"})


def test_the_facts_are_those_of_released_wheels():
    assert {name: facts["version"] for name, facts in FACTS.items()} == {"lmdeploy": "0.18.0", "vllm": "0.33.0"}
    assert all(len(facts["sha256"]) == 64 and facts["version"] in facts["wheel"] for facts in FACTS.values())


def test_the_stand_ins_refuse_what_the_wheels_do_not_have(vllm: VllmStandIn):
    with pytest.raises(TypeError, match="has no"):
        Record("vllm", "SamplingParams", max_new_tokens=5)
    with pytest.raises(AttributeError):
        _ = vllm.llm_engine.no_such_method
    with pytest.raises(TypeError):
        vllm.add_request("1", "a prompt", no_such_keyword=1)


def test_chat_uses_the_models_own_template_and_generate_none(case: Case):
    model = case.sync("hub/some-model")
    assert (model.name, isinstance(model, BaseLLM)) == ("some-model", True)
    assert model.chat(HELLO).startswith(CHAT)
    assert model.chat([HELLO, OTHER]) == [model.chat(HELLO), model.chat(OTHER)]
    assert model.generate("raw") == "RAW"
    assert model.generate(["raw", "two"]) == ["RAW", "TWO"]


def test_the_meta_template_writes_the_prompt_where_there_is_one(case: Case):
    model = case.sync("path", meta_template=INTERNLM2_META)
    assert model.chat(HELLO) == PROMPT.upper()
    assert case.engine.asked[-1][0] == PROMPT


def test_the_twin_is_awaited_on_any_loop(case: Case):
    model = case.twin("path")
    assert isinstance(model, AsyncBaseLLM)

    async def all_of_it() -> list[Any]:
        growing = [item async for item in model.stream_chat(HELLO)]
        return [await model.chat(HELLO), await model.chat([HELLO, OTHER]), await model.generate("raw"), growing]

    for _ in range(2):  # a second loop has the same engine
        one, two, raw, growing = asyncio.run(all_of_it())
        assert one == two[0] == growing[-1][1]
        assert raw == "RAW"


def test_copies_share_the_engine_and_no_other_process_can_have_it(case: Case):
    model = case.sync("path")
    assert copy.deepcopy([model])[0] is model
    other = copy.copy(model)
    other.gen_params = {}
    assert (other.model is model.model, bool(model.gen_params)) == (True, True)
    with pytest.raises(ConfigurationError, match="cannot be pickled, for its engine is here"):
        pickle.dumps(model)


def test_stream_chat_grows_piece_by_piece(case: Case):
    model = case.sync("path", meta_template=INTERNLM2_META)
    items = list(model.stream_chat(HELLO))
    assert items[1] == (ModelStatusCode.STREAM_ING, PROMPT.upper()[: 2 * CHARACTERS], None)
    assert items[-1] == (ModelStatusCode.END, PROMPT.upper(), None)
    assert case.engine.ended == []


def test_parameters_arrive_by_the_engines_names(case: Case):
    model = case.sync("path", max_new_tokens=7, top_k=3, temperature=0.5, repetition_penalty=1.1)
    model.generate("x", seed=4, top_p=None, skip_special_tokens=True)
    sent = case.engine.asked[-1][1]
    expected = {case.names["tokens"]: 7, case.names["seed"]: 4, "top_k": 3, "temperature": 0.5}
    assert {**sent, **expected, "repetition_penalty": 1.1, "skip_special_tokens": True} == sent
    assert "top_p" not in sent
    model.generate("x")
    assert case.engine.asked[-1][1]["skip_special_tokens"] is False


def test_parameters_of_a_call_never_stick(case: Case):
    model = case.sync("path", stop_words=["never"])
    before = dict(model.gen_params)
    assert model.generate("one two three", stop_words=["TWO"]) == "ONE "
    assert model.generate("one two three", max_tokens=2) == "ONE TW"
    assert model.gen_params == before
    assert model.generate("one two three") == "ONE TWO THREE"
    model.gen_params["stop_words"].append("THREE")
    assert model.generate("one two three") == "ONE TWO "
    assert model.generate("one two three", stop_words=None) == "ONE TWO THREE"


def test_a_stop_word_cuts_at_the_first_across_pieces_and_aborts_the_rest(case: Case):
    model, messages = case.sync("path"), [{"role": "user", "content": "hello " * 9}]
    *pieces, usage, finish = model.stream(Request(messages, parameters={"stop": ["LLO", "ZZ"]}))
    assert "".join(pieces) == "<USER>HE"
    assert (usage.output_tokens, finish) == (4, Finish("stop"))
    assert len(case.engine.ended) == 1


def test_usage_and_the_reason_are_reported(case: Case):
    model = case.sync("path", meta_template=INTERNLM2_META, max_new_tokens=4)
    with Agent(model).stream("hello") as events:
        assert [event.data for event in events if isinstance(event, UsageEvent)] == [Usage(len(PROMPT), 4)]
    assert list(model.stream(Request(HELLO)))[-1] == Finish("length")


def test_agents_remember_with_it_sync_and_async(case: Case):
    agent = Agent(case.sync("path"))
    assert str(agent("hello").content).startswith(CHAT)
    assert str(agent("again").content).startswith(f"{CHAT}<ASSISTANT>{CHAT}")

    async def talk() -> list[Any]:
        other = AsyncAgent(case.twin("path"), parameters={"max_tokens": 3})
        return [(await other.acall("hello")).content, (await other.acall("again", max_tokens=4)).content]

    assert asyncio.run(talk()) == [CHAT[:9], "<USER>HELLO<"]
    assert str(Agent(case.twin("path"))("hello").content).startswith(CHAT)


def test_many_at_once_get_each_their_own(case: Case):
    model, texts = case.sync("path", max_new_tokens=99), [f"number {number} " * 9 for number in range(12)]
    agent = AsyncAgent(case.twin("path", max_new_tokens=99))

    async def together() -> list[Any]:
        return [each.content for each in await asyncio.gather(*[agent.acall(text, session_id=text) for text in texts])]

    alone = [model.chat([{"role": "user", "content": text}]) for text in texts]
    assert asyncio.run(together()) == alone
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(model.chat, [[{"role": "user", "content": text}] for text in texts])) == alone
    assert case.engine.ended == []


def test_leaving_or_killing_aborts_the_request_sync_and_async(case: Case):
    case.engine.answer = partial(mul, 500)
    model = case.sync("path", max_new_tokens=9999)
    with closing(model.stream_chat(HELLO)) as growing:
        next(growing)
    assert len(case.engine.ended) == 1
    assert kill_at_first_piece(Agent(model)).startswith("<us")
    assert len(case.engine.ended) == 2
    asyncio.run(kill_at_first_piece_async(AsyncAgent(case.twin("path", max_new_tokens=9999))))
    assert len(case.engine.ended) == 3


def test_close_ends_the_engine_once_and_then_it_says_so(case: Case):
    with case.sync("path") as model:
        assert model.generate("raw") == "RAW"
    model.close()
    assert case.engine.closed == 1
    with pytest.raises(EngineError, match="was closed"):
        model.generate("raw")


def test_what_the_engine_does_not_take_is_a_typed_error(case: Case):
    model = case.sync("path")
    with pytest.raises(ConfigurationError, match="does not take these parameters"):
        model.generate("x", no_such_parameter=1)
    with pytest.raises(ModelError, match="path") as caught:
        model.generate("this is too long")
    assert not isinstance(caught.value, EngineError)
    with pytest.raises(ConfigurationError, match="answers text and cannot be given tools"):
        model.stream(Request(HELLO, (ToolSpec("f", "", {}),)))
    with pytest.raises(EngineError, match="does not start with path"):
        case.sync("path", 1, {"no_such_setting": 1}) if case.sync is VllmModel else case.sync(
            "path", None, 1, {"no_such_setting": 1}
        )


def test_a_missing_package_is_an_error_with_the_install_line(case: Case, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, case.engine.package, None)
    with pytest.raises(MissingExtraError, match=f"pip install {case.engine.package}"):
        case.sync("path")


def test_vllm_is_made_with_the_settings_and_without_foreign_code(vllm: VllmStandIn):
    VllmModel("path", 2, {"gpu_memory_utilization": 0.5, "max_model_len": 99})
    VllmModel("path", trust_remote_code=True)
    settings = {"model": "path", "tensor_parallel_size": 2, "trust_remote_code": False}
    assert vllm.made[0] == {**settings, "gpu_memory_utilization": 0.5, "max_model_len": 99}
    assert vllm.made[1]["trust_remote_code"] is True


def test_vllm_stops_by_itself_too(vllm: VllmStandIn):
    VllmModel("path", stop_words="</s>").generate("x")
    assert vllm.asked[-1][1]["stop"] == ["</s>"]


def test_vllm_writes_messages_by_the_template_it_was_given(vllm: VllmStandIn):
    vllm.chat_template = "mine:"
    assert VllmModel("path").chat(HELLO).startswith("MINE:<USER>")
    vllm.chat_template, vllm.tokenizer.chat_template = None, None
    assert VllmModel("path").chat([*HELLO, *OTHER]) == "HELLO\nOTHER"
    vllm.tokenizer.chat_template = "…"
    with pytest.raises(ConfigurationError, match="cannot write these messages"):
        VllmModel("path").chat([{"role": "environment", "content": "4"}])


def test_vllm_works_on_requests_of_several_threads_in_the_same_steps(vllm: VllmStandIn):
    model = VllmModel("path", max_new_tokens=99)
    vllm.meeting = threading.Barrier(3).wait
    vllm.working = partial(time.sleep, 0.001)  # room for another thread to come in, if one could
    model.generate(["a" * 200, "b" * 200, "c" * 200])
    assert vllm.largest > 1
    assert vllm.steps < 3 * 200 / CHARACTERS


def test_a_vllm_engine_that_fails_is_a_typed_error_for_each(vllm: VllmStandIn):
    model = VllmModel("path")
    vllm.failure = RuntimeError("out of memory")
    with pytest.raises(EngineError, match="the engine of path failed: out of memory"):
        model.generate(["one", "two"])
    vllm.failure = None
    assert model.generate("one") == "ONE"


def test_lmdeploy_is_made_with_the_settings_and_without_foreign_code(lmdeploy: LMDeployStandIn):
    LMDeployPipeline("path", "internlm2", 2, {"session_len": 99})
    LMDeployPipeline("path", trust_remote_code=True)
    first, second = lmdeploy.made
    assert first["backend_config"].values == {"tp": 2, "session_len": 99}
    assert first["chat_template_config"].values == {"model_name": "internlm2"}
    assert (first["trust_remote_code"], second["trust_remote_code"]) == (False, True)
    assert second["chat_template_config"] is None
    whole = Record("lmdeploy", "PytorchEngineConfig", tp=4)
    LMDeployPipeline("path", pipeline_cfg=whole)
    assert lmdeploy.made[-1]["backend_config"] is whole


def test_lmdeploy_draws_where_the_temperature_says_so_or_it_was_told_to(lmdeploy: LMDeployStandIn):
    model = LMDeployPipeline("path")
    model.generate("x", temperature=0)
    model.generate("x", temperature=0.1)
    LMDeployPipeline("path", do_sample=False).generate("x")
    assert [sent["do_sample"] for _, sent in lmdeploy.asked] == [False, True, False]
    with pytest.raises(ConfigurationError, match="does not take these parameters"):
        model.generate("x", temperature=9)


def test_lmdeploy_gets_no_stop_words_for_it_would_drop_whole_tokens(lmdeploy: LMDeployStandIn):
    assert LMDeployPipeline("path", stop_words=["W"]).generate("one two three") == "ONE T"
    assert not {"stop", "stop_words"} & lmdeploy.asked[-1][1].keys()
    assert len(lmdeploy.ended) == 1
