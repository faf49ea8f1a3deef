"""A shop's desk with OpenAI's Agents SDK: a specialist as a tool, a session, a tool that needs approval."""

from openai import AsyncOpenAI

from agents import Agent, OpenAIChatCompletionsModel, Runner, SQLiteSession, function_tool, set_tracing_disabled

set_tracing_disabled(True)
model = OpenAIChatCompletionsModel("gpt-4o", AsyncOpenAI())


@function_tool(needs_approval=True)
def refund(order: str, euros: int) -> str:
    """Pay money back for an order."""
    return f"{euros} euros are on their way"


cashier = Agent(name="cashier", instructions="You pay money back.", model=model, tools=[refund])
desk = Agent(
    name="desk",
    instructions="Help the customers of a shop.",
    model=model,
    tools=[cashier.as_tool("cashier", "Pays money back.")],
)
session = SQLiteSession("ada")
result = Runner.run_sync(desk, "My kettle A17 was lost.", session=session, max_turns=8)
while result.interruptions:
    state = result.to_state()
    for call in result.interruptions:
        print("approve?", call.name)
        state.approve(call)
    result = Runner.run_sync(desk, state, session=session)
print(result.final_output)
print(Runner.run_sync(desk, "Thank you.", session=session).final_output)
