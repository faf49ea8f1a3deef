"""Run an agent, a task and a durable run, with warnings as errors: what `scripts/try-pythons` asks of each Python."""

import platform
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from trivium import Agent, ChatAgent, Task, ToolMessage
from trivium.journal import Journal
from trivium.testing import ScriptedModel, call_tool


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To find the square of a <number>."
    number: int

    def handle(self) -> str:
        return str(self.number**2)


def main() -> None:
    """Run the three; an assertion or a warning ends the program."""
    assert Agent(ScriptedModel(["Hello"]))("Hi").content == "Hello"
    agent = ChatAgent(ScriptedModel([call_tool("square", number=12), "DONE 144"]))
    agent.enable_message(Square)
    result = Task(agent, interactive=False).run("What is the square of 12?")
    assert result is not None
    assert result.content == "144"
    with TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "runs.db")
        Agent(ScriptedModel(["Hello"]))("Hi", run_id="first", journal=journal)
        assert [each.status for each in journal.runs()] == ["done"]
        journal.close()
    libc = " ".join(platform.libc_ver())
    sys.stdout.write(f"Python {platform.python_version()}{libc and ', '}{libc}: the core, a task and a journal run\n")


if __name__ == "__main__":
    main()
