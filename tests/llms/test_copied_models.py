"""Models are copied and sent to other processes, used or not; what belongs to a process is made anew."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trivium import Agent, ChatAgent, ChatAgentConfig, Task
from trivium.caches import Cache, RedisCache, RedisCacheConfig, SQLiteCache
from trivium.exceptions import ConfigurationError
from trivium.language_models import (
    AzureConfig,
    AzureGPT,
    LanguageModel,
    LLMConfig,
    LLMResponse,
    MockLM,
    MockLMConfig,
    OpenAIGPT,
    OpenAIGPTConfig,
)
from trivium.llms import (
    GPTAPI,
    CachedModel,
    ClaudeAPI,
    ClaudeModel,
    CostLimiter,
    FallbackModel,
    GoogleModel,
    LocalModel,
    OpenAIModel,
    OverflowModel,
    RateLimiter,
    SensenovaAPI,
)
from trivium.testing import ScriptedModel

from ._servers import ChatServer, event_stream

HELLO = event_stream(b'data: {"choices": [{"index": 0, "delta": {"content": "hello"}, "finish_reason": "stop"}]}\n\n')


def pickled(given: Any) -> Any:
    return pickle.loads(pickle.dumps(given))


both = pytest.mark.parametrize("copied", [copy.deepcopy, pickled])


class Own(LanguageModel):
    """A model class of the documents' form."""

    def chat(self, messages: Any, max_tokens: Any = 200, *args: Any, **kwargs: Any) -> LLMResponse:
        return LLMResponse(message="hello")


def upper(text: str) -> str:
    return text.upper()


HERE: list[Callable[[], Any]] = [
    lambda: MockLM(MockLMConfig(response_fn=upper)),
    lambda: Own(LLMConfig()),
    lambda: FallbackModel([ScriptedModel(["hello"]), "openai:gpt-5-mini"]),
    lambda: OverflowModel(ScriptedModel(["hello"]), "drop_oldest"),
]


@both
@pytest.mark.parametrize("make", HERE)
def test_a_copy_of_a_model_answers_as_it_does_used_or_not(make: Callable[[], Any], copied: Callable[[Any], Any]):
    model = make()
    fresh = copied(model)
    wanted = Agent(model)("hello").content
    assert [Agent(each)("hello").content for each in (fresh, copied(model))] == [wanted, wanted]


@both
def test_agents_and_tasks_with_models_of_configs_are_copied(copied: Callable[[Any], Any]):
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(response_fn=upper)))
    task = Task(agent, interactive=False, single_round=True)
    assert task.run("go").content == copied(task).run("go").content == "GO"  # type: ignore[union-attr]  # pyright: ignore


AT_A_SERVER: list[Callable[[str], Any]] = [
    lambda url: OpenAIModel("m", base_url=url, api_key=["k1", "k2"]),
    lambda url: GPTAPI("m", key=["k1", "k2"], org=["o1", "o2"], api_base=url),
    lambda url: SensenovaAPI("m", key=["k1", "k2"], sensenova_api_base=url),
    lambda url: OpenAIGPT(OpenAIGPTConfig(chat_model="m", api_base=url, api_key="k1", organization="o1")),
    lambda url: FallbackModel([OpenAIModel("m", base_url=url, api_key="k1")]),
]


@both
@pytest.mark.parametrize("make", AT_A_SERVER)
def test_a_copy_of_a_model_at_a_server_asks_it_by_connections_of_its_own(
    chat: ChatServer, make: Callable[[str], Any], copied: Callable[[Any], Any]
):
    chat.scripts = [HELLO] * 3
    model = make(chat.url)
    fresh = copied(model)
    assert Agent(model)("hi").content == Agent(fresh)("hi").content == Agent(copied(model))("hi").content == "hello"
    sent = [each.headers for each in chat.received]
    assert {each["authorization"][:-1] for each in sent} == {"Bearer k"}
    assert len({"openai-organization" in each for each in sent}) == 1


@pytest.mark.parametrize(
    "model",
    [
        ClaudeModel("c", api_key="k"), ClaudeAPI("c", key="k"), GoogleModel("g", api_key="k"), GPTAPI("m"),
        AzureGPT(AzureConfig(api_base="http://127.0.0.1:9", deployment_name="d")), LocalModel("small"),
    ],
)  # fmt: skip
@both
def test_a_copy_of_any_model_is_of_the_same_place(model: Any, copied: Callable[[Any], Any]):
    assert (copied(model).name, copied(model).cache_identity) == (model.name, model.cache_identity)


@pytest.mark.slow
def test_the_embedded_model_is_copied_without_its_engine():
    model = LocalModel("small", context=640, parameters={"max_tokens": 8})
    wanted = model.chat("Say hello.")
    assert wanted
    assert [each.chat("Say hello.") for each in (copy.deepcopy(model), pickled(model))] == [wanted, wanted]


@both
def test_a_copy_of_a_cached_model_reads_the_same_file(tmp_path: Path, copied: Callable[[Any], Any]):
    model = CachedModel(ScriptedModel(["one", "two"]), SQLiteCache(tmp_path / "answers.db"))
    assert (model.chat("hi"), copied(model).chat("hi")) == ("one", "one")


@both
def test_a_copy_of_a_cache_on_a_server_has_a_client_of_its_own(copied: Callable[[Any], Any]):
    cache: Cache = copied(RedisCache(RedisCacheConfig(fake=True), prefix="p:"))
    cache.set("a", "b")
    assert cache.get("a") == "b"


@pytest.mark.parametrize("limiter", [RateLimiter(60), CostLimiter(1)])
def test_copies_of_a_model_share_its_limiter_and_only_a_store_takes_it_elsewhere(limiter: Any):
    model, shared = copy.deepcopy((limiter.of(ScriptedModel(["hello"])), limiter))
    assert shared is limiter
    assert model.chat("hi") == "hello"
    with pytest.raises(ConfigurationError, match="give it store="):
        pickle.dumps(model)
