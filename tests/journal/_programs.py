"""Durable programs for the tests, and the process in which they are killed: `python -m journal._programs NAME…`."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from _postgres import quick_folder
from trivium import (
    Agent,
    ChatAgent,
    ChatAgentConfig,
    ChatDocMetaData,
    ChatDocument,
    Document,
    DonePassTool,
    DoneTool,
    Entity,
    FileAttachment,
    ForwardTool,
    Message,
    Module,
    PassTool,
    RecipientTool,
    SendTool,
    Task,
    ToolMessage,
    this_call,
)
from trivium.actions import AgentDoneTool, ApprovalRequest, tool
from trivium.agents import AgentList
from trivium.commander import PASS_WORD, CommanderAsync, HandlerCoroutine, Job, handler, run_sync, tasker
from trivium.extraction import Case, Outcome, extract_files, extraction_task, parse_fields
from trivium.journal import Journal, step, step_async
from trivium.tasks import TaskTool
from trivium.testing import ScriptedModel, assert_crash_safe, call_tool


class Stateless:
    """A model that answers by how often it has answered in the conversation, as a real one does."""

    name = "stateless"

    def __init__(self, *answers: Any) -> None:
        self.answers = answers

    def stream(self, request: Any) -> Iterator[Any]:
        asked = sum(each["role"] == "assistant" for each in request.messages)
        yield from ScriptedModel([self.answers[asked]]).stream(request)


@tool(effect="read")
def look(place: str) -> str:
    """Look at a place."""
    return f"{place} is sunny at {this_call().now():.6f}"


@tool(effect="once")
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}, receipt {this_call().new_id()}"


def agent(**options: Any) -> Agent:
    answers = (call_tool("look", place="Oslo"), call_tool("pay", amount=3), "done")
    return Agent(Stateless(*answers), tools=[look, pay], name="buyer", **options)


class Square(ToolMessage):
    _effect = "read"
    request: str = "square"
    purpose: str = "To square a <number>."
    number: int

    def handle(self) -> str:
        return str(self.number**2)


def chat(name: str, *answers: Any) -> ChatAgent:
    made = ChatAgent(ChatAgentConfig(name=name, llm=Stateless(*answers)))
    made.enable_message(Square)
    return made


def run_agent(journal: Journal) -> object:
    answer = agent()("Go.", run_id="order-17", journal=journal)
    return answer.content, [each.content.split(" at ")[0] for each in answer.attachments if isinstance(each, Message)]


def run_agent_async(journal: Journal) -> object:
    return asyncio.run(agent().acall("Go.", run_id="order-17", journal=journal)).content


def run_task(journal: Journal) -> object:
    below = Task(chat("below", call_tool("square", number=3), "DONE it is nine"), interactive=False)
    above = Task(chat("above", "What is three times three?", "DONE nine"), interactive=False)
    above.add_sub_task(below)
    result = above.run("Ask the other.", run_id="task-1", journal=journal)
    return None if result is None else result.content


class Reader(ChatAgent):
    """An agent whose own code reads who has spoken, as much code of tasks does."""

    async def llm_response_async(self, message: str | Message | None = None) -> Message | None:
        if isinstance(message, Message):
            assert message.metadata.id
            assert message.metadata.parent_id is not None
        return await super().llm_response_async(message)


PASSING = {
    "forward": call_tool("forward_tool", agent="clerk"),
    "pass": call_tool("pass_tool"),
    "done_pass": call_tool("done_pass_tool"),
    "send": call_tool("send_tool", to="clerk", content="Pay the rent."),
    "recipient": call_tool("recipient_message", intended_recipient="clerk", content="Pay the rent."),
    "task": call_tool("task_tool", system_message="You pay.", prompt="Pay the rent.", tools=["NONE"]),
}


def run_passing(way: str, journal: Journal) -> object:
    """A task that begins with a chat document, and whose lead passes it on; the clerk pays."""
    lead, clerk = (
        Reader(ChatAgentConfig(name=name, llm=Stateless(*answers)), tools=[pay])
        for name, answers in (
            ("lead", (PASSING[way], call_tool("done_tool", content="paid"))),
            ("clerk", (call_tool("pay", amount=3), "DONE paid")),
        )
    )
    lead.enable_message([ForwardTool, PassTool, DonePassTool, SendTool, TaskTool, DoneTool])
    lead.enable_message(RecipientTool.create(["clerk"]))
    above = Task(lead, interactive=False)
    above.add_sub_task(Task(clerk, interactive=False))
    metadata, lease = ChatDocMetaData(sender=Entity.USER, title="rent"), FileAttachment.from_bytes(b"lease")
    asked = ChatDocument(content="Pay the rent.", metadata=metadata, files=[lease])
    result = above.run(asked, run_id=way, journal=journal)
    return None if result is None else result.content


class Panel(Module):
    """Asks several agents at once, which answer in another order each time."""

    def __init__(self) -> None:
        super().__init__("panel")
        self.members = AgentList(Agent(Stateless(f"from {at}"), name="member") for at in range(4))

    async def forward(self, message: Message) -> str:
        async def ask(member: Module, text: str) -> str:
            await asyncio.sleep(random.uniform(0, 0.003))
            return (await member.acall(text)).content

        said = await asyncio.gather(*(ask(each, f"question {at}") for at, each in enumerate(self.members)))
        return ", ".join(said)


def run_panel(journal: Journal) -> object:
    return asyncio.run(Panel().acall("all", run_id="panel", journal=journal)).content


def run_steps(journal: Journal) -> object:
    with journal.run("steps"):
        first = step("fetch", lambda: random.random(), effect="read")
        second = step("charge", "charged {:.3f}".format, first, effect="idempotent")
        return agent()(second).content


def run_team(journal: Journal) -> object:
    expert = Agent(Stateless(call_tool("look", place="Rome"), "it is sunny"), tools=[look], name="expert")
    boss = Agent(Stateless(call_tool("expert", message="How is Rome?"), "go there"), tools=[expert], name="boss")
    return boss("Where to?", run_id="team", journal=journal).content


class Finish(ToolMessage):
    _effect = "read"
    request: str = "finish"
    purpose: str = "To finish with a <number>."
    number: int

    def handle(self) -> ToolMessage:
        return AgentDoneTool(content=self.number)


def run_typed_task(journal: Journal) -> object:
    made = chat("typed", call_tool("square", number=3), call_tool("finish", number=9))
    made.enable_message(Finish)
    return Task[int](made, interactive=False).run("Square three.", run_id="typed", journal=journal)


def run_person(journal: Journal) -> object:
    """A person who would answer something else the second time, an approver, and a policy."""
    made = Agent(Stateless(call_tool("buy", amount=3), "bought"), tools=[buy], name="shop")
    asked: list[str] = []

    def approve(request: ApprovalRequest) -> bool:
        asked.append(str(request))
        return True

    answer = made("Buy.", run_id="person", journal=journal, approve=approve)
    return answer.content


@tool(effect="once", needs_approval=True)
def buy(amount: int) -> str:
    """Buy."""
    return f"bought {amount}"


def run_parallel(journal: Journal) -> object:
    calls = [call_tool("look", 0, place="Oslo"), call_tool("look", 1, place="Rome"), call_tool("pay", 2, amount=4)]
    both = Agent(Stateless(calls, "done"), tools=[look, pay], name="both")
    return both("Go.", run_id="parallel", journal=journal).content


class Chores(Job):
    """A job that starts others, whose handlers ask models and pay."""

    def __init__(self, said: list[str]) -> None:
        super().__init__()
        self.said = said

    @tasker(PASS_WORD)
    async def task(self) -> None:
        await self.put_job(Errand(self.said, "left"))
        await self.put_job(Errand(self.said, "right"))


class Errand(Job):
    """A job that pays, and hands the receipt to its handler."""

    def __init__(self, said: list[str], where: str) -> None:
        super().__init__()
        self.said, self.where = said, where

    @tasker(PASS_WORD)
    async def task(self) -> None:
        receipt = f"paid on the {self.where}"
        await step_async("pay", lambda: receipt, reconcile=lambda: receipt)
        self.call_handler(self.note(self.where))

    @handler(PASS_WORD)
    async def note(self, self_handler: HandlerCoroutine, where: str) -> None:
        answer = await Agent(Stateless(f"noted {where}"), name="clerk").acall(f"Note {where}.")
        self.said.append(answer.content)


def run_chores(journal: Journal) -> object:
    said: list[str] = []
    with journal.run("chores"):
        CommanderAsync().run([Chores(said)], auto_exit=True)
    return sorted(said)


@tool(effect="transactional")
def book(amount: int) -> int:
    """Book an amount; return the number of bookings of this run."""
    database, run = this_call().transaction, this_call().context
    mark = "?" if isinstance(database, sqlite3.Connection) else "%s"
    database.execute("CREATE TABLE IF NOT EXISTS booking (run TEXT, amount INTEGER)")
    database.execute(f"INSERT INTO booking VALUES ({mark}, {mark})", (run, amount))
    return database.execute(f"SELECT count(*) FROM booking WHERE run = {mark}", (run,)).fetchone()[0]


def run_ledger(journal: Journal) -> object:
    """Books in the journal's own database: each booking is there once, with its record."""
    with journal.run("ledger"):
        run = this_call().new_id()
        answers = [call_tool("book", amount=amount) for amount in (3, 4, 5)]
        clerk = Agent(Stateless(*answers, "done"), tools=[book], name="clerk")
        clerk("Book.", context=run)
        return [each.content for each in clerk.memory.open(0).messages]


class Clerk:
    """A model that finds the tenant of the document that it is asked about, wrongly at first in every second one."""

    name = "clerk"

    def stream(self, request: Any) -> Iterator[Any]:
        asked = next(str(each["content"]) for each in request.messages if "Ada" in str(each["content"]))
        name = asked[asked.index("Ada") :].split()[0]
        is_wrong = int(name[3:]) % 2 and all(each["role"] != "assistant" for each in request.messages)
        yield from ScriptedModel([call_tool("record", tenant="Nobody" if is_wrong else name)]).stream(request)


def run_extraction(journal: Journal) -> object:
    """Four files, three at a time."""
    fields, found = parse_fields("tenant"), list[Outcome]()

    def open_case(path: Path) -> Case:
        return Case(Document(content=f"Ada{path.stem} rents the flat."), fields, tries=2)

    with journal.run("extraction"):
        paths = [Path(f"{number}.txt") for number in range(4)]
        task = extraction_task(fields, Clerk())
        run_sync(extract_files, task, paths, open_case, on_outcome=found.append, at_once=3)
    return sorted(f"{each.path}: {each.record['fields'] if each.record else each.error}" for each in found)


def run_session(journal: Journal) -> object:
    said: list[object] = []
    for number in range(3):
        talker = Agent(Stateless("one", "two", "three"), name="talker")
        if number:
            journal.view(f"talk-{number - 1}").restore(talker)
        talker(f"turn {number}", session_id="ada", run_id=f"talk-{number}", journal=journal)
        said = [each.content for each in talker.memory.open("ada").messages]
    return said


PROGRAMS: dict[str, Callable[[Journal], object]] = {
    "agent": run_agent,
    "agent_async": run_agent_async,
    "task": run_task,
    "panel": run_panel,
    "steps": run_steps,
    "team": run_team,
    "parallel": run_parallel,
    "chores": run_chores,
    "typed_task": run_typed_task,
    "person": run_person,
    "ledger": run_ledger,
    "extraction": run_extraction,
    "session": run_session,
    **{way: partial(run_passing, way) for way in PASSING},
}


def crash_and_resume(names: list[str], url: str = "") -> dict[str, int]:
    """Kill programs at each place, in a process without other threads; return how often each was killed."""
    command = [sys.executable, "-m", "journal._programs", *names]
    with quick_folder() as folder:
        environment = {**os.environ, "TRIVIUM_TEST_URL": url, "TMPDIR": folder}
        ran = subprocess.run(
            command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=240, env=environment
        )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    killed = {name: int(times) for name, times in map(str.split, ran.stdout.splitlines())}
    assert min(killed.values()) >= 7
    return killed


def _warm_up(url: str) -> None:
    """Run the programs that leave no threads. What they load and build then need not be loaded and built again in each
    of the thousand processes that are forked, for several times what the run itself costs."""
    with TemporaryDirectory() as folder:
        for name in ("typed_task", "parallel", "steps", "ledger", "session"):
            journal = Journal(url or Path(folder, name))
            PROGRAMS[name](journal)
            journal.close()
    assert threading.active_count() == 1
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    url = os.environ.get("TRIVIUM_TEST_URL", "")
    _warm_up(url)
    for name in sys.argv[1:] or PROGRAMS:
        print(name, assert_crash_safe(PROGRAMS[name], moments=2, url=url), flush=True)
