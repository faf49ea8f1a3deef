"""The shop's agent with trivium."""

from trivium import Agent, Limits
from trivium.llms import OpenAIModel


def find_order(order: str) -> str:
    """Look up an order by its number."""
    return f"{order}: a kettle, lost on the way"


agent = Agent(OpenAIModel("gpt-4o"), "Help the customers of a shop.", tools=[find_order])
for text in ("Where is A17?", "Thank you."):
    print(agent(text, session_id="ada", limits=Limits(turns=8)).content)
print(len(agent.memory.get_memory("ada")))
