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
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from common import WITNESS, Adapter, Call, Cannot, aadd, add, calls, hello, pieces, tools
from load import load

BLOCK = 0.15
AT_MOST = 1000
fresh = count()


def session() -> str:
    """A name that no session had."""
    return f"session-{next(fresh)}"


def evidence(texts: Sequence[str], operations: int) -> dict[str, Any]:
    """What was done, the same for each operation, or there would be no figure."""
    return {
        "text": sorted(set(texts)),
        "requests": WITNESS.requests / operations,
        "tool runs": len(WITNESS.ran) / operations,
        "tool results": sorted(set(WITNESS.ran), key=lambda each: (len(each), each)),
        "told to the model": WITNESS.seen,
    }


def timed(do: Callable[[int], Any]) -> tuple[float, Any, int]:
    """Seconds of one operation, what a block of them gave, and how many that were."""
    gc.collect()
    began = time.process_time()
    do(1)  # warms up, and tells how long one takes
    once = time.process_time() - began
    if once < BLOCK / 4:
        began = time.process_time()
        do(3)
        once = (time.process_time() - began) / 3
    operations = max(1, min(AT_MOST, int(BLOCK / max(once, 1e-6))))
    WITNESS.reset()
    gc.collect()
    began = time.process_time()
    done = do(operations)
    return (time.process_time() - began) / operations, done, operations


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
            "versions": versions,
            "python": ".".join(map(str, sys.version_info[:3])),
        }

    def build(self, number: int) -> dict[str, Any]:
        given = tools(number)
        seconds, _, _ = timed(lambda times: [self.peer.agent(hello, given) for _ in range(times)])
        WITNESS.reset()
        made = self.peer.agent(hello, given)
        with contextlib.suppress(Cannot):
            return {"seconds": seconds, "evidence": evidence([self.peer.run(made, "go", session())], 1)}
        text = asyncio.run(self.peer.arun(self.peer.agent(hello, given, in_loop=True), "go", session()))
        return {"seconds": seconds, "evidence": evidence([text], 1)}

    def turn(self, tool_calls: int = 0) -> dict[str, Any]:
        script, given = (calls(tool_calls), tools(1)) if tool_calls else (hello, [])
        agent = self.once(("sync", tool_calls), lambda: self.peer.agent(script, given))
        first = next(fresh)
        seconds, texts, times = timed(lambda times: [self.peer.run(agent, "go", session()) for _ in range(times)])
        self.peer.forget(agent, [f"session-{number}" for number in range(first + 1, next(fresh))])
        return {"seconds": seconds, "evidence": evidence(texts, times)}

    def awaited(self, tool_calls: int = 0) -> dict[str, Any]:
        script, given = (calls(tool_calls), [aadd]) if tool_calls else (hello, [])

        async def main() -> Any:
            agent = self.peer.agent(script, given, in_loop=True)

            async def some(times: int) -> list[str]:
                return [await self.peer.arun(agent, "go", session()) for _ in range(times)]

            await some(2)
            began = time.process_time()
            await some(3)
            times = max(1, min(AT_MOST, int(BLOCK / max((time.process_time() - began) / 3, 1e-6))))
            WITNESS.reset()
            gc.collect()
            began = time.process_time()
            texts = await some(times)
            return (time.process_time() - began) / times, texts, times

        seconds, texts, times = asyncio.run(main())
        return {"seconds": seconds, "evidence": evidence(texts, times)}

    def concurrent(self, number: int, *, plain: bool = False) -> dict[str, Any]:
        async def main() -> Any:
            agent = self.peer.agent(calls(1), [add if plain else aadd], in_loop=True)
            await self.peer.arun(agent, "go", session())
            WITNESS.reset()
            gc.collect()
            began, wall = time.process_time(), time.perf_counter()
            texts = await asyncio.gather(*[self.peer.arun(agent, "go", session()) for _ in range(number)])
            return time.process_time() - began, time.perf_counter() - wall, texts

        seconds, wall, texts = asyncio.run(main())
        return {"seconds": seconds, "wall": wall, "evidence": evidence(texts, number)}

    # ---- more of what grows
    def stream(self, few: int = 100, many: int = 1100) -> dict[str, Any]:
        """Seconds of one delta: what many take more than few."""

        async def main() -> Any:
            agents = {number: self.peer.agent(pieces(number), in_loop=True) for number in (few, many)}
            await self.peer.stream(agents[few], "go")
            spent, found = dict[int, float](), list[str]()
            for number, agent in agents.items():
                gc.collect()
                began = time.process_time()
                found = await self.peer.stream(agent, "go")
                spent[number] = time.process_time() - began
            return (spent[many] - spent[few]) / (many - few), found

        seconds, found = asyncio.run(main())
        return {"seconds": seconds, "evidence": {"pieces": len(found), "text": "".join(found)[-20:]}}

    def history(self, sizes: Sequence[int], around: int = 5) -> dict[str, Any]:
        """Seconds of a turn, by how many messages the session has: one session that grows."""
        try:
            return self._history(sizes, around, self._sync_turn())
        except Cannot:
            with asyncio.Runner() as runner:
                return self._history(sizes, around, self._async_turn(runner))

    def _sync_turn(self) -> Callable[[str], str]:
        agent, name = self.peer.agent(hello, remembers=True), session()
        self.peer.run(agent, "warm", session())
        return lambda text: self.peer.run(agent, text, name)

    def _async_turn(self, runner: Any) -> Callable[[str], str]:
        agent, name = self.peer.agent(hello, in_loop=True, remembers=True), session()
        return lambda text: runner.run(self.peer.arun(agent, text, name))

    def _history(self, sizes: Sequence[int], around: int, turn: Callable[[str], str]) -> dict[str, Any]:
        costs: dict[int, list[float]] = {size: [] for size in sizes}
        heard = dict[int, int]()
        for number in range(max(sizes) // 2 + around):
            size = 2 * number
            near = next((each for each in sizes if each <= size < each + 2 * around), None)
            if size in costs:
                gc.collect()
            began = time.process_time()
            turn(f"question {number}")
            if near is not None:
                costs[near].append(time.process_time() - began)
                heard.setdefault(near, WITNESS.heard())
        seconds = {str(size): min(each) for size, each in costs.items()}
        return {"seconds": seconds, "evidence": {"questions heard": {str(size): heard[size] for size in sizes}}}

    def memory(self, agents: int, sessions: int) -> dict[str, Any]:
        """Bytes of an agent with one tool, and of a session of one agent after one turn; what Python allocated."""
        given = tools(1)
        self.peer.agent(hello, given)
        runner = None
        try:
            agent = self.peer.agent(hello, remembers=True)
            self.peer.run(agent, "go", session())
            run = lambda: self.peer.run(agent, "go", session())  # noqa: E731
        except Cannot:
            runner = asyncio.Runner()
            agent = self.peer.agent(hello, in_loop=True, remembers=True)
            run = lambda: runner.run(self.peer.arun(agent, "go", session()))  # noqa: E731
            run()
        WITNESS.reset()
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        kept = [self.peer.agent(hello, given) for _ in range(agents)]
        gc.collect()
        an_agent = (tracemalloc.get_traced_memory()[0] - before) / len(kept)
        del kept
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        texts = [run() for _ in range(sessions)]
        gc.collect()
        a_session = (tracemalloc.get_traced_memory()[0] - before) / sessions
        tracemalloc.stop()
        if runner is not None:
            runner.close()
        return {"bytes": {"agent": an_agent, "session": a_session}, "evidence": evidence(texts, sessions)}

    # ---- at a model server
    def served(self, url: str, sessions: int, seconds: float, think: float = 0.0) -> dict[str, Any]:
        async def main() -> dict[str, Any]:
            agent = self.peer.served(url)
            try:
                return await load(lambda name: self.peer.arun_served(agent, "go", name), sessions, seconds, think)
            finally:
                await self.peer.aclose(agent)

        told = self.runner.run(main())
        return {"figures": told["figures"], "turns": told["turns"], "evidence": {"texts": told["texts"]}}

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

    def team(self) -> dict[str, Any]:
        run = self.once("team", self.peer.team)
        seconds, texts, times = timed(lambda times: [run("go") for _ in range(times)])
        return {"seconds": seconds, "evidence": {"text": sorted(set(texts)), "requests": WITNESS.requests / times}}

    def node(self, number: int) -> dict[str, Any]:
        run = self.once("node", self.peer.node)
        run(100)
        gc.collect()
        return {"seconds": run(number) / number, "evidence": {}}

    def state(self, depth: int) -> dict[str, Any]:
        give = self.once(("state", depth), lambda: self.peer.state(depth))
        seconds, states, _ = timed(lambda times: [give() for _ in range(times)])
        return {"seconds": seconds, "evidence": {"hello is in it": "hello" in json.dumps(states[-1], default=str)}}


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
