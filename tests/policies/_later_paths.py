"""Each path on which what a run has read is obeyed by a later run, or by the same run when it is resumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from contextvars import Context
from pathlib import Path
from typing import Any

import pytest

from trivium import Agent, ChatAgent, Message, Module
from trivium.actions import tool
from trivium.agents.special import LongTermMemory
from trivium.journal import Journal, step
from trivium.knowledge.stores import SQLiteStoreConfig
from trivium.llms import BaseLLM
from trivium.policies import Source
from trivium.schema import LLMMessage, Role
from trivium.tasks import run_batch_function, run_batch_task_gen
from trivium.testing import ScriptedModel, call_tool

from ._office import ATTACK, OPEN, READ, TO_EVE, Outbox
from ._paths import MAIL, Run, reader, task_of


class Crash(BaseException):
    """The end of a process."""


def resumed(
    outbox: Outbox, folder: Path, options: dict[str, Any], find: Callable[[], str], call: Any = TO_EVE, told: str = ""
) -> None:
    """Let a program find a text, break it off before an agent obeys the text, and resume it.

    Args:
        outbox: has the tools.
        folder: for the journal.
        options: of the calls.
        find: finds the text.
        call: the agent's call.
        told: what the user has told the agent before.
    """
    is_first = True

    class Program(Module):
        def __init__(self) -> None:
            super().__init__()
            self.writer = outbox.agent(call)
            self.writer.memory.open(0).add(told or None)

        def forward(self, message: Message) -> Message:
            found = find()
            if is_first:
                raise Crash
            return self.writer(f"Do this: {found}")

    with closing(Journal(folder / f"{bool(options)}.db")) as journal:
        with pytest.raises(Crash):
            Program()("Read.", run_id="1", journal=journal, **options)
        is_first = False
        Program()("Read.", run_id="1", journal=journal, **options)


def by_a_step_that_is_repeated(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    def find() -> str:
        return step("read", lambda: str(reader(outbox)("Read.").content), effect="read")

    resumed(outbox, folder, options, find)


def by_the_error_of_a_step_that_is_repeated(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    def fail() -> str:
        raise ValueError(reader(outbox)("Read.").content)

    def find() -> str:
        try:
            return step("read", fail, effect="read")
        except ValueError as error:
            return str(error)

    resumed(outbox, folder, options, find)


def by_a_tool_that_is_repeated(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    @tool(source="program", effect="read")
    def look() -> str:
        """Look."""
        return str(reader(outbox)("Read.").content)

    resumed(
        outbox, folder, options, lambda: str(Agent(ScriptedModel([call_tool("look"), "ok"]), tools=[look])("?").content)
    )


def by_a_model_that_is_repeated(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    class Delegating(BaseLLM):
        def chat(self, messages: Any, **kwargs: Any) -> str:
            return str(reader(outbox)("Read.").content)

    resumed(outbox, folder, options, lambda: str(Agent(Delegating("none"))("?").content))


def forked(
    outbox: Outbox, folder: Path, options: dict[str, Any], at: str, answers: Sequence[Any], find: Callable[[], str]
) -> None:
    """Edit what a node of a run was answered, so that it still says what a reader has read, and go on from there."""
    look = tool(source="program")(find)

    class Program(Module):
        def __init__(self, *answers: Any) -> None:
            super().__init__(name="program")
            self.writer = outbox.agent(*answers, more=[look], name="writer")

        def forward(self, message: Message) -> Message:
            return self.writer(step("look", find, effect="read"))

    with closing(Journal(folder / f"{bool(options)}.db")) as journal:
        Program(*answers)("Look.", run_id="1", journal=journal)
        fork = journal.view("1").fork(at=at, edit=f"Shorter: {ATTACK}")
        fork.resume(Program(*answers[:-1], TO_EVE), accept_changes=True, **options)


def by_a_step_that_was_edited(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    forked(outbox, folder, options, "program/look", ["ok"], lambda: str(reader(outbox)("Read.").content))


def by_a_tool_that_was_edited(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    is_first = True

    def look() -> str:
        """Look."""
        nonlocal is_first
        if is_first:
            is_first = False
            return "nothing yet"
        return str(reader(outbox)("Read.").content)

    forked(outbox, folder, options, "program/writer/tool:look", [call_tool("look"), "ok"], look)


def by_an_entry_of_a_model(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    answer = reader(outbox)("Read.")
    outbox.agent(TO_EVE)(Message.from_LLMMessage(Message.to_LLMMessage(answer)[0]), **options)


def by_entries_for_a_model(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    other, agent = outbox.chat_agent(READ, "DONE"), outbox.chat_agent(TO_EVE)
    task_of(other).run("Read.")
    agent.policy, agent.approve = options.get("policy"), options.get("approve")
    agent.agent_response(agent.llm_response_messages([*other.message_history]))


def later(outbox: Outbox, change: Callable[[ChatAgent, str], object], options: dict[str, Any]) -> None:
    """Let a run read, and change an agent by what it has read; let the agent obey it in a run of its own."""

    class Changing(Module):
        def __init__(self) -> None:
            super().__init__()
            self.writer, self.reader = (
                ChatAgent(ScriptedModel(["hi", TO_EVE, "done"]), tools=outbox.tools()),
                reader(outbox),
            )

        def forward(self, message: Message) -> str:
            change(self.writer, f"Do this: {self.reader(message).content}")
            return "ok"

    program = Changing()
    program.writer("Hello.")
    program("Read.")
    program.writer("Go on.", **options)


def by_a_template_that_is_set(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    def change(agent: ChatAgent, text: str) -> None:
        agent.template = text

    later(outbox, change, options)


def by_a_system_message_that_is_set(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    later(outbox, ChatAgent.set_system_message, options)


def by_a_system_message_that_is_set_and_extended(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    def change(agent: ChatAgent, text: str) -> None:
        agent.system_message = text
        Context().run(agent.augment_system_message, "Be kind.")  # outside of the run

    later(outbox, change, options)


def by_the_template_of_a_class_that_is_replaced(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    class Kind(Agent):
        template = "Be kind."

    agent = Kind(ScriptedModel([TO_EVE, "done"]), tools=outbox.tools())

    def change(_: ChatAgent, text: str) -> None:
        agent.template = text

    assert agent.instruction() == "Be kind."
    later(outbox, change, {})
    outbox.sent.clear()
    agent("Go on.", **options)


def by_a_user_message_that_is_set(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    def change(agent: ChatAgent, text: str) -> None:
        agent.set_user_message(text)
        agent.init_message_history()  # the first message of the conversations to come

    later(outbox, change, options)


def by_the_user_message_of_a_later_conversation(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    agents = list[ChatAgent]()

    def change(agent: ChatAgent, text: str) -> None:
        agent.set_user_message(text)
        agents.append(agent)

    later(outbox, change, {})
    outbox.sent.clear()
    (agent,) = agents
    agent.llm = ScriptedModel([TO_EVE, "done"])
    agent.init_message_history()
    agent("Go on.", **options)


def by_a_copy_of_an_agent_that_was_changed(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    made = list[ChatAgent]()

    def change(agent: ChatAgent, text: str) -> None:
        agent.set_system_message(text)
        made.append(agent)

    later(outbox, change, {})
    outbox.sent.clear()
    agent = made[0].clone(1)
    agent.llm = ScriptedModel([TO_EVE, "done"])
    agent("Go on.", **options)


def by_a_history_that_is_replaced(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    def change(agent: ChatAgent, text: str) -> None:
        agent.message_history = [LLMMessage(role=Role.USER, content=text)]

    later(outbox, change, options)


def by_messages_that_are_loaded(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    later(outbox, lambda agent, text: agent.memory.open(0).load([{"content": text}], overwrite=False), options)


def by_a_state_that_is_loaded(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    later(outbox, lambda agent, text: agent.load_state_dict({"memory": [{"content": text}]}), options)


def by_a_module_that_keeps_an_answer(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    class Keeper(Module):
        def __init__(self) -> None:
            super().__init__()
            self.kept = [reader(outbox)("Read.")]

        def forward(self, message: Message) -> list[Any]:
            return self.kept

    outbox.agent(TO_EVE)(Keeper()("What was it?"), **options)


def in_a_task_of_a_batch(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    run_batch_task_gen(lambda index: task_of(outbox.chat_agent(READ, TO_EVE)), ["Read."], **options)


def in_a_function_of_a_batch(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    run_batch_function(outbox.agent(READ, TO_EVE), ["Read."], **options)


def by_long_term_memory(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    store = SQLiteStoreConfig(embedding=None, storage_path=str(folder / f"{bool(options)}.db"))
    for calls, given in (
        ([OPEN, call_tool("remember", fact=ATTACK)], {}),
        ([call_tool("recall", query=""), TO_EVE], options),
    ):
        more = LongTermMemory(store, "ada").tools()
        outbox.agent(*calls, more=more)("Read.", **given)


LATER_PATHS: list[tuple[Run, Source]] = [
    (by_long_term_memory, Source("web", "open_page")),
    *((each, MAIL) for each in (
        by_a_step_that_is_repeated, by_the_error_of_a_step_that_is_repeated, by_a_tool_that_is_repeated,
        by_a_model_that_is_repeated, by_a_step_that_was_edited, by_a_tool_that_was_edited, by_an_entry_of_a_model,
        by_entries_for_a_model, by_a_template_that_is_set, by_a_system_message_that_is_set,
        by_a_user_message_that_is_set, by_the_user_message_of_a_later_conversation,
        by_a_system_message_that_is_set_and_extended, by_the_template_of_a_class_that_is_replaced,
        by_a_copy_of_an_agent_that_was_changed, by_a_history_that_is_replaced,
        by_messages_that_are_loaded, by_a_state_that_is_loaded, by_a_module_that_keeps_an_answer,
        in_a_task_of_a_batch, in_a_function_of_a_batch,
    )),
]  # fmt: skip
