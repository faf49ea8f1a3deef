"""The calls behind five uses of trivium, counted: `make bench-walks`.

Each walk is a fixed script with a scripted model, run once to warm up and then three times under the profiler; the run
with the fewest calls counts. Only frames of trivium's own code are seen, in all threads:

calls      functions entered, and generators and coroutines resumed
functions  different ones among them
files      different files that they stand in
switches   consecutive calls, of one thread, in different files

`BEFORE` holds the figures of commit f8093d3 under Python 3.11. From Python 3.12 on comprehensions are no calls.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from running import running

import trivium
from trivium import Agent, ChatAgent, ChatAgentConfig, Document, Task, ToolMessage
from trivium.agents.special import DocChatAgent, DocChatAgentConfig
from trivium.extraction import Case, extraction_task, parse_fields
from trivium.knowledge import read
from trivium.knowledge.stores import SQLiteStoreConfig
from trivium.llms import OpenAIModel
from trivium.testing import ScriptedModel, call_tool

ROOT = Path(__file__).parents[1]
PACKAGE = str(Path(trivium.__file__).parent) + "/"
MEASURED = 3
Run = Callable[[], object]
Call = tuple[int, CodeType]


class Figures(NamedTuple):
    """The figures of one run of a walk."""

    calls: int
    functions: int
    files: int
    switches: int


BEFORE: Mapping[str, Figures] = {
    "turn": Figures(140, 79, 20, 80),
    "task": Figures(1_055, 224, 41, 695),
    "stream": Figures(417, 177, 35, 250),
    "pdf": Figures(35_058, 348, 55, 1_059),
    "cited": Figures(1_427, 289, 50, 518),
}


class Add(ToolMessage):
    """A tool that the model writes as JSON in its text, and the sub-task's agent handles."""

    request: str = "add"
    purpose: str = "to add <a> and <b>"
    a: int
    b: int

    def handle(self) -> str:
        return str(self.a + self.b)


def turn(_: ExitStack) -> Run:
    """A turn with a tool: question, call, result, answer."""

    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    agent = Agent(ScriptedModel([call_tool("add", a=1, b=2), "three"] * (1 + MEASURED)), tools=[add])
    return lambda: expect("three", agent("1 + 2?").content)


def task(_: ExitStack) -> Run:
    """A task whose agent writes a ToolMessage, which the agent of its sub-task handles."""
    call = json.dumps({"request": "add", "a": 1, "b": 2})
    llm = ScriptedModel([call, "DONE 3"] * (1 + MEASURED))
    boss = ChatAgent(ChatAgentConfig(name="boss", llm=llm, search_for_tools_everywhere=True))
    boss.enable_message(Add, handle=False)
    helper = ChatAgent(name="helper")
    helper.enable_message(Add, use=False)
    whole = Task(boss, interactive=False)
    whole.add_sub_task(Task(helper, interactive=False, single_round=True))

    def run() -> None:
        result = whole.run("1 + 2?")
        expect("3", result and result.content)

    return run


def stream(stack: ExitStack) -> Run:
    """Two deltas of a server's answer, read from a synchronous stream."""
    url = stack.enter_context(running(Path(__file__).with_name("wire_server.py")))
    agent = Agent(OpenAIModel("pieces-2", base_url=url, api_key="k"))

    def run() -> None:
        events = agent.stream("Say two words.")
        for _ in events:
            pass
        expect("word0 word1 ", events.result.content)

    return run


def pdf(_: ExitStack) -> Run:
    """A PDF to a JSON line of five fields."""
    path = ROOT / "samples" / "documents" / "shared-mime-info.pdf"
    values = {"name": "shared-mime-info", "date": "2003-05-28", "licence": "GPL", "holder": "Thomas Leonard"}
    fields = parse_fields((ROOT / "samples" / "fields.txt").read_text())
    whole = extraction_task(fields, ScriptedModel([call_tool("record", version=None, **values)]))

    def run() -> str:
        case = Case(read(path), fields)
        result = whole.run(case.question(), session_id="1", context=case)
        whole.reset("1", recursive=True)
        return json.dumps(result and result.content_any)

    return run


def cited(_: ExitStack) -> Run:
    """An answer from a document, with its citation."""
    config = DocChatAgentConfig(
        llm=ScriptedModel(["The rent is 950 EUR [1]."]),
        vecdb=SQLiteStoreConfig(embedding=None),
        conversation_mode=False,
    )
    agent = DocChatAgent(config)
    agent.ingest_docs([Document.from_string("The rent is 950 EUR.", "lease.txt", is_chunk=False)])
    return lambda: expect("The rent is 950 EUR [1].\n\n[1] lease.txt:1", agent("How much is the rent?").content)


WALKS: Mapping[str, Callable[[ExitStack], Run]] = {each.__name__: each for each in (turn, task, stream, pdf, cited)}


def expect(wanted: str, found: object) -> None:
    if found != wanted:
        raise RuntimeError(f"the walk gave {found!r} instead of {wanted!r}")


def count(calls: Iterable[Call]) -> Figures:
    """The figures of one run's calls."""
    threads: dict[int, list[str]] = {}
    codes = Counter(code for _, code in calls)
    for thread, code in calls:
        threads.setdefault(thread, []).append(code.co_filename)
    switches = sum(one != other for files in threads.values() for one, other in pairwise(files))
    return Figures(codes.total(), len(codes), len({code.co_filename for code in codes}), switches)


class Recorder:
    """The calls of trivium's own code, in all threads that start after it."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        threading.setprofile(self.note)

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """Record a call; the profiler's function."""
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            self.calls.append((threading.get_ident(), frame.f_code))

    def figures(self, run: Run) -> Figures:
        """The figures of one run."""
        self.calls.clear()
        sys.setprofile(self.note)
        try:
            run()
        finally:
            sys.setprofile(None)
        return count(self.calls)

    def most_called(self, number: int) -> list[str]:
        """The functions that the last run called most, with the number of calls."""
        codes = Counter(code for _, code in self.calls).most_common(number)
        return [f"{times:8,}  {code.co_filename.removeprefix(PACKAGE)} {code.co_qualname}" for code, times in codes]

    def measure(self, name: str) -> Figures:
        """The figures of a walk."""
        with ExitStack() as stack:
            run = WALKS[name](stack)
            run()
            return min(self.figures(run) for _ in range(MEASURED))


def show(name: str, now: Figures) -> None:
    """Print the line of one walk."""
    columns = (f"{new:8,}{old:8,}{new / old:7.2f}" for new, old in zip(now, BEFORE[name], strict=True))
    print(f"{name:8}" + " ".join(columns))


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("walks", nargs="*", metavar="WALK", help=f"of {', '.join(WALKS)}; all by default")
    parser.add_argument(
        "--top", type=int, default=0, metavar="N", help="print the N most called functions of the last walk"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    given = parser.parse_args()
    if unknown := set(given.walks) - set(WALKS):
        parser.error(f"no walk: {', '.join(sorted(unknown))}; there are {', '.join(WALKS)}")
    recorder = Recorder()
    found = {name: recorder.measure(name) for name in given.walks or WALKS}
    if given.json:
        print(json.dumps({name: now._asdict() for name, now in found.items()}))
        return
    if given.top:
        print(*recorder.most_called(given.top), sep="\n")
    print(" " * 8 + " ".join(f"{figure:>8}{'before':>8}{'ratio':>7}" for figure in Figures._fields))
    for name, now in found.items():
        show(name, now)


if __name__ == "__main__":
    main()
