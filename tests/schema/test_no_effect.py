"""Options without effect: accepted, warned of where they are set, listed in one table."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest

from trivium import ChatAgent, ChatAgentConfig, ToolMessage
from trivium.agents.special import DocChatAgentConfig
from trivium.language_models import MockLMConfig, OpenAIGPTConfig, RetryParams
from trivium.parsing import ParsingConfig
from trivium.prompts.prompts_config import PromptsConfig
from trivium.schema import ConfigModel, NoEffect, NoEffectWarning
from trivium.utils.configuration import Settings

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("config", "option", "value"),
    [
        (ChatAgentConfig, "show_stats", False),
        (DocChatAgentConfig, "context_overflow_strategy", "drop_turns"),
        (MockLMConfig, "min_output_tokens", 1),
        (OpenAIGPTConfig, "use_cached_client", False),
        (RetryParams, "jitter", False),
        (ParsingConfig, "min_chunk_chars", 9),
        (PromptsConfig, "max_tokens", 9),
        (Settings, "nofunc", True),
    ],
)
def test_an_option_without_effect_warns_at_the_line_that_sets_it(config: Callable[..., Any], option: str, value: Any):
    with pytest.warns(NoEffectWarning, match=rf"{option}=…\) has no effect: ") as caught:
        made = config(**{option: value})
    assert getattr(made, option) == value
    assert [each.filename for each in caught] == [__file__]


def test_the_default_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config = ChatAgentConfig(show_stats=True, human_prompt=ChatAgentConfig().human_prompt)
        config.debug = False
        config.model_copy(update={"name": "Ada", "debug": False})


def set_attribute(config: ChatAgentConfig) -> None:
    config.debug = True


def copy(config: ChatAgentConfig) -> None:
    config.model_copy(update={"debug": True})


def inherit(_: ChatAgentConfig) -> None:
    class Mine(ChatAgentConfig):
        debug: bool = True

    assert Mine().debug


@pytest.mark.parametrize(
    "set_it",
    [
        set_attribute,
        copy,
        inherit,
    ],
    ids=["attribute", "copy", "subclass"],
)
def test_it_warns_however_it_is_set(set_it: Callable[[Any], Any]):
    with pytest.warns(NoEffectWarning, match=r"debug=…\) has no effect: nothing is printed") as caught:
        set_it(ChatAgentConfig())
    assert [each.filename for each in caught] == [__file__]


def test_a_setting_of_a_tool_message_without_effect_warns_too():
    with pytest.warns(NoEffectWarning, match="Square._max_retained_tokens has no effect") as caught:

        class Square(ToolMessage):
            request: str = "square"
            purpose: str = "To square a <number>."
            _max_retained_tokens = 20

    assert [each.filename for each in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        class Cube(Square):  # what it inherits was told
            request: str = "cube"

    assert Cube.name() == "cube"


def test_a_config_of_ones_own_inherits_the_options_and_may_use_one_again():
    with pytest.warns(NoEffectWarning, match="debug"):  # unless it reads the option itself

        class Mine(ChatAgentConfig):
            debug: bool = True
            old: Annotated[int, NoEffect("use `name`")] = 3

    assert "debug" not in Mine.options_without_effect
    assert Mine.options_without_effect["old"] == "use `name`"
    assert "show_stats" in Mine.options_without_effect
    with pytest.warns(NoEffectWarning, match="use `name`"):
        Mine(debug=False, old=4)


def test_a_config_says_in_its_class_which_options_have_no_effect():
    assert ConfigModel.options_without_effect == {}
    assert "min_output_tokens" in OpenAIGPTConfig.options_without_effect
    assert "chat_model" not in OpenAIGPTConfig.options_without_effect


@pytest.mark.parametrize("llm", [42, 1.5, object(), ["gpt-5"], b"gpt-5"])
def test_a_config_refuses_what_cannot_be_a_model(llm: Any):
    possible = r"llm is a model, its name \(as 'openai:gpt-5-mini'\), its config, or None for no model, not "
    with pytest.raises(ValueError, match=possible):
        ChatAgentConfig(llm=llm)
    with pytest.raises(ValueError, match=possible):
        ChatAgent(llm)


def test_the_table_is_up_to_date():
    command = [sys.executable, str(ROOT / "scripts/options.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=50)
    assert checked.returncode == 0, f"run scripts/options.py\n{checked.stdout}{checked.stderr}"
