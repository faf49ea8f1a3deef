"""The tokens of an agent's texts and answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trivium.schema import LLMMessage, LLMTokenUsage, Usage

if TYPE_CHECKING:
    from trivium.agents._names import AgentNames

__all__ = ["count_tokens", "usage_of_response"]

CHARACTERS_PER_TOKEN = 4


def count_tokens(llm: Any, prompt: str | Sequence[LLMMessage]) -> int:
    """Return the tokens of a text or of messages: counted by the model where it can, else estimated."""
    text = prompt if isinstance(prompt, str) else "\n".join(each.content or "" for each in prompt)
    count = getattr(llm, "count_tokens", None)
    return -(-len(text) // CHARACTERS_PER_TOKEN) if count is None else count(text)


def usage_of_response(agent: AgentNames, response: Any, prompt: Any, stream: bool) -> Usage:
    """Return the usage of an answer; it is estimated, and set on the answer, where it has none or was streamed."""
    if response.usage is None or stream:
        counted = (0, 0) if response.cached else (agent.num_tokens(prompt), agent.num_tokens(response.message or ""))
        response.usage = LLMTokenUsage(prompt_tokens=counted[0], completion_tokens=counted[1])
    return response.usage.to_usage()
