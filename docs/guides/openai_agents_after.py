"""The shop's desk with trivium."""

from trivium import Agent, Limits, tool
from trivium.actions import ApprovalRequest
from trivium.llms import OpenAIModel

model = OpenAIModel("gpt-4o")


@tool(needs_approval=True)
def refund(order: str, euros: int) -> str:
    """Pay money back for an order."""
    return f"{euros} euros are on their way"


def approve(call: ApprovalRequest) -> bool:
    print("approve?", call.name)
    return True


cashier = Agent(model, "You pay money back.", tools=[refund], name="cashier", description="Pays money back.")
desk = Agent(model, "Help the customers of a shop.", tools=[cashier], name="desk")
answer = desk("My kettle A17 was lost.", session_id="ada", limits=Limits(turns=8), approve=approve)
print(answer.content)
print(desk("Thank you.", session_id="ada").content)
