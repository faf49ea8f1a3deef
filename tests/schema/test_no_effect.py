"""Options without effect: accepted, warned of where they are set, listed in one table."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest

from trivium import ChatAgent, ChatAgentConfig
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
        ChatAgentConfig(show_stats=True, human_prompt=ChatAgentConfig().human_prompt)
        ChatAgentConfig(name="Ada").model_copy(update={"debug": True})


def test_a_config_of_ones_own_inherits_the_options_and_may_use_one_again():
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
