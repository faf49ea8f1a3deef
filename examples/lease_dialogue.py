"""Two agents fill in a form: one asks and never sees the lease, the other has the lease and answers.

    python examples/lease_dialogue.py

The asker's model is held to a tool: a question about a topic that is still open. When none is left, it is held to the
form, a typed tool that ends the task. So a small model keeps to the plan.
"""

from __future__ import annotations

import argparse
from typing import Any

from pydantic import Field, create_model

from trivium import AgentDoneTool, AgentSendTool, ChatAgent, Task, ToolMessage
from trivium.llms import ModelProtocol, resolve

ASK = "You fill in a form about a lease that another agent has read. Ask for one fact at a time."
READ = """Answer questions about this lease in one short sentence.
The tenant is Robert Brown. The landlord is Emma Stone. The lease begins on 15 April 2023.
The monthly rent is 750 euros, due on the third. The deposit is 1500 euros. Pets are not allowed."""


class Question(ToolMessage):
    request: str = "question"
    purpose: str = "To ask one short <question> about one <topic> of the lease."
    topic: str
    question: str


class Lease(ToolMessage):
    request: str = "lease"
    purpose: str = "To fill in the form with what the other agent has answered."
    tenant: str
    monthly_rent: int
    deposit: int

    def handle(self) -> AgentDoneTool:
        return AgentDoneTool(tools=[self])


class Asker(ChatAgent):
    def ask_about(self, topics: list[str]) -> None:
        self.topics = topics
        topic: Any = (str, Field(json_schema_extra={"enum": [*topics]}))
        about = create_model("Question", __base__=Question, topic=topic)
        self.enable_message(about if topics else Lease, force=True)

    def question(self, message: Question) -> AgentSendTool:
        self.ask_about([topic for topic in self.topics if topic != message.topic])
        print(f"? {message.question}")
        return AgentSendTool(to="reader", content=message.question)


def fill_in(model: ModelProtocol) -> Lease | None:
    asker = Asker(model, name="asker", system_message=ASK)
    asker.ask_about(["tenant", "monthly rent", "deposit"])
    reader = ChatAgent(model, name="reader", system_message=READ, parameters={"max_tokens": 40})
    task = Task(asker, interactive=False)
    task.add_sub_task(Task(reader, interactive=False, single_round=True))
    return task.run("Begin.", turns=20, return_type=Lease)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="default", help="a name of `trivium models list`, a .gguf, openai:NAME")
    parser.add_argument("--base-url", help="an OpenAI-compatible server")
    options = parser.parse_args()
    lease = fill_in(resolve(options.model, options.base_url))
    print(lease and lease.arguments())


if __name__ == "__main__":
    main()
