"""Agents as actors of a real Ray on this machine."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest

from commander._helpers import Entry, async_entry, sync_entry
from trivium import Message, Module
from trivium.agents import Sequential
from trivium.distributed import AgentRayActor, AsyncAgentRayActor
from trivium.exceptions import (
    ConfigurationError,
    DeadlineExceededError,
    MissingExtraError,
    RemoteAgentError,
    RemoteConnectionError,
)
from trivium.policies import Policy, Rule
from trivium.schema import Origin

from . import _agents
from .test_serving_process import until

pytestmark = pytest.mark.slow

PLACE = {"type": "distributed._agents.Place"}


STARTED: Final[dict[str, Any]] = {}
"""With what Ray was started here, for want of one."""


@pytest.fixture(scope="module")
def place() -> Generator[AgentRayActor]:
    """An actor of a Ray that it started itself, small, and gone at the end without a trace."""
    ray: Any = import_module("ray")
    start = ray.init

    def small(**settings: Any) -> Any:
        STARTED.update(settings)
        return start(num_cpus=2, object_store_memory=80 << 20, **settings)

    with pytest.MonkeyPatch.context() as changes:
        changes.setattr(ray, "init", small)
        changes.setenv("RAY_USAGE_STATS_ENABLED", "")  # so that it is put back to what it was
        changes.delenv("RAY_USAGE_STATS_ENABLED")
        try:
            with AgentRayActor({**PLACE, "helper": os.path.join}) as actor:
                yield actor
        finally:
            ray.shutdown()


def test_ray_is_started_without_a_dashboard_and_reports_to_nobody(place: AgentRayActor):
    assert STARTED["include_dashboard"] is False
    assert not import_module("ray._common.usage.usage_lib").usage_stats_enabled()


def test_the_agent_runs_in_a_process_of_its_own(place: AgentRayActor):
    answer = place("where?", session_id=3)
    word, process, _, helper, *_ = answer.content.split()
    assert (word, helper, answer.sender, answer.origin) == ("here", "posixpath.join", "Place", Origin.USER)
    assert int(process) != os.getpid()
    assert place("where?", temperature=1).content.endswith("{'temperature': 1, 'session_id': 0}")
    assert Sequential(place, place)("where?").content.startswith("here")


def test_its_memory_is_read_loaded_and_forgotten(place: AgentRayActor):
    place("remember", session_id="ada")
    state = place.state_dict("ada")
    assert state["memory"][0]["content"] == "remember"
    place.load_state_dict(state, "bob")
    assert place.state_dict("bob") == state
    place.reset("bob")
    assert place.state_dict("bob") == {"memory": []}
    with pytest.raises(RemoteAgentError, match="StateError") as failed:
        place.load_state_dict({})
    assert failed.value.kind == "StateError"


def test_many_sessions_run_at_once_and_do_not_mix(place: AgentRayActor):
    async def main() -> list[Message]:
        async with AsyncAgentRayActor(_agents.make_place, name="many") as actor:
            asked: Any = [actor(f"secret {n}", session_id=n) for n in range(50)]
            answers = await asyncio.gather(*asked)
            for session in range(50):
                memory = actor.state_dict(session)["memory"]
                assert memory[0]["content"] == f"secret {session}"
                assert len(memory) == 2
            return answers

    answers = asyncio.run(main())
    assert len(answers) == 50
    assert {answer.content.split()[0] for answer in answers} == {"made"}


def test_a_function_of_no_module_makes_the_agent_too_until_the_actor_is_gone(place: AgentRayActor):
    class Local(Module):
        def forward(self, message: Message) -> str:
            return f"local {message.content}"

    with AgentRayActor(lambda: Local()) as actor:
        assert actor("hi").content == "local hi"
    with pytest.raises(RemoteConnectionError, match="is gone"):
        actor("hi")
    with pytest.raises(RemoteAgentError, match="no module"):
        AgentRayActor(lambda: 3)  # type: ignore[arg-type] - that is the mistake


def test_a_message_comes_back_without_a_models_origin(place: AgentRayActor):
    assert place(Message(content="hi", origin=Origin.MODEL)).origin is Origin.USER


def test_the_policies_of_a_run_hold_in_the_actor(place: AgentRayActor):
    class Strict(Policy):
        """A policy of a class of its own."""

    with AgentRayActor({"type": "distributed._agents.Clerk"}) as clerk:
        assert clerk("Read.").content == "eve@evil.org"
        assert clerk("Read.", policy=Policy()).content == "nobody"
        assert clerk("Read.", policy=Policy([Rule("run", source="tool", name="read_*")])).content == "eve@evil.org"
        assert Sequential(clerk)("Read.", policy=Policy(otherwise="refuse"), approve=lambda _: True).content == "nobody"
        with pytest.raises(ConfigurationError, match=r"the class Strict cannot be sent .* as a Policy\("):
            clerk("Read.", policy=Strict())


@pytest.mark.parametrize("entry", [sync_entry, async_entry])
def test_a_deadline_here_stops_the_work_there(place: AgentRayActor, entry: Entry, tmp_path: Path):
    mark = tmp_path / "mark"
    with pytest.raises(DeadlineExceededError):
        entry(place, f"wait {mark}", timeout=1.0)
    until(mark.with_suffix(".ended").exists)
    assert mark.with_suffix(".began").exists()
    assert place("still there?").content.startswith("here")


def test_errors_are_typed_and_the_actor_lives_on(place: AgentRayActor):
    with pytest.raises(RemoteAgentError, match="ValueError: as you wished") as failed:
        place("fail")
    assert failed.value.kind == "ValueError"
    assert place("still there?").content.startswith("here")


@pytest.mark.parametrize(("made_by", "said"), [("broken", "no such disk"), ("nope", "nope")])
def test_an_agent_that_cannot_be_made_is_reported(place: AgentRayActor, made_by: str, said: str):
    with pytest.raises(RemoteAgentError, match=said):
        AgentRayActor({"type": f"distributed._agents.{made_by}"})


def test_a_config_that_cannot_travel_is_reported(place: AgentRayActor):
    with pytest.raises(ConfigurationError):
        AgentRayActor({"type": "a.b", "value": object()})


def test_without_ray_the_install_line_is_reported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"\.\[ray\]"):
        AgentRayActor(PLACE)
