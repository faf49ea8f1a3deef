"""A person in a real Jupyter kernel: tasks, terminals and Agere's programs ask by the front end's input line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.test_cli_chat_terminal import plain

from ._notebook import INTERRUPT, Notebook

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BEGINNING = """
from trivium import ChatAgent, Task
from trivium.commander import PASS_WORD, CommanderAsync, Job, tasker
from trivium.terminal import Terminal
from trivium.testing import ScriptedModel, call_tool

def talk(**given):
    agent = ChatAgent(ScriptedModel(["What is your name?", "Hello you", "DONE"]), name="Ada", **given)
    return Task(agent, interactive=True)

class Chat(Job):  # Agere's: input() in a callback
    @tasker(PASS_WORD)
    async def task(self):
        self.add_callback_functions("at_job_end", {"function": self.again, "inject_task_node": True})

    async def again(self, task_node):
        if input("YOU: ") == "exit":
            await self.exit_commander(return_result="QUIT")
        else:
            await task_node.put_job(job=Chat(), parent=task_node.commander)
"""
SYNC = "result = talk().run('hi')\nprint(result.content, result.status.name)"
ASYNC = "result = await talk().run_async('hi')\nprint(result.content, result.status.name)"
TERMINAL = """
terminal = Terminal()
task = talk()
task.agent.ask_user = terminal.ask
result = task.run('hi', listeners=[terminal])
print(result.content, result.status.name)
"""
PROMPTS = ["What is your name?\nyou: ", "Hello you\nyou: "]
CTRL_D = "\x04"


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    notebook = Notebook(tmp_path_factory.mktemp("notebook"), str(ROOT / "src"))
    try:
        assert notebook.run(BEGINNING).error is None
        yield notebook
    finally:
        notebook.close()


@pytest.mark.parametrize("code", [SYNC, ASYNC])
def test_a_task_asks_by_the_line_of_the_cell(notebook: Notebook, code: str):
    assert notebook.run(code, ["I am Bob", "q"]) == ("q USER_QUIT\n", PROMPTS, None)


@pytest.mark.parametrize("code", [SYNC, ASYNC])
def test_the_end_of_input_is_a_person_who_leaves(notebook: Notebook, code: str):
    assert notebook.run(code, [CTRL_D]) == ("q USER_QUIT\n", PROMPTS[:1], None)


def test_an_interrupt_ends_the_cell(notebook: Notebook):
    cell = notebook.run(SYNC, ["I am Bob", INTERRUPT])
    assert (cell.out, cell.prompts, cell.error and cell.error[0]) == ("", PROMPTS, "KeyboardInterrupt")
    assert notebook.run("print(input('name: '))", ["Bob"]).out == "Bob\n"


def test_an_awaited_run_ends_with_the_line_that_was_open(notebook: Notebook):
    cell = notebook.run(ASYNC, [INTERRUPT, "whatever"])
    assert (cell.out, cell.prompts, cell.error and cell.error[0]) == ("", PROMPTS[:1], "CancelledError")
    assert notebook.run("print(input('name: '))", ["Bob"]).out == "Bob\n"


@pytest.mark.parametrize("code", [SYNC, ASYNC, TERMINAL])
def test_a_front_end_without_a_line_is_told_what_to_do(notebook: Notebook, code: str):
    error = notebook.run(code, allow_stdin=False).error
    assert error is not None
    assert error[0] == "NotInteractiveError"
    assert "set default_human_response, or give the agent an ask_user function" in error[1]


def test_a_terminal_writes_to_the_cell_and_asks_there(notebook: Notebook):
    cell = notebook.run(TERMINAL, ["I am Bob", "q"])
    assert (cell.prompts, cell.error) == (["you: ", "you: "], None)
    assert plain(cell.out) == "Ada: What is your name?\nAda: Hello you\nq USER_QUIT\n"


@pytest.mark.parametrize("answer", [CTRL_D, INTERRUPT])
def test_who_leaves_the_terminal_ends_the_task(notebook: Notebook, answer: object):
    assert notebook.run(TERMINAL, [answer]).out.endswith("q USER_QUIT\n")


APPROVAL = """
from trivium import Agent
from trivium.actions import tool

@tool(needs_approval=True)
def delete(path: str) -> str:
    return f"deleted {path}"

agent = Agent(ScriptedModel(lambda request: call_tool("delete", path="a") if len(request.messages) == 1
              else request.messages[-1]["content"]), tools=[delete])
print(agent("x", approve=Terminal().approve).content)
"""


@pytest.mark.parametrize(("answer", "result"), [("y", "deleted a"), ("not now", "error: not approved: not now")])
def test_a_person_approves_a_call(notebook: Notebook, answer: str, result: str):
    cell = notebook.run(APPROVAL, [answer])
    assert cell.prompts == ["run it? y, n, or why not: "]
    assert cell.out.splitlines()[-1] == result


@pytest.mark.parametrize("run", ["CommanderAsync().run(Chat())", "await CommanderAsync().run_async(Chat())"])
def test_a_job_of_agere_may_ask_in_a_callback(notebook: Notebook, run: str):
    cell = notebook.run(f"print({run})", ["hi", "more", "exit"])
    assert cell == ("QUIT\n", ["YOU: "] * 3, None)


@pytest.mark.parametrize("run", ["CommanderAsync().run(Chat())", "await CommanderAsync().run_async(Chat())"])
def test_a_job_of_agere_ends_with_the_line_that_was_open(notebook: Notebook, run: str):
    cell = notebook.run(f"print({run})", ["hi", INTERRUPT, "whatever"])
    assert (cell.out, cell.prompts) == ("", ["YOU: "] * 2)
    assert cell.error is not None
    assert cell.error[0] in ("KeyboardInterrupt", "CancelledError")
    assert notebook.run("print(input('name: '))", ["Bob"]).out == "Bob\n"
