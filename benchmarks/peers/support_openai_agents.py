"""The support agent with OpenAI's Agents SDK: three tools, a typed reply, streaming, retries and limits."""

import asyncio
import sys

from openai import AsyncOpenAI
from openai.types.responses import ResponseTextDeltaEvent
from pydantic import BaseModel
from pydantic_core import from_json

from agents import (
    Agent,
    Model,
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
    needs_human: bool = False


PAID = {"A17": 40.0}


def explain(context: RunContextWrapper[None], error: Exception) -> str:
    return f"error: {error}"


@function_tool(failure_error_function=explain)
def find_order(order: str) -> str:
    """Look up an order by its number."""
    return f"{order}: a kettle, {PAID[order]} euros paid, sent in parcel P9"


@function_tool(failure_error_function=explain)
def track(parcel: str) -> str:
    """Look up the place of a parcel."""
    return f"{parcel} was lost on the way"


@function_tool(failure_error_function=explain)
def refund(order: str, euros: float) -> str:
    """Pay money back for an order."""
    if euros > PAID[order]:
        raise ValueError(f"only {PAID[order]} euros were paid for {order}")
    return f"{euros} euros are on their way"


def support_agent(model: Model) -> Agent[None]:
    return Agent(
        name="support",
        instructions="Help the customers of a shop.",
        model=model,
        tools=[find_order, track, refund],
        output_type=Reply,
    )


async def support_async(agent: Agent[None], question: str) -> Reply:
    stream, written = Runner.run_streamed(agent, question, max_turns=8), ""
    async with asyncio.timeout(60):
        async for event in stream.stream_events():
            if isinstance(event, RunItemStreamEvent) and isinstance(event.item, ToolCallItem):
                print("tool:", event.item.tool_name)
            elif event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent):
                written += event.data.delta
                print(from_json(written, allow_partial="trailing-strings").get("text", ""))
    return stream.final_output_as(Reply, raise_if_incorrect_type=True)


def support(agent: Agent[None], question: str) -> Reply:
    return asyncio.run(support_async(agent, question))


if __name__ == "__main__":
    question, base_url = sys.argv[1:]
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=base_url, max_retries=3)
    agent = support_agent(OpenAIChatCompletionsModel("gpt-5-mini", client))
    print(support(agent, question))
    print(asyncio.run(support_async(agent, question)))
