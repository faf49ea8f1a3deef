"""Agere: a runtime of jobs and handlers, which knows no model; so only its run tree is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from common import Adapter, Cannot, Script, handlers


class Peer(Adapter):
    title = "Agere"
    distributions = ("agere",)
    statement = "from agere.commander import CommanderAsync, Job, handler, tasker, PASS_WORD"

    def agent(self, script: Script, tools: Any = (), *, in_loop: bool = False, remembers: bool = False) -> Any:
        raise Cannot("is a runtime of jobs and handlers, and has no agent with a model and tools")

    def team(self) -> Callable[[str], str]:
        raise Cannot("has jobs below jobs, and none that is an agent and asks a model")

    def state(self, depth: int) -> Callable[[], Mapping[str, Any]]:
        raise Cannot("has nodes below nodes, which remember no conversation")

    def node(self) -> Callable[[int], float]:
        import agere.commander

        return handlers(agere.commander)
