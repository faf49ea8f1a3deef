"""The desk and the clerk in trivium's own style: a function is a tool, and so is an agent."""

from trivium import Agent
from trivium.testing import ScriptedModel, call_tool


def price(thing: str) -> str:
    """Look up the price of a thing."""
    return f"A {thing} costs 40 euros."


clerk_model = ScriptedModel([call_tool("price", thing="kettle"), "A kettle costs 40 euros."])
desk_model = ScriptedModel([call_tool("Clerk", message="How much is a kettle?"), "A kettle costs 40 euros."])
clerk = Agent(clerk_model, "You know the prices.", tools=[price], name="Clerk", description="Ask for prices.")
desk = Agent(desk_model, "You are the desk of a shop.", tools=[clerk], name="Desk")
print(desk("What does a kettle cost?").content)
