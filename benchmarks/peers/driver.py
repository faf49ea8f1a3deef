"""Runs the workloads of one peer in the peer's own interpreter: a JSON line in, a JSON line out. Standard library only.

    python driver.py PEER

A line is `{"do": "turn", …}`; the answer `{"seconds": …, "evidence": …}`, or `{"cannot": "sentence"}`. Each workload is
written once here, for all peers, with the methods of their adapters. Seconds are processor time of this process, of
one operation; a block of so many operations is timed that it takes about a seventh of a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import signal
import sys
import time
import tracemalloc
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import count, islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from common import (
    WITNESS,
    Adapter,
    Call,
    Cannot,
    aadd,
    add,
    calls,
    calls_each,
    hello,
    long_answer,
    long_question,
    pieces,
    pieces_in_time,
    tools,
)
from evidence import are_loaded, conversation, question, state_of, team_of, told_of, work
from load import load

BLOCK = 0.15
AT_MOST = 1000
fresh = count()


def session() -> str:
    """A name that no session had."""
    return f"session-{next(fresh)}"


def numbers(times: int) -> list[int]:
    """Numbers that no question and no session had."""
    return list(islice(fresh, times))


def timed(do: Callable[[Any], Any], given: Callable[[int], Sequence[Any]] = numbers) -> tuple[float, Any, int]:
    """Seconds of one operation, what a block of them gave, and how many that were.

    Args:
        do: does an operation with each of what it is given.
        given: makes what so many operations are given; it is not timed.
    """
    first, more = given(1), given(3)
    gc.collect()
    began = time.process_time()
    do(first)  # warms up, and tells how long one takes
    once = time.process_time() - began
    if once < BLOCK / 4:
        began = time.process_time()
        do(more)
        once = (time.process_time() - began) / 3
    all_given = given(max(1, min(AT_MOST, int(BLOCK / max(once, 1e-6)))))
    WITNESS.reset()
    gc.collect()
    began = time.process_time()
    done = do(all_given)
    return (time.process_time() - began) / len(all_given), done, len(all_given)


class Workloads:
    """What can be asked of a peer."""

    def __init__(self, peer: Adapter) -> None:
        self.peer = peer
        self.kept: dict[Any, Any] = {}
        self.runner = asyncio.Runner()  # some clients of model servers live as long as the loop that they met first

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What was made before, or is made now."""
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    # ---- making and asking
    def info(self) -> dict[str, Any]:
        versions = dict[str, str]()
        for name in self.peer.distributions:
            with contextlib.suppress(PackageNotFoundError):
                versions[name] = version(name)
        return {
            "title": self.peer.title,
            "statement": self.peer.statement,
            "notes": dict(self.peer.notes),
            "stores": list(self.peer.stores),
            "versions": versions,
            "python": ".".join(map(str, sys.version_info[:3])),
        }

    def build(self, number: int, *, fresh: bool = True) -> dict[str, Any]:
        """Seconds of making an agent with so many tools; new functions for each, or the same for all."""
        same = tools(number)
        seconds, _, _ = timed(
            lambda sets: [self.peer.agent(hello, each) for each in sets],
            lambda times: [tools(number) if fresh else same for _ in range(times)],
        )
        return {"seconds": seconds, "evidence": self._holds(number)}

    def _holds(self, number: int) -> dict[str, Any]:
        """That an agent has so many tools: its model calls each of them, ten in a run."""
        WITNESS.reset()
        given = tools(number)
        names = [each.__name__ for each in given]
        groups = [names[start : start + 10] for start in range(0, max(1, number), 10)]
        texts = [self.peer.run(self.peer.agent(calls_each(each), given), question(0), session()) for each in groups]
        return {**work(texts, 1), "tools that ran": WITNESS.names}

    def first(self, number: int) -> dict[str, Any]:
        """Seconds of making an agent with so many new tools and of its first turn, before which some read no tool."""
        seconds, texts, times = timed(
            lambda some: [self.peer.run(self.peer.agent(hello, each), text, session()) for text, each in some],
            lambda times: [(question(each), tools(number)) for each in numbers(times)],
        )
        return {"seconds": seconds, "evidence": work(texts, times)}

    def turn(self, tool_calls: int = 0, *, in_lagents_style: bool = False) -> dict[str, Any]:
        script, given = (calls(tool_calls), [add]) if tool_calls else (hello, [])
        make = self.peer.in_lagents_style if in_lagents_style else self.peer.agent
        agent = self.once(("style" if in_lagents_style else "turn", tool_calls), lambda: make(script, given))
        first = next(fresh)
        seconds, texts, times = timed(
            lambda some: [self.peer.run(agent, f"question-{each}.", f"session-{each}") for each in some]
        )
        found = work(texts, times)
        self.peer.forget(agent, [f"session-{number}" for number in range(first + 1, next(fresh))])
        return {"seconds": seconds, "evidence": found}

    def awaited(self, tool_calls: int = 0) -> dict[str, Any]:
        script, given = (calls(tool_calls), [aadd]) if tool_calls else (hello, [])
        agent = self.peer.agent(script, given, in_loop=True)

        async def main(some: Sequence[int]) -> list[str]:
            return [await self.peer.arun(agent, f"question-{each}.", f"session-{each}") for each in some]

        with asyncio.Runner() as runner:
            seconds, texts, times = timed(lambda some: runner.run(main(some)))
        return {"seconds": seconds, "evidence": work(texts, times)}

    def concurrent(self, number: int, *, plain: bool = False) -> dict[str, Any]:
        async def main() -> Any:
            agent = self.peer.agent(calls(1), [add if plain else aadd], in_loop=True)
            await self.peer.arun(agent, question(0), session())
            WITNESS.reset()
            gc.collect()
            began, wall = time.process_time(), time.perf_counter()
            runs = [self.peer.arun(self.peer.apart(agent), question(each), session()) for each in range(number)]
            texts = await asyncio.gather(*runs)
            return time.process_time() - began, time.perf_counter() - wall, texts

        seconds, wall, texts = asyncio.run(main())
        return {"seconds": seconds, "wall": wall, "evidence": work(texts, number)}

    # ---- more of what grows
    def stream(self, few: int = 100, many: int = 1100) -> dict[str, Any]:
        """Seconds of one delta: what many take more than few."""

        async def main() -> Any:
            agents = {number: self.peer.agent(pieces(number), in_loop=True) for number in (few, many)}
            await self.peer.stream(agents[few], "go", str)
            spent, found = dict[int, float](), list[str]()
            for number, agent in agents.items():
                found = list[str]()
                gc.collect()
                began = time.process_time()
                await self.peer.stream(agent, "go", found.append)
                spent[number] = time.process_time() - began
            WITNESS.reset()
            WITNESS.paced = True
            await self.peer.stream(self.peer.agent(pieces_in_time(10), in_loop=True), "go", WITNESS.got.append)
            return (spent[many] - spent[few]) / (many - few), found

        try:
            seconds, found = asyncio.run(main())
        finally:
            WITNESS.paced = False
        return {"seconds": seconds, "evidence": told_of(found)}

    def history(self, sizes: Sequence[int], around: int = 5) -> dict[str, Any]:
        """Seconds of a turn, by how many messages the session has: one session that grows."""
        agent, name = self.peer.agent(hello, remembers=True), session()
        self.peer.run(agent, "warm", session())
        costs: dict[int, list[float]] = {size: [] for size in sizes}
        found = dict[str, int | str]()
        for number in range(max(sizes) // 2 + around):
            size = 2 * number
            near = next((each for each in sizes if each <= size < each + 2 * around), None)
            if size in costs:
                gc.collect()
            began = time.process_time()
            self.peer.run(agent, question(number), name)
            if near is not None:
                costs[near].append(time.process_time() - began)
            if size in costs:
                found[str(size)] = conversation(range(number + 1))
        seconds = {str(size): min(each) for size, each in costs.items()}
        return {"seconds": seconds, "evidence": {"questions heard": found}}

    def memory(self, agents: int, sessions: int) -> dict[str, Any]:
        """Bytes of an agent with one tool, and of a session of one agent after one turn; what Python allocated."""
        given, script = [add], calls(1)
        self.peer.agent(script, given)
        agent = self.peer.agent(hello, remembers=True)
        self.peer.run(agent, question(0), session())
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        kept = [self.peer.agent(script, given) for _ in range(agents)]
        gc.collect()
        an_agent = (tracemalloc.get_traced_memory()[0] - before) / len(kept)
        WITNESS.reset()
        found = {"agents": work([self.peer.run(each, question(0), session()) for each in kept], agents)}
        del kept
        gc.collect()
        asked = numbers(sessions)
        WITNESS.reset()
        before = tracemalloc.get_traced_memory()[0]
        texts = [self.peer.run(agent, question(each), f"session-{each}") for each in asked]
        gc.collect()
        a_session = (tracemalloc.get_traced_memory()[0] - before) / sessions
        tracemalloc.stop()
        found["sessions"] = work(texts, sessions)
        found["sessions heard before"] = sorted({self._kept(agent, each) for each in asked}, key=str)
        return {"bytes": {"agent": an_agent, "session": a_session}, "evidence": found}

    def _kept(self, agent: Any, asked: int) -> int | str:
        """How many questions a session's model hears with its second."""
        second = next(fresh)
        self.peer.run(agent, question(second), f"session-{asked}")
        return conversation([asked, second])

    # ---- at a model server
    def served(self, url: str, sessions: int, seconds: float, think: float = 0.0) -> dict[str, Any]:
        """Turns of so many sessions; the agent and its connections stay until `hang_up`, as in a service."""
        agent = self.once(("served", url), lambda: self.runner.run(self._made_for(url)))
        told = self.runner.run(load(lambda name: self.peer.arun_served(agent, "go", name), sessions, seconds, think))
        return {"figures": told["figures"], "turns": told["turns"], "evidence": {"texts": told["texts"]}}

    def first_served(self, url: str) -> dict[str, Any]:
        """The first turn at a server since the import: with what is made or loaded only then."""
        began = time.process_time()
        agent = self.runner.run(self._made_for(url))
        text = self.runner.run(self.peer.arun_served(agent, "go", "session-0"))
        figures = {"cpu": time.process_time() - began}
        self.runner.run(self.peer.aclose(agent))
        return {"figures": figures, "turns": 1, "evidence": {"texts": [text]}}

    async def _made_for(self, url: str) -> Any:
        return self.peer.served(url)

    def hang_up(self, url: str) -> dict[str, Any]:
        """Close what `served` has opened."""
        agent = self.kept.pop(("served", url), None)
        if agent is not None:
            self.runner.run(self.peer.aclose(agent))
        return {}

    def bad(self, url: str, streams: bool, limit: float, tool: bool) -> dict[str, Any]:
        """What becomes of a bad answer: its kind, and the error or the text in words."""

        async def main() -> str:
            agent = self.peer.served(url, [aadd] if tool else [], streams=streams)
            try:
                return await asyncio.wait_for(self.peer.arun_served(agent, "1 + 2?", session()), limit)
            finally:
                await self.peer.aclose(agent)

        try:
            text = self.runner.run(main())
        except Cannot:
            raise
        except TimeoutError:
            return {"kind": "hung", "words": f"longer than {limit:.0f} s"}
        except Exception as error:
            kind = "typed error" if isinstance(error, self.peer.errors()) else "bare error"
            name = f"{type(error).__module__.partition('.')[0]}.{type(error).__qualname__}"
            return {"kind": kind, "words": f"{name}: {error}"[:200]}
        return {"kind": "went on" if text else "silent empty success", "words": str(text)[:100]}

    # ---- killed in the middle
    def begin(self, path: str) -> dict[str, Any]:
        """Begin a run of two tools, of which the second kills this process."""
        return {"text": self.peer.start(self._durable(path), "go")}

    def resume(self, path: str) -> dict[str, Any]:
        """Go on with it."""
        return {"text": self.peer.resume(self._durable(path))}

    def _durable(self, path: str) -> Any:
        noted = Path(path) / "noted"

        def note(word: str) -> None:
            with noted.open("a") as file:
                file.write(word + "\n")

        def look_up(order: str) -> str:
            """Look an order up.

            Args:
                order: its number
            """
            note("look_up")
            return "it costs 5"

        def charge(order: str) -> str:
            """Charge for an order.

            Args:
                order: its number
            """
            note("charge")
            if noted.read_text().count("charge") == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            return "charged"

        def script(results: Sequence[str]) -> Any:
            note("model")
            names = ("look_up", "charge")
            return Call(names[len(results)], {"order": "7"}) if len(results) < len(names) else "done"

        return self.peer.durable(path, script, [look_up, charge])

    # ---- conversations that are kept in a store
    def converse(self, store: str, place: str, turns: int, noted: str) -> dict[str, Any]:
        """A conversation of so many turns; the process is killed when the next one begins.

        Args:
            store: where it is kept, of `Adapter.stores`.
            place: the file or the URL.
            turns: how many turns.
            noted: a file for the processor time at the beginning of each turn.
        """

        def texts() -> Iterator[str]:
            times = list[float]()
            for number in range(turns):
                times.append(time.process_time())
                yield long_question(number)
            times.append(time.process_time())
            Path(noted).write_text(json.dumps(times))
            os.kill(os.getpid(), signal.SIGKILL)

        self.peer.converse(store, place, long_answer, texts(), 0)
        raise AssertionError("it was not killed")

    def converse_on(self, store: str, place: str, turns: int) -> dict[str, Any]:
        """Seconds until the next turn of such a conversation is answered, in a new process."""
        WITNESS.reset()
        began = time.process_time()
        self.peer.converse(store, place, long_answer, map(long_question, range(turns + 1)), turns)
        seconds = time.process_time() - began
        found = {"questions heard": conversation(range(turns + 1)), "requests": WITNESS.requests}
        return {"seconds": seconds, "evidence": found}

    def team(self) -> dict[str, Any]:
        run = self.once("team", self.peer.team)
        words = list[str]()

        def one(number: int) -> str:
            WITNESS.word = f"word-{number}."
            words.append(WITNESS.word)
            return run("go")

        seconds, texts, times = timed(lambda some: [one(each) for each in some])
        return {"seconds": seconds, "evidence": team_of(texts, words[-times:])}

    def node(self, number: int) -> dict[str, Any]:
        run = self.once("node", self.peer.node)
        run(100)
        WITNESS.reset()
        gc.collect()
        return {"seconds": run(number) / number, "evidence": {"nodes that ended": WITNESS.nodes}}

    def state(self, depth: int) -> dict[str, Any]:
        give = self.once(("state", depth), lambda: self.peer.state(depth))
        seconds, states, _ = timed(lambda some: [give() for _ in some])
        return {"seconds": seconds, "evidence": state_of(states[-1])}

    # ---- that an import is worth its seconds
    def used(self, names: Mapping[str, Any], loaded: Container[str]) -> dict[str, bool]:
        """Whether imported names are what they seem, and whether a turn, or else nodes, come of them."""
        WITNESS.reset()
        try:
            works = self.peer.run(self.peer.agent(hello), "go", session()) == "hello" and WITNESS.requests == 1
        except Cannot:
            self.peer.node()(10)
            works = WITNESS.nodes == 10
        return {"names": are_loaded(names, loaded), "works": works}


def main(name: str) -> None:
    """Answer line by line until the input ends."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a peer prints is no answer
    os.environ.pop("OPENAI_BASE_URL", None)
    workloads = Workloads(import_module(f"{name}_adapter").Peer())
    gc.collect()
    gc.freeze()  # else each of a package's modules would be weighed again and again in its turns
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = getattr(workloads, asked.pop("do"))(**asked)
        except Cannot as why:
            answer = {"cannot": str(why)}
        except Exception as error:
            import traceback

            answer = {"failed": f"{type(error).__name__}: {error}"[:500], "traceback": traceback.format_exc()[-4000:]}
        out.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
