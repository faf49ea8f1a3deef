"""A support agent: three tools, a typed reply, streaming, retries and limits; sync and async; OPENAI_API_KEY is set."""

import asyncio
import sys

from pydantic import BaseModel

from trivium import Agent, Limits, RunEvent
from trivium.llms import OpenAIModel, RetryPolicy


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
        raise ValueError(f"only 40 euros were paid for {order}")
    return f"{euros} euros are on their way"


def show(event: RunEvent) -> None:
    if event.kind in ("tool_call", "partial"):
        print(event.data.output.text if event.kind == "partial" else event.data)


model = OpenAIModel("gpt-5-mini", retry=RetryPolicy(max_tries=4))
agent = Agent[Reply](model, "Help the customers of a shop.", tools=[find_order, track, refund])
limits = Limits(turns=8, tool_calls=10, seconds=60)
if __name__ == "__main__":
    question = sys.argv[1] if sys.argv[1:] else "Where is my order A7? I want my money back."
    print(agent(question, limits=limits, listeners=[show]).output)
    print(asyncio.run(agent.acall(question, limits=limits, listeners=[show])).output)
