"""What agents that write their calls in the text are told: at the documented path."""

from __future__ import annotations

import json
from typing import Any

from trivium.actions import descriptions_of
from trivium.prompts import PromptTemplate

__all__ = ["get_plugin_prompt"]


def get_plugin_prompt(actions: Any, api_desc_template: str | None = None) -> str:
    """What a model is told of actions: their descriptions as JSON, each API of a toolkit by its whole name.

    Args:
        actions: actions, tools, functions or configs of actions; one or several.
        api_desc_template: in place of JSON, the text for each description, with its keys as `{name}`.

    Raises:
        PromptTemplateError: the template names a key that a description does not have.

    Example:
        >>> def add(a: int, b: int) -> int:
        ...     "Add two numbers."
        ...     return a + b
        >>> get_plugin_prompt(add, "{name}: {description}")
        'add: Add two numbers.'
    """
    found = descriptions_of(actions)
    if api_desc_template is None:
        return json.dumps(found, ensure_ascii=False, indent=4)
    template = PromptTemplate(api_desc_template)
    said = [{name: each[name] for name in template.variables if name in each} for each in found]
    return "\n".join(template.format(**each) for each in said)
