"""A model that does not calculate: it writes Python, is shown what that printed, and says what it means.

    python examples/math_coder.py
    python examples/math_coder.py "How many days are there from 3 March 2024 to 25 December 2024?"

The code runs in a sandbox (see docs/run-python.md), and its variables live for one problem. Expect right code for one
step of arithmetic or counting, within some ten seconds; where a problem needs an idea, a model of this size is sure of
the wrong one. So look at the code, which is shown as it is written.
"""

from __future__ import annotations

import argparse
import sys

from trivium.actions import IPythonInteractive
from trivium.agents import MathCoder
from trivium.agents.aggregator import InternLMToolAggregator
from trivium.exceptions import TriviumError
from trivium.llms import resolve
from trivium.prompts import ToolParser

QUESTION = "What is the sum of the digits of 2 to the power of 1000?"
INSTRUCTION = (
    "Solve each problem with a short Python program that prints the result. When you are shown what it printed, say "
    "the answer in one sentence."
)
# Small models write text where they are told to write code; one example and they do not.
EXAMPLE = [
    {"role": "user", "content": "How many numbers from 1 to 50 can be divided by 4?"},
    {"role": "thought", "content": "I count them.\n"},
    {"role": "tool", "content": "print(sum(1 for number in range(1, 51) if number % 4 == 0))"},
    {"role": "environment", "content": "12"},
    {"role": "assistant", "content": "There are 12 such numbers."},
]
LIMITS = {"max_tokens": 300, "stop": ["\n```\n"]}  # the model stops behind its code, and does not guess the result


def solve(coder: MathCoder, question: str) -> bool:
    """Show what the model writes as it comes, and what its code printed; whether there is an answer at last."""
    stream = coder.stream(question, parameters=LIMITS)
    for event in stream:
        if event.kind == "delta" and isinstance(event.data, str):
            print(event.data, end="", flush=True)
        elif event.kind == "tool_result":
            print(f"\n\n> {event.data.errmsg or event.data.format_result()}\n")
    print()
    return stream.result.sender == coder.agent.name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("--model", default="default", help="a name of `trivium models list`, a .gguf, openai:NAME")
    parser.add_argument("--base-url", help="an OpenAI-compatible server")
    options = parser.parse_args()

    shell = IPythonInteractive(timeout=20)
    try:
        model = resolve(options.model, options.base_url)
        shell.run("0")  # no sandbox: it is said now, and not to the model
        coder = MathCoder(
            model,
            shell,
            output_format=ToolParser("interpreter", INSTRUCTION, begin="```python\n", end="\n```"),
            aggregator=InternLMToolAggregator(environment_begin="It printed: ", few_shot=EXAMPLE),
            max_turn=4,
        )
        if not solve(coder, options.question):
            sys.exit("The model came to no answer. Ask in other words, or try another model.")
    except TriviumError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("\nStopped.")
    finally:
        shell.close()


if __name__ == "__main__":
    main()
