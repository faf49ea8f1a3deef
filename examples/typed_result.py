"""Results of a type: a task, asked about a text, gives values that the program goes on with.

    python examples/typed_result.py "Ada Byron paid 12 euros for 3 pizzas."

`task[T]` is the same task with results of a type, and so is `run(..., return_type=T)`. The task's agent answers in
words. Then its model is asked to state the answer once more and is held to the type.
"""

from __future__ import annotations

import argparse
from typing import Literal

from pydantic import BaseModel, Field

from trivium import ChatAgent, Task
from trivium.llms import ModelProtocol, resolve

NOTE = "On Friday Ada Byron bought 3 pizzas for 12 euros each."


class Purchase(BaseModel):
    buyer: str
    what: Literal["pizza", "bread", "something else"]
    how_many: int = Field(description="the number of pieces")
    price_of_one: int = Field(description="in euros")


def make_task(model: ModelProtocol) -> Task:
    told = "Answer in one short sentence that repeats all names and numbers."
    clerk = ChatAgent(model, name="clerk", system_message=told, parameters={"max_tokens": 60})
    return Task(clerk, interactive=False, single_round=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("note", nargs="?", default=NOTE)
    parser.add_argument("--model", default="default", help="a name of `trivium models list`, a .gguf, openai:NAME")
    parser.add_argument("--base-url", help="an OpenAI-compatible server")
    options = parser.parse_args()
    task = make_task(resolve(options.model, options.base_url))
    purchase = task[Purchase].run(f"{options.note} Who bought what, how many, and what did one cost?")
    names = task.run(f"Who is named here? {options.note}", return_type=list[str])
    print(purchase)
    print(f"{purchase.buyer} owes {purchase.how_many * purchase.price_of_one} euros.")
    print(names)


if __name__ == "__main__":
    main()
