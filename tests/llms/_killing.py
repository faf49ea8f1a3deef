"""Killing a run at its first piece of text, sync and async."""

from __future__ import annotations

import pytest

from trivium import Agent, AsyncAgent
from trivium.commander import Event
from trivium.exceptions import RunKilledError
from trivium.llms import DeltaEvent

__all__ = ["kill_at_first_piece", "kill_at_first_piece_async"]


class Killer:
    """Kills the run of the first piece that it sees; `told` is what came until the run ended."""

    def __init__(self) -> None:
        self.told = ""

    def see(self, event: Event[object]) -> None:
        if isinstance(event, DeltaEvent):
            self.told += str(event.data)
            event.node.ancestor_chain[-1].kill("enough")


def kill_at_first_piece(agent: Agent) -> str:
    """Call an agent and kill the run at the first piece; gives the text that came until it ended so."""
    killer = Killer()
    with pytest.raises(RunKilledError):
        agent("hello", listeners=[killer.see])
    return killer.told


async def kill_at_first_piece_async(agent: AsyncAgent) -> str:
    """The same on a loop."""
    killer = Killer()
    with pytest.raises(RunKilledError):
        await agent.acall("hello", listeners=[killer.see])
    return killer.told
