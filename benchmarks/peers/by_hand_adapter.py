"""The floor: what everybody writes first. No sessions but a dict, no events, no limits, no checks, no errors."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, NamedTuple

from common import WITNESS, Adapter, Call, Script, ask, greeting, pause, report, word


class Loop(NamedTuple):
    """A script, tools by name, and what is remembered."""

    script: Script
    tools: dict[str, Callable[..., Any]]
    sessions: dict[str, list[dict[str, Any]]] | None


def model(script: Script, history: list[dict[str, Any]]) -> Any:
    """A model in process."""
    results = list[str]()
    for message in reversed(history):
        if message["role"] == "user":
            break
        if message["role"] == "tool":
            results.append(message["content"])
    return ask(script, results[::-1], history)


def called(loop: Loop, history: list[dict[str, Any]], said: Any) -> Any:
    """Note what the model said, and begin what it calls."""
    if not isinstance(said, Call):
        history.append({"role": "assistant", "content": said if isinstance(said, str) else "".join(said)})
        return None
    history.append({"role": "assistant", "tool_calls": [said]})
    arguments = json.loads(json.dumps(said.arguments))  # a model's arguments come as JSON
    return loop.tools[said.name](**arguments)


class Connections:
    """Bare connections to a server, kept open, and the least that can be said over them."""

    def __init__(self, url: str) -> None:
        self.host, _, port = url.removeprefix("http://").partition("/")[0].partition(":")
        self.port = int(port)
        self.idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self, text: str) -> str:
        body = json.dumps({"model": "served", "messages": [{"role": "user", "content": text}]}).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: {self.host}\r\ncontent-type: application/json\r\n"
        reader, writer = self.idle.pop() if self.idle else await asyncio.open_connection(self.host, self.port)
        writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        answered = await reader.readuntil(b"\r\n\r\n")
        length = int(answered.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        answer = json.loads(await reader.readexactly(length))
        self.idle.append((reader, writer))
        return answer["choices"][0]["message"]["content"]


class Peer(Adapter):
    title = "by hand"
    statement = "import asyncio, json"
    stores: ClassVar = ("rows of a table, SQLite",)

    def agent(
        self, script: Script, tools: Sequence[Any] = (), *, in_loop: bool = False, remembers: bool = False
    ) -> Loop:
        return Loop(script, {tool.__name__: tool for tool in tools}, {} if remembers else None)

    def in_lagents_style(self, script: Script, tools: Sequence[Any]) -> Loop:
        return self.agent(script, tools)

    def history(self, agent: Loop, text: str, session: str) -> list[dict[str, Any]]:
        history: list[dict[str, Any]] = [] if agent.sessions is None else agent.sessions.setdefault(session, [])
        history.append({"role": "user", "content": text})
        return history

    def run(self, agent: Loop, text: str, session: str) -> str:
        history = self.history(agent, text, session)
        while (result := called(agent, history, model(agent.script, history))) is not None:
            history.append({"role": "tool", "content": str(result)})
        return history[-1]["content"]

    async def arun(self, agent: Loop, text: str, session: str) -> str:
        history = self.history(agent, text, session)
        while True:
            await asyncio.sleep(0)
            result = called(agent, history, model(agent.script, history))
            if result is None:
                return history[-1]["content"]
            history.append({"role": "tool", "content": str(await result if asyncio.iscoroutine(result) else result)})

    def forget(self, agent: Loop, sessions: Sequence[str]) -> None:
        for session in sessions if agent.sessions else ():
            agent.sessions.pop(session, None)

    async def stream(self, agent: Loop, text: str, got: Callable[[str], Any]) -> None:
        async def deltas() -> Any:
            for piece in model(agent.script, [{"role": "user", "content": text}]):
                if WITNESS.paced:
                    await pause()
                yield piece

        async for piece in deltas():
            got(piece)

    def served(self, url: str, tools: Sequence[Any] = (), *, streams: bool | None = None) -> Connections:
        return Connections(url)

    async def arun_served(self, agent: Connections, text: str, session: str) -> str:
        return await agent.ask(text)

    async def aclose(self, agent: Connections) -> None:
        for _, writer in agent.idle:
            writer.close()

    def team(self) -> Callable[[str], str]:
        worker = self.agent(word)

        def ask_worker(task: str) -> str:
            return self.run(worker, task, "")

        manager = self.agent(report(Call("ask_worker", {"task": "go"})), [ask_worker])
        return lambda text: self.run(manager, text, "")

    def state(self, depth: int) -> Callable[[], Mapping[str, Any]]:
        memories = {
            ".".join(["inner"] * (depth - level)): [
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": greeting(level)},
            ]
            for level in range(depth + 1)
        }
        return lambda: {path: [dict(each) for each in memory] for path, memory in memories.items()}

    def converse(self, store: str, place: str, script: Script, texts: Iterable[str], done: int) -> None:
        database = sqlite3.connect(place, isolation_level=None)
        database.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")
        database.execute("CREATE TABLE IF NOT EXISTS turn (number INTEGER PRIMARY KEY, messages TEXT)")
        rows = database.execute("SELECT messages FROM turn ORDER BY number").fetchall()
        agent = self.agent(script, remembers=True)
        agent.sessions["kept"] = [each for row in rows for each in json.loads(row[0])]
        for text in islice(texts, done, None):
            self.run(agent, text, "kept")
            database.execute("INSERT INTO turn (messages) VALUES (?)", (json.dumps(agent.sessions["kept"][-2:]),))

    def node(self) -> Callable[[int], float]:
        async def nothing() -> None:
            WITNESS.nodes += 1

        async def main(number: int) -> float:
            began = time.process_time()
            async with asyncio.TaskGroup() as group:
                for _ in range(number):
                    group.create_task(nothing())
            return time.process_time() - began

        return lambda number: asyncio.run(main(number))
