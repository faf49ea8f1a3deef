"""Two agents: one sums up a document, the other believes no number that does not stand in it.

    python examples/checked_summary.py samples/documents/psmisc.md

The writer has a model. The checker is plain code, and sends the summary back until its numbers are right.
"""

from __future__ import annotations

import argparse
import re
import sys

from trivium import Agent, ChatAgent, FinalResultTool, Message, StatusCode, Task, this_call
from trivium.knowledge import read
from trivium.llms import resolve

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
MOST = 6_000  # characters of the document that the writer reads


class Checker(Agent):
    """Has no model: it compares the numbers of the summary with those of the document."""

    def handle_message_fallback(self, msg: Message) -> str | FinalResultTool:
        summary = str(msg.content)
        unknown = sorted(set(NUMBER.findall(summary)) - set(NUMBER.findall(this_call().context)))
        if unknown:
            return f"These numbers do not stand in the document: {', '.join(unknown)}. Write the summary again."
        return FinalResultTool(content=summary)  # ends this task and the writer's


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("document")
    parser.add_argument("--model", default="default", help="a name of `trivium models list`, a .gguf, openai:NAME")
    parser.add_argument("--base-url", help="an OpenAI-compatible server")
    options = parser.parse_args()

    writer = ChatAgent(
        resolve(options.model, options.base_url),
        name="writer",
        system_message="You sum up documents in two sentences. You use no number that the document does not state.",
        parameters={"max_tokens": 200},
    )
    task = Task(writer, interactive=False)
    task.add_sub_task(Task(Checker(name="checker"), interactive=False, single_round=True))

    text = read(options.document).content[:MOST]
    result = task(f"Sum this up:\n\n{text}", context=text, turns=6)  # three summaries, three checks
    if result.status is not StatusCode.DONE:
        sys.exit("The writer could not do without numbers of its own. Try another model.")
    print(result.content)


if __name__ == "__main__":
    main()
