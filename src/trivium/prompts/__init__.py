"""Prompts: templates whose variables are filled in, and nothing else."""

from trivium.exceptions import PromptTemplateError
from trivium.prompts._template import PromptTemplate, find_unfilled_variables, is_prompt_fully_filled, render_prompt

__all__ = [
    "PromptTemplate",
    "PromptTemplateError",
    "find_unfilled_variables",
    "is_prompt_fully_filled",
    "render_prompt",
]
