"""A chain of agents: who does not know says DO-NOT-KNOW, and the next one is asked.

    python examples/fail_over.py "What is the password of the network?"

Two experts each have a page. Their models choose the line that answers the question, or DO-NOT-KNOW: a model that is
held to the lines of a page invents nothing. Behind them is a caretaker without a model, who always has an answer.
"""

from __future__ import annotations

import argparse
from typing import Any, Literal

from trivium import ChatAgent, ChatAgentConfig, Message, RunEvent, Task
from trivium.llms import ModelProtocol, resolve
from trivium.tasks import NO_ANSWER, ResponseEvent

QUESTIONS = ["When are the bins emptied?", "How much is the rent?", "What is the password of the network?"]
PAGES = {
    "handbook": [
        "The bins are emptied on Tuesdays.",
        "Bicycles stand in the cellar.",
        "From ten it is quiet.",
    ],
    "lease": ["The rent is 750 euros a month.", "The deposit is 1500 euros.", "Pets are not allowed."],
}


class Expert(ChatAgent):
    """Answers with a line of a page."""

    def __init__(self, model: ModelProtocol, name: str, lines: list[str]) -> None:
        told = f"Choose the line that answers the question. Where none does, choose {NO_ANSWER}.\n"
        super().__init__(model, name=name, system_message=told + "\n".join(lines))
        choice: Any = Literal[*lines, NO_ANSWER]
        self.set_output_format(choice)

    def llm_response(self, message: Message) -> str | None:
        said = super().llm_response(message)
        return said and said.content_any


class Caretaker(ChatAgent):
    """Notes down what nobody knows."""

    def agent_response(self, message: Message) -> str:
        return "I have noted your question, and come back to you."


def make_chain(model: ModelProtocol) -> Task:
    nobody = ChatAgentConfig(llm=None)
    chain = Task(ChatAgent(nobody), name="chain", interactive=False, single_round=True)
    agents = [*(Expert(model, name, lines) for name, lines in PAGES.items()), Caretaker(nobody, name="caretaker")]
    chain.add_sub_task([Task(agent, interactive=False, single_round=True) for agent in agents])
    return chain


def show(event: RunEvent) -> None:
    if isinstance(event, ResponseEvent) and event.data.task == "chain" and event.data.message is not None:
        print(f"  {event.data.responder}: {event.data.message.content}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="*", default=QUESTIONS)
    parser.add_argument("--model", default="default", help="a name of `trivium models list`, a .gguf, openai:NAME")
    parser.add_argument("--base-url", help="an OpenAI-compatible server")
    options = parser.parse_args()
    chain = make_chain(resolve(options.model, options.base_url))
    for question in options.questions:
        print(question)
        chain.run(question, listeners=[show])


if __name__ == "__main__":
    main()
