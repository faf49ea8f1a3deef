"""The shop's agent with trivium."""

from dataclasses import dataclass

from pydantic import BaseModel

from trivium import Agent, this_call
from trivium.llms import OpenAIModel


@dataclass
class Customer:
    name: str
    orders: dict[str, str]


class Reply(BaseModel):
    text: str
    urgent: bool = False


def find_order(order: str) -> str:
    """Look up an order by its number."""
    customer: Customer = this_call().context
    return f"{customer.name}: {customer.orders[order]}"


agent = Agent[Reply](OpenAIModel("gpt-4o"), "Help the customers of a shop.", tools=[find_order])
ada = Customer("Ada", {"A17": "a kettle, lost on the way"})
print(agent("Where is A17?", context=ada, session_id="ada").output)
print(agent("Thank you.", context=ada, session_id="ada").output)
