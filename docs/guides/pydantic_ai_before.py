"""A shop's agent with Pydantic AI: a tool that knows the customer, a typed reply, a conversation."""

from dataclasses import dataclass

from pydantic import BaseModel
from pydantic_ai import Agent, RunContext


@dataclass
class Customer:
    name: str
    orders: dict[str, str]


class Reply(BaseModel):
    text: str
    urgent: bool = False


agent = Agent("openai-chat:gpt-4o", deps_type=Customer, output_type=Reply, instructions="Help the customers of a shop.")


@agent.tool
def find_order(ctx: RunContext[Customer], order: str) -> str:
    """Look up an order by its number."""
    return f"{ctx.deps.name}: {ctx.deps.orders[order]}"


ada = Customer("Ada", {"A17": "a kettle, lost on the way"})
first = agent.run_sync("Where is A17?", deps=ada)
print(first.output)
second = agent.run_sync("Thank you.", deps=ada, message_history=first.all_messages())
print(second.output)
