"""The evidence of the benchmark: a subject that cheats or fails has other evidence than the hand-written loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from ._scripts import FOLDER, PEERS, Scripts, scripts

pytestmark = pytest.mark.usefixtures("frozen")  # each figure begins with a collection

REQUESTS: Mapping[str, Mapping[str, Any]] = {
    "build": {"do": "build", "number": 20},
    "first": {"do": "first", "number": 20},
    "turn": {"do": "turn", "tool_calls": 2},
    "awaited": {"do": "awaited", "tool_calls": 2},
    "concurrent": {"do": "concurrent", "number": 5},
    "stream": {"do": "stream", "few": 1, "many": 20},
    "team": {"do": "team"},
    "node": {"do": "node", "number": 20},
    "state": {"do": "state", "depth": 20},
    "history": {"do": "history", "sizes": [2, 10]},
    "memory": {"do": "memory", "agents": 2, "sessions": 2},
}


@pytest.fixture(name="peers", scope="module")
def the_peers() -> Iterator[Scripts]:
    with scripts(FOLDER, PEERS) as found:
        found.driver.BLOCK = 0.0005
        yield found


@pytest.fixture(name="peer")
def a_peer(peers: Scripts) -> Any:
    return peers.by_hand_adapter.Peer()


def evidence(peers: Scripts, peer: Any, name: str) -> Mapping[str, Any]:
    """What a subject is found to have done in a workload."""
    request = dict(REQUESTS[name])
    return getattr(peers.driver.Workloads(peer), request.pop("do"))(**request)["evidence"]


def refusal(peers: Scripts, peer: Any, name: str) -> str | None:
    """Why a subject has no figure beside the hand-written loop."""
    return peers.figures.differs(_floor(peers, name), evidence(peers, peer, name))


@cache
def _floor(peers: Scripts, name: str) -> Mapping[str, Any]:
    return evidence(peers, peers.by_hand_adapter.Peer(), name)


@pytest.mark.parametrize("name", REQUESTS)
def test_who_does_the_work_has_the_same_evidence(name: str, peers: Scripts):
    assert refusal(peers, peers.trivium_adapter.Peer(), name) is None


def changed(peer: Any, name: str, change: Callable[..., Any]) -> None:
    """Let a function stand before a method of an adapter, which it is given."""
    setattr(peer, name, partial(change, getattr(peer, name)))


def test_an_agent_must_hold_every_tool(peers: Scripts, peer: Any):
    def forgetful(agent: Any, script: Any, tools: Any = (), **given: Any) -> Any:
        made = agent(script, tools, **given)
        return made._replace(tools=dict.fromkeys(made.tools, next(iter(made.tools.values()), None)))

    changed(peer, "agent", forgetful)
    assert "tools that ran" in str(refusal(peers, peer, "build"))


@pytest.mark.parametrize("name", ["turn", "awaited", "concurrent", "first"])
def test_a_session_that_is_new_has_heard_nothing(name: str, peers: Scripts, peer: Any):
    def one_for_all(history: Any, agent: Any, text: str, session: str) -> Any:
        return history(agent, text, "the only one")

    def remembering(agent: Any, *given: Any, **named: Any) -> Any:
        return agent(*given, **named)._replace(sessions=kept)

    kept: dict[str, Any] = {}
    changed(peer, "agent", remembering)
    changed(peer, "history", one_for_all)
    assert refusal(peers, peer, name) is not None


def test_pieces_must_come_while_the_model_speaks(peers: Scripts, peer: Any):
    async def late(stream: Any, agent: Any, text: str, got: Callable[[str], Any]) -> None:
        pieces = list[str]()
        await stream(agent, text, pieces.append)
        for piece in pieces:
            got(piece)

    changed(peer, "stream", late)
    assert "came before the model's last: False" in str(refusal(peers, peer, "stream"))


def test_pieces_must_not_be_lost(peers: Scripts, peer: Any):
    async def joined(stream: Any, agent: Any, text: str, got: Callable[[str], Any]) -> None:
        pieces = list[str]()
        await stream(agent, text, pieces.append)
        got("".join(pieces))

    changed(peer, "stream", joined)
    assert "pieces: 1 instead of 20" in str(refusal(peers, peer, "stream"))


def test_a_manager_must_be_told_what_his_worker_said(peers: Scripts, peer: Any):
    def guesses(team: Any) -> Callable[[str], str]:
        ask = team()
        return lambda text: f"{ask(text)} or so"

    changed(peer, "team", guesses)
    assert "the worker's word: 0.0" in str(refusal(peers, peer, "team"))


def test_the_worker_s_word_must_stand_in_what_the_manager_s_model_was_sent(peers: Scripts, peer: Any):
    witness = peers.common.WITNESS

    def untold(team: Any) -> Callable[[str], str]:
        def ask(text: str) -> str:
            for _ in range(3):
                peers.common.ask(peers.common.hello, [], [])
            return f"done {witness.word}"

        return ask

    changed(peer, "team", untold)
    assert "the manager was told the last: False" in str(refusal(peers, peer, "team"))


def test_nodes_must_end(peers: Scripts, peer: Any):
    def fewer(node: Any) -> Callable[[int], float]:
        run = node()
        return lambda number: run(number - 1)

    changed(peer, "node", fewer)
    assert refusal(peers, peer, "node") == "nodes that ended: 19 instead of 20"


def test_a_state_must_be_that_of_every_agent(peers: Scripts, peer: Any):
    def outermost(state: Any, depth: int) -> Callable[[], Mapping[str, Any]]:
        whole = state(depth)
        return lambda: {"": whole()[""]}

    changed(peer, "state", outermost)
    assert refusal(peers, peer, "state") == "agents that heard: 1 instead of 21"


@pytest.mark.parametrize("name", ["history", "memory"])
def test_a_session_must_be_remembered(name: str, peers: Scripts, peer: Any):
    def forgetful(agent: Any, *given: Any, **named: Any) -> Any:
        return agent(*given, **{**named, "remembers": False})

    changed(peer, "agent", forgetful)
    assert "which are not the" in str(refusal(peers, peer, name))


def test_questions_are_found_in_any_form(peers: Scripts):
    sent = [
        SimpleNamespace(role="user", parts=("question-3.", b"x")),
        {"content": "New task:\nquestion-4. (question-3.)"},
    ]
    assert peers.evidence.heard(sent) == [3, 4]
    assert peers.evidence.heard("question-5.") == [5]


def test_an_import_must_load_what_it_names(peers: Scripts):
    loads_later = type("Stand", (), {"__module__": "not.loaded"})
    loaded = {"json", "asyncio.runners", "builtins"}
    assert peers.evidence.are_loaded({"json": ModuleType("json"), "run": asyncio.run, "END": "end"}, loaded)
    assert not peers.evidence.are_loaded({"json": ModuleType("json"), "Stand": loads_later}, loaded)
    assert not peers.evidence.are_loaded({}, loaded)


def test_an_import_must_be_good_for_a_turn(peers: Scripts, peer: Any):
    workloads = peers.driver.Workloads(peer)
    assert workloads.used({"asyncio": asyncio}, {"asyncio"}) == peers.imports.WANTED

    def wrong(run: Any, *given: Any) -> str:
        return "no"

    changed(peer, "run", wrong)
    assert workloads.used({"asyncio": asyncio}, {"asyncio"}) == {"names": True, "works": False}


def test_every_agent_is_built_of_functions_of_its_own(peers: Scripts, peer: Any):
    seen = list[Any]()

    def noting(agent: Any, script: Any, tools: Any = (), **given: Any) -> Any:
        seen.extend(tools)
        return agent(script, tools, **given)

    changed(peer, "agent", noting)
    evidence(peers, peer, "first")
    assert len(set(map(id, seen))) == len(seen) > 20
    assert {each.__doc__ for each in seen} == {peers.common.add.__doc__}


def test_one_agent_serves_all_levels_and_is_closed_at_the_end(peers: Scripts, peer: Any):
    closed = list[Any]()

    async def close(aclose: Any, agent: Any) -> None:
        closed.append(agent)

    async def answer(arun_served: Any, agent: Any, text: str, session: str) -> str:
        await asyncio.sleep(0.001)
        return "hello"

    changed(peer, "aclose", close)
    changed(peer, "arun_served", answer)
    workloads = peers.driver.Workloads(peer)
    url = "http://127.0.0.1:9/v1"
    with workloads.runner:
        told = [workloads.served(url, sessions, 0.1) for sessions in (1, 2)]
        assert [each["evidence"] for each in told] == [{"texts": ["hello"]}] * 2
        assert closed == []
        workloads.hang_up(url)
        workloads.hang_up(url)
    assert len(closed) == 1


def test_the_first_turn_at_a_server_counts_what_is_made_for_it(peers: Scripts, peer: Any):
    closed = list[Any]()

    async def close(aclose: Any, agent: Any) -> None:
        closed.append(agent)

    async def answer(arun_served: Any, agent: Any, text: str, session: str) -> str:
        began = time.process_time()
        while time.process_time() < began + 0.05:
            pass
        return "hello"

    changed(peer, "aclose", close)
    changed(peer, "arun_served", answer)
    workloads = peers.driver.Workloads(peer)
    with workloads.runner:
        told = workloads.first_served("http://127.0.0.1:9/v1")
    assert told["figures"]["cpu"] >= 0.05
    assert (told["turns"], told["evidence"], len(closed)) == (1, {"texts": ["hello"]}, 1)


def test_who_always_asks_for_a_stream_is_sent_no_whole_answers(peers: Scripts):
    workloads = peers.driver.Workloads(peers.trivium_adapter.Peer())
    with workloads.runner, pytest.raises(peers.common.Cannot, match="always asks for a stream"):
        workloads.bad("http://127.0.0.1:9/v1", False, 1.0, True)
