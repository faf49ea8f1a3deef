"""MockLM, what a LanguageModel is, and how configs become models."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from trivium import Agent, ChatAgent, ChatAgentConfig, Task
from trivium.exceptions import ArgumentTypeError, ConfigurationError, EmptyAnswerError
from trivium.language_models import (
    LanguageModel,
    LLMConfig,
    MockLM,
    MockLMConfig,
    OpenAIGPT,
    OpenAIGPTConfig,
    RetryParams,
)
from trivium.llms import ChatModel
from trivium.testing import call_tool


def answer(config: MockLMConfig, text: str = "hi") -> str | None:
    return MockLM(config).chat(text).message


@pytest.mark.shows(
    "MockLM", "MockLMConfig", "MockLMConfig.response_dict", "MockLMConfig.response_fn", "MockLMConfig.default_response"
)
def test_an_answer_comes_from_the_dict_then_the_function_then_the_default():
    asked: list[str] = []

    def function(text: str) -> str | None:
        asked.append(text)
        return text.upper() if text == "b" else None

    config = MockLMConfig(response_dict={"a": "one"}, response_fn=function, default_response="else")
    assert [answer(config, text) for text in "abc"] == ["one", "B", "else"]
    assert asked == ["b", "c"]  # not where the dict has it
    assert answer(MockLMConfig()) == "Mock response"


@pytest.mark.shows("MockLMConfig.response_dict")
def test_an_answer_of_the_dict_is_found_by_the_last_message_of_a_user():
    config = MockLMConfig(response_dict={"w": "last", "U": "first", "v\n\nw": "both", "": "nothing"})
    agent = ChatAgent(ChatAgentConfig(llm=config, user_message="U"))
    result = Task(agent, interactive=False, single_round=True).run("w")
    assert result is not None
    assert result.content == "last"
    assert [answer(config, text) for text in ("v\n\nw", "U\n\n", "xw", "")] == [
        "both",
        "Mock response",
        "Mock response",
        "nothing",
    ]


@pytest.mark.shows("MockLMConfig.response_fn_async")
def test_an_async_function_answers_sync_and_async_code():
    async def function(text: str) -> str | None:
        await asyncio.sleep(0)
        return text * 2 if text else None

    config = MockLMConfig(response_fn_async=function, response_fn=lambda text: "never")
    model = MockLM(config)
    assert (model.chat("ab").message, asyncio.run(model.achat("ab")).message) == ("abab", "abab")
    assert asyncio.run(model.agenerate("")).message == "Mock response"


@pytest.mark.parametrize(("given", "text"), [({"a": 1}, '{"a": 1}'), (3, "3"), (RetryParams(), None)])
def test_an_answer_that_is_no_text_becomes_json(given: Any, text: str | None):
    text = given.model_dump_json() if text is None else text
    assert answer(MockLMConfig(response_fn=lambda _: given)) == text


@pytest.mark.parametrize("said", ["", " \n", []])
def test_an_empty_answer_is_an_error_as_of_any_model(said: Any):
    with pytest.raises(EmptyAnswerError):
        answer(MockLMConfig(response_dict={"hi": said}))


def test_a_script_may_hold_calls_and_errors():
    config = MockLMConfig(response_dict={"call": call_tool("f", x=1), "both": ["a", call_tool("f")]})
    called = MockLM(config).chat("call")
    assert [each.function.name for each in called.oai_tool_calls or () if each.function] == ["f"]
    assert MockLM(config).chat("both").message == "a"
    with pytest.raises(ConnectionError):
        answer(MockLMConfig(response_fn=lambda _: ConnectionError("gone")))


def test_the_requests_are_kept_for_the_test():
    model = MockLM(MockLMConfig())
    agent = ChatAgent(ChatAgentConfig(llm=model, system_message="Be kind."))
    agent.llm_response("hi")
    assert [message["content"] for message in model.requests[0].messages] == ["Be kind.", "hi"]
    assert model.get_stream() is False


@pytest.mark.shows("AgentConfig.llm", "ChatAgentConfig.llm")
def test_an_agents_config_takes_the_config_of_a_model():
    config = ChatAgentConfig(name="Ada", llm=MockLMConfig(response_fn=lambda text: text.upper()))
    one, other = ChatAgent(config), ChatAgent(config)
    assert one.llm_response("hi").content == "HI"  # type: ignore[union-attr]
    assert isinstance(one.llm, MockLM)
    assert one.llm is not other.llm
    assert (len(one.llm.requests), len(other.llm.requests)) == (1, 0)
    alone: Any = MockLMConfig()
    assert Agent(alone)("hi").content == "Mock response"


def test_a_task_runs_on_a_scripted_model():
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(response_dict={"2 + 2?": "DONE 4"})))
    result = Task(agent, interactive=False).run("2 + 2?")
    assert result is not None
    assert result.content == "4"


@pytest.mark.shows("LanguageModel", "LanguageModel.create", "LLMConfig.type")
def test_a_config_says_which_kind_of_model_it_is():
    assert type(LanguageModel.create(MockLMConfig())) is MockLM
    assert type(LanguageModel.create(OpenAIGPTConfig(chat_model="gpt-4o"))) is OpenAIGPT
    assert LanguageModel.create(None) is None
    assert LanguageModel.create(OpenAIGPTConfig(type=None)) is None
    assert isinstance(MockLM(), ChatModel)


@pytest.mark.shows("LLMConfig")
def test_a_config_of_no_kind_is_an_error_that_says_what_to_take():
    for make in (lambda: LanguageModel.create(LLMConfig()), lambda: ChatAgent(ChatAgentConfig(llm=LLMConfig()))):
        with pytest.raises(ConfigurationError, match="OpenAIGPTConfig") as caught:
            make()
        assert isinstance(caught.value, ValueError)


@pytest.mark.shows(
    "LLMConfig",
    "LLMConfig.stream",
    "LLMConfig.temperature",
    "LLMConfig.max_output_tokens",
    "LLMConfig.min_output_tokens",
    "LLMConfig.api_base",
    "LLMConfig.timeout",
    "LLMConfig.chat_model",
    "LLMConfig.completion_model",
    "LLMConfig.use_completion_for_chat",
    "LLMConfig.use_chat_for_completion",
    "LLMConfig.formatter",
    "LLMConfig.cache_config",
)
def test_a_config_has_the_documented_fields_and_no_others():
    assert LLMConfig().model_dump() == {
        "type": "openai", "streamer": None, "streamer_async": None, "api_base": None, "formatter": None,
        "max_output_tokens": None, "timeout": 120.0, "chat_model": "", "completion_model": "", "temperature": 0.0,
        "chat_context_length": None, "async_stream_quiet": False, "completion_context_length": None,
        "min_output_tokens": 64, "use_completion_for_chat": False, "use_chat_for_completion": True, "stream": True,
        "cache_config": None, "thought_delimiters": ("<think>", "</think>"), "retry_params": None,
    }  # fmt: skip
    with pytest.raises(ArgumentTypeError, match="did you mean"):
        MockLMConfig(response="x")  # type: ignore[call-arg]


@pytest.mark.shows("weak point 2", "MockLMConfig")
def test_no_variable_of_the_environment_changes_a_config(monkeypatch: pytest.MonkeyPatch):
    for name in MockLMConfig.model_fields:
        monkeypatch.setenv(name.upper(), "foo")
    assert (MockLMConfig().type, MockLMConfig().timeout, answer(MockLMConfig())) == ("mock", 120.0, "Mock response")


def test_a_model_object_keeps_its_own_copy_of_the_config():
    config = MockLMConfig()
    model = MockLM(config)
    model.set_stream(False)
    assert (config.stream, model.config.stream) == (True, False)


@pytest.mark.shows("LanguageModel.update_usage_cost", "weak point 4")
def test_counts_from_many_threads_add_up():
    model = MockLM()
    with ThreadPoolExecutor(4) as pool:
        for _ in range(400):
            pool.submit(model.update_usage_cost, True, 1, 2, 0.5)
    assert model.tot_tokens_cost() == (1200, 200.0)
    assert MockLM().tot_tokens_cost() == (0, 0.0)
