"""The agents of a program as they are: what a worker that has them can go on with."""

from __future__ import annotations

from typing import Any, cast

from trivium.agents import Agent
from trivium.exceptions import TriviumError
from trivium.journal.lowlevel import fingerprint_chain
from trivium.llms.lowlevel import made_of
from trivium.memory import Memory
from trivium.module import Module
from trivium.schema import Message


def fingerprints_of(module: Module) -> set[str]:
    """Return the fingerprints of the agents of a module, by which the journal knows them; no model is asked.

    Those of agents whose instruction depends on what was said are not among them.
    """
    found = set[str]()
    for _, each in module.named_modules():
        if isinstance(each, Agent) and each.has_model():
            try:
                found.add(fingerprint_chain(_made_of(cast("Agent[Any]", each)))[-1].digest)
            except TriviumError:  # it has no model that could be asked
                continue
    return found


def _made_of(agent: Agent[Any]) -> dict[str, object]:
    memory, aggregator = Memory.of((Message(content="?"),)), agent._aggregator  # pyright: ignore[reportPrivateUsage]
    history = aggregator.aggregate(memory, agent.name, agent.answer_parser, agent.instruction())
    return made_of(agent.model, agent._request(history, {}))  # pyright: ignore[reportPrivateUsage]
