"""Three agents: a desk sends each message on to the plumber or to the cashier, who answers it.

    python examples/front_desk.py "Water comes through my ceiling."

It is done in both ways: by the signal SEND_TO in a text, and by a tool whose recipients are an enum. A small model
misspells signals. So it is held to the two names, and the desk writes the signal.
"""

from __future__ import annotations

import argparse
from typing import Literal

from trivium import ChatAgent, Message, RecipientTool, RunEvent, Task
from trivium.llms import ModelProtocol, resolve
from trivium.tasks import SEND_TO, ResponseEvent

MESSAGES = ["Water comes through my ceiling.", "I have paid the rent twice this month."]
DESK = """You are the front desk of a house. Send each message on to who can help: the plumber for water, pipes, taps,
toilets and showers, the cashier for rent, money, bills and payments."""
COLLEAGUES = ["plumber", "cashier"]


class SignalDesk(ChatAgent):
    """Its model names a colleague; the signal goes out with the message."""

    def llm_response(self, message: Message) -> str | None:
        said = super().llm_response(message)
        return said and f"{SEND_TO}{said.content_any} {message.content}"


def signal_desk(model: ModelProtocol) -> ChatAgent:
    desk = SignalDesk(model, name="desk", system_message=DESK)
    desk.set_output_format(Literal["plumber", "cashier"])
    return desk


def tool_desk(model: ModelProtocol) -> ChatAgent:
    desk = ChatAgent(model, name="desk", system_message=DESK)
    desk.enable_message(RecipientTool.create(COLLEAGUES), force=True)
    return desk


def house(desk: ChatAgent, model: ModelProtocol) -> Task:
    """The desk with its colleagues; the first answer of one of them is the result."""
    task = Task(desk, interactive=False, done_if_response=COLLEAGUES)
    for name in COLLEAGUES:
        told = f"You are the {name} of a house. Say in one short sentence what you will do."
        agent = ChatAgent(model, name=name, system_message=told, parameters={"max_tokens": 30})
        task.add_sub_task(Task(agent, interactive=False, single_round=True))
    return task


def show(event: RunEvent) -> None:
    if isinstance(event, ResponseEvent) and event.data.is_result and event.data.responder in COLLEAGUES:
        print(f"  {event.data.responder}: {event.data.message and event.data.message.content}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("messages", nargs="*", default=MESSAGES)
    parser.add_argument("--model", default="default", help="a name of `trivium models list`, a .gguf, openai:NAME")
    parser.add_argument("--base-url", help="an OpenAI-compatible server")
    options = parser.parse_args()
    model = resolve(options.model, options.base_url)
    for message in options.messages:
        print(message)
        for desk in (signal_desk(model), tool_desk(model)):
            house(desk, model).run(message, turns=6, listeners=[show])


if __name__ == "__main__":
    main()
