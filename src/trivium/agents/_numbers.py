"""The tokens of an agent's texts and answers, and requests by the methods that a subclass has written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

from trivium.agents._calls import overrides
from trivium.commander import invoke
from trivium.exceptions import ContextOverflowError
from trivium.llms import Reply
from trivium.schema import LLMMessage, LLMResponse, LLMTokenUsage, Message, Usage

if TYPE_CHECKING:
    from trivium.agents._chat_agent import ChatAgent
    from trivium.agents._names import AgentNames


class CountedResponse(LLMResponse):
    """An answer to a request of the agent's own call: its message has its usage already."""


async def ask_as_written(
    agent: ChatAgent[Any], request: Callable[[], Awaitable[Reply]], history: Iterable[object]
) -> Reply:
    """Request an answer through the documented methods that a subclass has written.

    Args:
        agent: a chat agent, or one of which a subclass has written only `update_token_usage`.
        request: the plain request.
        history: the messages for the model.

    Raises:
        ContextOverflowError: by the agent's own count, the messages do not fit into the model's window.
    """
    entries = [LLMMessage.model_validate(each) for each in history]
    written = {name for name in agent.asking if overrides(agent, name)}
    if "chat_num_tokens" in written:
        tokens, window = agent.chat_num_tokens(entries), getattr(agent.model, "chat_context_length", int)()
        if 0 < window < tokens:
            raise ContextOverflowError(f"send at most {window} tokens, not {tokens}", tokens=tokens, window=window)
    if not written.isdisjoint(("llm_response_messages", "llm_response_messages_async")):
        said: Message = await invoke(agent.llm_response_messages, entries)
        reply = Reply(str(said.content or ""), said.tool_calls, said.usage, None, "", None, ())
    else:
        reply = await request()
    if "update_token_usage" in written:
        used = reply.usage
        counted = used and LLMTokenUsage(prompt_tokens=used.input_tokens, completion_tokens=used.output_tokens)
        agent.update_token_usage(CountedResponse(message=reply.text, usage=counted), entries, stream=False)
    return reply


def usage_of_response(agent: AgentNames, response: LLMResponse, prompt: Any, stream: bool) -> Usage:
    """Return the usage of an answer; it is estimated, and set on the answer, where it has none or was streamed."""
    if isinstance(response, CountedResponse):
        return Usage()
    if response.usage is None or stream:
        counted = (0, 0) if response.cached else (agent.num_tokens(prompt), agent.num_tokens(response.message or ""))
        response.usage = LLMTokenUsage(prompt_tokens=counted[0], completion_tokens=counted[1])
    return response.usage.to_usage()
