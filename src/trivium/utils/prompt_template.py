"""Prompt templates, at the documented path."""

from trivium.prompts import (
    PromptTemplate,
    PromptTemplateError,
    find_unfilled_variables,
    is_prompt_fully_filled,
    render_prompt,
)

__all__ = [
    "PromptTemplate",
    "PromptTemplateError",
    "find_unfilled_variables",
    "is_prompt_fully_filled",
    "render_prompt",
]
