"""The support agent with Pydantic AI: three tools, a typed reply, streaming, retries and limits; sync and async."""

import asyncio
import sys
from collections.abc import AsyncIterable

from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, AgentStreamEvent, FunctionToolCallEvent, ModelRetry, RunContext, UsageLimits
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


class Reply(BaseModel):
    text: str
    refunded: float = 0


def find_order(order: str) -> str:
    """Look up an order by its number."""
    return f"{order}: a kettle for 40 euros, sent in parcel P9"


def track(parcel: str) -> str:
    """Look up the place of a parcel."""
    return f"{parcel} was lost on the way"


def refund(order: str, euros: float) -> str:
    """Pay money back for an order."""
    if euros > 40:
        raise ModelRetry(f"only 40 euros were paid for {order}")
    return f"{euros} euros are on their way"


async def show(context: RunContext, events: AsyncIterable[AgentStreamEvent]) -> None:
    async for event in events:
        if isinstance(event, FunctionToolCallEvent):
            print("tool:", event.part.tool_name)


model = OpenAIChatModel("gpt-5-mini", provider=OpenAIProvider(openai_client=AsyncOpenAI(max_retries=3)))
agent = Agent(
    model,
    output_type=Reply,
    instructions="Help the customers of a shop.",
    tools=[find_order, track, refund],
    retries=2,
)
limits = UsageLimits(request_limit=8, tool_calls_limit=10)


def support(question: str) -> Reply:
    with agent.run_stream_sync(question, usage_limits=limits, timeout=60, event_stream_handler=show) as stream:
        for partial in stream.stream_output():
            print(partial.text)
        return stream.get_output()


async def support_async(question: str) -> Reply:
    async with agent.run_stream(question, usage_limits=limits, timeout=60, event_stream_handler=show) as stream:
        async for partial in stream.stream_output():
            print(partial.text)
        return await stream.get_output()


if __name__ == "__main__":
    print(support(sys.argv[1]))
    print(asyncio.run(support_async(sys.argv[1])))
