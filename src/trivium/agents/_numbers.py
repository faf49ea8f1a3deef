"""The tokens of an agent's texts and answers, and requests by the methods that a subclass has written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from trivium.agents._calls import overrides
from trivium.commander import invoke
from trivium.exceptions import ContextOverflowError
from trivium.llms import Reply
from trivium.schema import LLMMessage, LLMResponse, LLMTokenUsage, Message, Usage

if TYPE_CHECKING:
    from trivium.agents._chat_agent import ChatAgent
    from trivium.agents._names import AgentNames

CHARACTERS_PER_TOKEN = 4


def _total(read: Callable[[Usage], Any], change: Callable[[Usage, Any], Usage], doc: str) -> property:
    def write(agent: AgentNames, value: Any) -> None:
        agent.counted = agent.counted + change(agent.used(), value)

    return property(lambda agent: read(agent.used()), write, doc=f"{doc} It goes on counting from what it is set to.")


SESSION_TOKENS = _total(
    attrgetter("total"), lambda used, n: Usage(n - used.input_tokens, -used.output_tokens), "Tokens of the session."
)
SESSION_COST = _total(attrgetter("usd"), lambda used, usd: Usage(usd=usd - used.usd), "US dollars of the session.")


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
