"""A module whose calls run in an actor of Ray."""

from __future__ import annotations

import json
import sys
from asyncio import CancelledError
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Self

from trivium.commander import invoke, run_sync, step, this_call
from trivium.commander.lowlevel import change_scope, invoke_in_place, key_of, scope_of
from trivium.distributed._config import Config, import_path, make_module, maker_text
from trivium.distributed.ray_serve._cluster import AT_ONCE, first_line, start_ray
from trivium.distributed.ray_serve._sending import to_send
from trivium.events import to_json_value
from trivium.exceptions import ConfigurationError, RemoteAgentError, RemoteConnectionError
from trivium.journal import Journal
from trivium.module import AsyncModule, Module
from trivium.policies import Policy
from trivium.schema import Message
from trivium.schema.lowlevel import checked


class AgentRayActor(Module):
    """An agent in an actor of Ray, called like any other module.

    Any number of sessions run at once in one actor. A kill or a deadline here kills the call there. Deltas are not
    sent. If Ray is not initialised, it is started on this machine alone, with no dashboard and no usage report; call
    `ray.init` before for anything else.

    Ray's processes exchange pickles, and loading a pickle runs code: admit only machines that you trust to a cluster.
    trivium sends texts: configs, messages, policies and answers are JSON. Only a function given as `config` that cannot
    be imported, a lambda for instance, is pickled, and the place of a journal.

    Within a durable run the call is a durable run of its own, in the same journal: called again after its actor was
    lost, it goes on where it was. The policies of a run hold in the actor too. An approver does not travel: a call that
    asks there is refused, unless the agent there has an `approve` of its own.

    Args:
        config: the config of the agent, as `{"type": "trivium.Agent", …}`, see `HTTPAgentServer`; or a function
            that makes the agent.
        num_gpus: graphics cards for the actor, or a part of one; default 0.
        name: default: the name of the class.

    Raises:
        ConfigurationError: the config cannot be sent.
        MissingExtraError: Ray is not installed.
        RemoteAgentError: the agent could not be made.

    Example::

        with AgentRayActor({"type": "trivium.Agent", "llm": "default"}, num_gpus=1) as agent:
            print(agent("hello", session_id=7).content)
    """

    @checked
    def __init__(self, config: Config | Callable[[], Module], num_gpus: float = 0, *, name: str | None = None) -> None:
        super().__init__(name=name)
        given: Config = {} if callable(config) else config
        made_of = maker_text(config)
        self._ray = start_ray()
        if not isinstance(made_of, str):
            # Not as an argument: the actor has no import path yet.
            made_of = to_send(self._ray.cloudpickle.dumps, "the agent's function", made_of)
        actor = self._ray.remote(num_gpus=num_gpus, max_concurrency=AT_ONCE)(_Actor)
        self.agent_actor, self._was_ended = actor.remote(made_of, import_path(given)), False
        try:
            run_sync(invoke, self._ask, self.agent_actor.ready)
        except BaseException:
            self.shutdown()
            raise

    async def forward(self, *message: Message, session_id: Hashable, **kwargs: object) -> Message:
        """Ask the agent in the actor; keywords go to its `forward`."""
        sent = json.dumps([to_json_value(each) for each in message])
        asked = sent, session_id, json.dumps(kwargs), _as_json(scope_of(this_call()).policies)
        with step("ray") as node:
            run = scope_of(node).journal
            if run is None:
                return await self._call(*asked)

            async def act() -> Message:
                place = self._ray.cloudpickle.dumps(run.journal)
                return await self._call(*asked, f"{run.id}/{key_of(node)}", place)

            return await run.perform(node, asked, act, "idempotent")

    async def _call(self, *asked: object) -> Message:
        return Message.model_validate(await self._ask(self.agent_actor.call, *asked))

    async def _ask(self, method: Any, *arguments: object) -> Any:
        """Call a method of the actor and return its answer; if this wait is cancelled, so is the work there."""
        if self._was_ended:  # Ray may answer for a moment longer
            raise RemoteConnectionError(f"the actor of {self.name} is gone: it was shut down here")
        reference = method.remote(*arguments)
        try:
            answer = json.loads(await reference)
        except CancelledError:
            self._ray.cancel(reference)
            raise
        except self._ray.exceptions.RayError as error:
            raise RemoteConnectionError(
                f"the actor of {self.name} is gone or was stopped: {first_line(error)}"
            ) from error
        if "error" in answer:
            kind, text = answer["error"]
            raise RemoteAgentError(f"the agent in the actor of {self.name} failed: {kind}: {text}", kind=kind)
        return answer["value"]

    def state_dict(self, session_id: Hashable = 0) -> dict[str, list[dict[str, Any]]]:
        """Return the memory of a session of the agent in the actor."""
        return run_sync(invoke, self._ask, self.agent_actor.state_dict, session_id)

    def load_state_dict(self, state: Mapping[str, Sequence[object]], session_id: Hashable = 0) -> None:
        """Make the agent in the actor load what `state_dict` returned.

        Raises:
            RemoteAgentError: the state does not fit it.
        """
        text = json.dumps(to_json_value(state))
        run_sync(invoke, self._ask, self.agent_actor.load_state_dict, text, session_id)

    def reset(self, session_id: Hashable = 0, keypath: str | None = None, recursive: bool = False) -> None:
        """Make the agent in the actor forget a session; see `Module.reset`."""
        run_sync(invoke, self._ask, self.agent_actor.reset, session_id, keypath, recursive)

    def shutdown(self) -> None:
        """End the actor; its calls fail. Otherwise the actor ends when this object is collected."""
        self._was_ended = True
        self._ray.kill(self.agent_actor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.shutdown()


class AsyncAgentRayActor(AsyncModule, AgentRayActor):
    """An `AgentRayActor` whose call returns a coroutine; also for `async with`."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await invoke(self.shutdown)


class _Actor:
    """The agent in the actor, which answers in JSON. Its coroutines run at once, on the actor's loop."""

    def __init__(self, made_of: str | bytes, path: list[str]) -> None:
        from ray import cloudpickle

        sys.path[:] = path
        self._journals: dict[bytes, Journal] = {}
        self._agent: Module | None = None
        self._failed: BaseException | None = None
        try:
            self._agent = make_module(json.loads(made_of) if isinstance(made_of, str) else cloudpickle.loads(made_of))
        except Exception as error:  # an actor that fails here would be gone, and its reason hard to find
            self._failed = error

    @property
    def agent(self) -> Module:
        if self._agent is None:
            raise self._failed or ConfigurationError("there is no agent")
        return self._agent

    async def ready(self) -> str:
        return await _answer(lambda: self.agent.name)

    async def call(
        self, messages: str, session_id: Hashable, kwargs: str, policies: str, run_id: str = "", place: bytes = b""
    ) -> str:
        given = [Message.model_validate(each) for each in json.loads(messages)]
        durable = {"run_id": run_id, "journal": self._journal(place)} if run_id else {}

        async def call() -> Message:
            with step("ray") as node:
                change_scope(node, policies=tuple(map(Policy.from_json, json.loads(policies))))
                return await self.agent.acall(*given, session_id=session_id, **durable, **json.loads(kwargs))

        return await _answer(call)

    def _journal(self, place: bytes) -> Journal:
        """Return the journal that was pickled: one for all calls, with its connections."""
        from ray import cloudpickle

        if place not in self._journals:
            self._journals[place] = cloudpickle.loads(place)
        return self._journals[place]

    async def state_dict(self, session_id: Hashable) -> str:
        return await _answer(lambda: self.agent.state_dict(session_id))

    async def load_state_dict(self, state: str, session_id: Hashable) -> str:
        return await _answer(lambda: self.agent.load_state_dict(json.loads(state), session_id))

    async def reset(self, session_id: Hashable, keypath: str | None, recursive: bool) -> str:
        return await _answer(lambda: self.agent.reset(session_id, keypath, recursive))


async def _answer(work: Callable[[], Any]) -> str:
    try:
        return json.dumps({"value": to_json_value(await invoke_in_place(work))})
    except Exception as error:
        return json.dumps({"error": [type(error).__name__, str(error)[:2000]]})


def _as_json(policies: Sequence[Policy]) -> str:
    """Render policies as JSON.

    Raises:
        ConfigurationError: one of them is of a class of its own.
    """
    if own := [kind.__name__ for each in policies for kind in each.own_classes]:
        raise ConfigurationError(
            f"a policy with the class {own[0]} cannot be sent to an actor of Ray: write it as a "
            "Policy([Rule(…)]), or give it to the agent there"
        )
    return json.dumps([each.as_json() for each in policies])
