"""Prompts: templates with variables, and parsers of a model's answers."""

from trivium.exceptions import PromptTemplateError
from trivium.prompts import prompts_config as prompts_config
from trivium.prompts._config import PromptsConfig
from trivium.prompts._template import PromptTemplate, find_unfilled_variables, is_prompt_fully_filled, render_prompt
from trivium.prompts.parsers import (
    CustomFormatParser,
    InterpreterParser,
    JSONParser,
    MixedToolParser,
    PluginParser,
    StrParser,
    ToolParser,
    ToolStatusCode,
    write_json,
)

__all__ = [
    "CustomFormatParser",
    "InterpreterParser",
    "JSONParser",
    "MixedToolParser",
    "PluginParser",
    "PromptTemplate",
    "PromptTemplateError",
    "PromptsConfig",
    "StrParser",
    "ToolParser",
    "ToolStatusCode",
    "find_unfilled_variables",
    "is_prompt_fully_filled",
    "render_prompt",
    "write_json",
]
