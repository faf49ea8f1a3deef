"""Calls nested deeper than the interpreter allows end with an error that says so, and leave nothing behind."""

# These tests look at the internals of nodes, which are underscored since a user's `Job` is a node.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import gc
import sys

import pytest

from trivium import Agent, Message, Module, RunRecord
from trivium.commander import current, driver_neutral
from trivium.exceptions import RecursionTooDeepError
from trivium.testing import ScriptedModel

from ._helpers import Entry, SyncNest, async_entry, every_entry, nest, sync_entry


class Forever(Module):
    """Calls itself."""

    def forward(self, message: Message) -> str:
        return self(message).content


class PortableForever(Module):
    @driver_neutral
    async def forward(self, message: Message) -> str:
        return (await self.acall(message)).content


class AsyncForever(Module):
    async def forward(self, message: Message) -> str:
        return (await self.acall(message)).content


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        (sync_entry, Forever),
        (sync_entry, PortableForever),
        (async_entry, PortableForever),
        (async_entry, AsyncForever),
        (sync_entry, AsyncForever),
    ],
)
def test_endless_recursion_is_named(entry: Entry, kind: type[Module]):
    record = RunRecord()
    with pytest.raises(RecursionTooDeepError, match=r"sys\.setrecursionlimit") as too_deep:
        entry(kind(), "x", listeners=[record])
    assert isinstance(too_deep.value, RecursionError)
    assert current.get() is None
    assert len(record._open) <= 1  # of the deepest the listener itself had no room to hear the end
    del too_deep
    gc.collect()  # a coroutine that was never awaited would warn here


@every_entry
def test_the_run_after_it_is_as_good_as_any(entry: Entry):
    with pytest.raises(RecursionTooDeepError):
        Forever()("x")
    assert entry(nest((SyncNest,) * 10, Agent(ScriptedModel(["ok"]))), "x").content == "ok0123456789"


def test_a_hundred_levels_fit():
    assert sys.getrecursionlimit() <= 1100, "this test states what holds at the usual limit"
    assert nest((SyncNest,) * 100, Agent(ScriptedModel(["ok"])))("x").content.startswith("ok0")
