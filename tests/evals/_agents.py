"""Agents whose models answer by a script, and note each request; `python -m evals._agents FILE` is killed half-way."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trivium import Agent, Message
from trivium.actions import tool
from trivium.evals import Case, Dataset, evaluate
from trivium.journal import Journal, RunView
from trivium.llms import Request
from trivium.schema import Usage
from trivium.testing import ScriptedModel, call_tool

CASES = [Case(f"n{number:03}", f"Square {number}.", str(number**2)) for number in range(200)]


def exact(case: Case[object, str], message: Message, run: RunView) -> bool:
    return message.content == case.expected


@tool(effect="read")
def square(number: int) -> str:
    """Square a number."""
    return str(number**2)


def calculator(noted: list[str], wrong: Iterable[str] = (), system: str = "You square.", dies_at: int = 0) -> Agent:
    """Make an agent that calls its tool and repeats the result; it answers some questions wrongly."""

    def answer(request: Request) -> Any:
        said = [str(each["content"]) for each in request.messages if each["role"] != "system"]
        noted.append(f"{said[0]} {len(said)}")
        if len(noted) == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if len(said) == 1:
            return [call_tool("square", number=int(said[0].split()[1].rstrip("."))), Usage(10, 2, usd=0.001)]
        return "no idea" if said[0] in wrong else said[-1]

    return Agent(ScriptedModel(answer), tools=[square], name="calculator", system_message=system)


def main(path: str) -> None:
    evaluate(calculator([], dies_at=200), Dataset(CASES, [exact]), "killed", Journal(Path(path)))


if __name__ == "__main__":
    main(sys.argv[1])
