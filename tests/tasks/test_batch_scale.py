"""Batches of ten thousand items: nothing grows with the items but the results."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from trivium import ChatAgent, Message, Task
from trivium.commander.lowlevel import TaskNode, node_name
from trivium.llms import Delta, Request
from trivium.tasks._batch import run_batch_tasks
from trivium.testing import ScriptedModel

from ._batches import GUARD, asked, text_of

pytestmark = pytest.mark.usefixtures("frozen")

FEW, MANY = 500, 5_000
LOOKS = range(0, 300, 30)
"""Where memory is looked at, from few items and from all but few: how far the items are that run at once is chance."""
MOST_BLOCKS_PER_ITEM = 0.5
"""Blocks of memory; an empty object that is kept for each item is one, a message more than ten."""


class Forgetful(ScriptedModel):
    """Answers, and keeps nothing of what it was asked."""

    def stream(self, request: Request) -> Iterator[Delta]:
        yield f"DONE {asked(request)}"


def nodes_of_items_in_the_end() -> list[TaskNode]:
    """The nodes of items that still live; a thread that has handed its result over needs a moment to let go of it."""
    give_up = time.monotonic() + GUARD
    while True:
        gc.collect()
        nodes = [each for each in gc.get_objects() if isinstance(each, TaskNode)]
        held = [node for node in nodes if node_name(node).startswith("ChatAgent-")]
        if not held or time.monotonic() > give_up:
            return held


@pytest.mark.slow
@pytest.mark.shows("run_batch_tasks(items)", "run_batch_tasks(batch_size)", "weak point 4", "weak point 11")
@pytest.mark.parametrize("how", [{}, {"sequential": False, "batch_size": 16}, {"sequential": False}])
def test_while_many_items_run_nothing_grows(how: dict[str, Any]):
    early, late = ([FEW + at for at in LOOKS], [MANY - FEW + at for at in LOOKS])
    blocks: dict[int, int] = {}

    def length(result: Message | None) -> int:
        nonlocal ended
        ended += 1
        if ended in early or ended in late:
            gc.collect()
            blocks[ended] = sys.getallocatedblocks()
        return len(str(text_of(result)))

    ended = 0
    task = Task(ChatAgent(Forgetful([])), interactive=False)
    lengths = run_batch_tasks(task, range(MANY), output_map=length, **how)
    assert lengths == [len(str(number)) for number in range(MANY)]
    least = [min(blocks[at] for at in looks) for looks in (early, late)]
    assert (least[1] - least[0]) / (MANY - 2 * FEW) < MOST_BLOCKS_PER_ITEM
    assert task.agent.memory is not None
    assert not task.agent.memory.memory_map
    assert not nodes_of_items_in_the_end()
