"""A task for 200 letters: who is happy, and who is not?

    python examples/sort_letters.py

One task object serves all, with a session for each letter; four run at once and a line shows how many are done. The
model says one word, so that on two cores all takes less than a minute with the embedded "small" model.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from itertools import product

from trivium import ChatAgent, Message, Task, run_batch_tasks
from trivium.llms import ModelProtocol, resolve

THINGS = ["cake", "bread", "coffee", "tea", "soup", "salad", "pizza", "fish", "roast", "pie"]
WORDS = {
    "yes": ["wonderful", "delicious", "excellent", "perfect", "very good"],
    "no": ["awful", "disgusting", "terrible", "horrible", "very bad"],
}
ENDS = ["and I told my friends.", "as my wife says too."]
SAID = product(THINGS, [*WORDS["yes"], *WORDS["no"]], ENDS)
LETTERS = [f"The {thing} was {word}, {end}" for thing, word, end in SAID]


def said(result: Message | None) -> str:
    word = str(result.content).strip(" .").lower() if result else ""
    return word if word in WORDS else "unclear"


def sort(model: ModelProtocol, letters: list[str], at_once: int) -> list[str]:
    told = "Is the customer happy? Answer with yes or no."
    agent = ChatAgent(model, name="reader", system_message=told, parameters={"max_tokens": 1, "temperature": 0})
    task = Task(agent, interactive=False, single_round=True)
    return run_batch_tasks(task, letters, output_map=said, sequential=False, batch_size=at_once, progress=show_progress)


def show_progress(done: int, total: int | None) -> None:
    print(f"\r{done} of {total}", end="", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--letters", type=int, default=200, help="how many of them")
    parser.add_argument("--at-once", type=int, default=4, help="how many runs at a time")
    parser.add_argument("--model", default="default", help="a name of `trivium models list`, a .gguf, openai:NAME")
    parser.add_argument("--base-url", help="an OpenAI-compatible server")
    options = parser.parse_args()
    letters = LETTERS[: options.letters]
    found = sort(resolve(options.model, options.base_url), letters, options.at_once)
    right = sum(
        any(word in letter for word in WORDS.get(each, [])) for each, letter in zip(found, letters, strict=True)
    )
    print(f"\n{dict(Counter(found))}, {right} of {len(letters)} right")


if __name__ == "__main__":
    main()
