"""An agent that answers questions about a rent ledger: the model chooses what to look up, code finds the answer.

    python examples/rent_ledger.py "Does Ada owe us anything?"

The model never sees the database, and writes no number: a tool's result ends the task. That suits small models,
which choose a tool well and do sums badly.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
from contextlib import closing

from trivium import AgentDoneTool, ChatAgent, RunEvent, StatusCode, Task, ToolMessage, this_call
from trivium.llms import resolve

PAYMENTS = [
    ("Ada", "2024-03", 900, 900),
    ("Ada", "2024-04", 900, 650),
    ("Ada", "2024-05", 900, 900),
    ("Bob", "2024-03", 750, 750),
    ("Bob", "2024-04", 750, 750),
]


class Tenants(ToolMessage):
    request: str = "tenants"
    purpose: str = "To list the names of all tenants."


class Balance(ToolMessage):
    request: str = "balance"
    purpose: str = "To look up what one <tenant> has paid and still owes."
    tenant: str


class Clerk(ChatAgent):
    """Handles the tools; the ledger is the context of the run."""

    def tenants(self, message: Tenants) -> AgentDoneTool:
        return AgentDoneTool(content=", ".join(names()))

    def balance(self, message: Balance) -> AgentDoneTool | str:
        ledger: sqlite3.Connection = this_call().context
        query = "select sum(due), sum(paid) from payments where tenant = ?"
        due, paid = ledger.execute(query, [message.tenant]).fetchone()
        if due is None:  # no end: the model reads this, and tries again
            return f"There is no tenant called {message.tenant}. There are {', '.join(names())}."
        return AgentDoneTool(content=f"{message.tenant} has paid {paid} of {due} euros and owes {due - paid}.")


def names() -> list[str]:
    ledger: sqlite3.Connection = this_call().context
    return [name for (name,) in ledger.execute("select distinct tenant from payments order by tenant")]


def open_ledger() -> sqlite3.Connection:
    ledger = sqlite3.connect(":memory:")
    ledger.execute("create table payments (tenant text, month text, due integer, paid integer)")
    ledger.executemany("insert into payments values (?, ?, ?, ?)", PAYMENTS)
    return ledger


def show_calls(event: RunEvent) -> None:
    if event.kind == "tool_call" and event.data[0] == "balance":
        print("  {} {}".format(*event.data))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question")
    parser.add_argument("--model", default="default", help="a name of `trivium models list`, a .gguf, openai:NAME")
    parser.add_argument("--base-url", help="an OpenAI-compatible server")
    options = parser.parse_args()

    clerk = Clerk(
        resolve(options.model, options.base_url),
        name="clerk",
        system_message="You answer questions about rents. Always use a tool: you know nothing yourself.",
    )
    clerk.enable_message([Tenants, Balance])
    # The connection belongs to this thread, and so do the handlers of a sync call.
    with closing(open_ledger()) as ledger:
        result = Task(clerk, interactive=False)(options.question, context=ledger, listeners=[show_calls], turns=6)
    if result.status is not StatusCode.DONE:
        sys.exit("The model found no tool for this question. Ask in other words, or try another model.")
    print(result.content)


if __name__ == "__main__":
    main()
