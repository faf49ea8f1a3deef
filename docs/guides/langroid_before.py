"""A desk and a clerk who looks prices up, with Langroid."""

import langroid as lr
from langroid.language_models.mock_lm import MockLMConfig


class Price(lr.ToolMessage):
    request: str = "price"
    purpose: str = "To look up the price of a <thing>."
    thing: str

    def handle(self) -> str:
        return f"A {self.thing} costs 40 euros."


def desk_model(text: str) -> str:
    return f"DONE {text}" if "costs" in text else "__SEND__:Clerk How much is a kettle?"


def clerk_model(text: str) -> str:
    return f"DONE {text}" if "costs" in text else '{"request": "price", "thing": "kettle"}'


desk = lr.ChatAgent(lr.ChatAgentConfig(name="Desk", llm=MockLMConfig(response_fn=desk_model)))
clerk = lr.ChatAgent(lr.ChatAgentConfig(name="Clerk", llm=MockLMConfig(response_fn=clerk_model), use_tools=True))
clerk.enable_message(Price)
task = lr.Task(desk, interactive=False)
task.add_sub_task(lr.Task(clerk, interactive=False))
result = task.run("What does a kettle cost?")
print(result.content)
