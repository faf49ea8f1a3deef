"""The support agent with OpenAI's Agents SDK: three tools, a typed reply, streaming, retries and limits."""

import asyncio
import sys

from openai import AsyncOpenAI
from openai.types.responses import ResponseTextDeltaEvent
from pydantic import BaseModel

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    RunContextWrapper,
    RunItemStreamEvent,
    Runner,
    ToolCallItem,
    function_tool,
    set_tracing_disabled,
)


class Reply(BaseModel):
    text: str
    refunded: float = 0


def explain(context: RunContextWrapper[None], error: Exception) -> str:
    return f"error: {error}"


@function_tool(failure_error_function=explain)
def find_order(order: str) -> str:
    """Look up an order by its number."""
    return f"{order}: a kettle for 40 euros, sent in parcel P9"


@function_tool(failure_error_function=explain)
def track(parcel: str) -> str:
    """Look up the place of a parcel."""
    return f"{parcel} was lost on the way"


@function_tool(failure_error_function=explain)
def refund(order: str, euros: float) -> str:
    """Pay money back for an order."""
    if euros > 40:
        raise ValueError(f"only 40 euros were paid for {order}")
    return f"{euros} euros are on their way"


set_tracing_disabled(True)
agent = Agent(
    name="support",
    instructions="Help the customers of a shop.",
    model=OpenAIChatCompletionsModel("gpt-5-mini", AsyncOpenAI(max_retries=3)),
    tools=[find_order, track, refund],
    output_type=Reply,
)


async def support_async(question: str) -> Reply:
    stream = Runner.run_streamed(agent, question, max_turns=8)
    async with asyncio.timeout(60):
        async for event in stream.stream_events():
            if isinstance(event, RunItemStreamEvent) and isinstance(event.item, ToolCallItem):
                print("tool:", event.item.tool_name)
            elif event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent):
                print(event.data.delta)
    return stream.final_output_as(Reply, raise_if_incorrect_type=True)


def support(question: str) -> Reply:
    return asyncio.run(support_async(question))


if __name__ == "__main__":
    print(support(sys.argv[1]))
    print(asyncio.run(support_async(sys.argv[1])))
