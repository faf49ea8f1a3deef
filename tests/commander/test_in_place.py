"""What is in memory already is read where it is wanted: a list that a model gives takes no worker, under any driver."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from trivium import Agent, Limits
from trivium.exceptions import MalformedAnswerError
from trivium.llms import Delta, Request


class Pieces(list[str]):
    """Notes who reads it."""

    readers: list[int]

    def __iter__(self) -> Iterator[str]:
        self.readers.append(threading.get_ident())
        return super().__iter__()


def pieces() -> Pieces:
    made = Pieces(["a", "b"])
    made.readers = []
    return made


class Plain:
    name = "plain"

    def __init__(self) -> None:
        self.given = pieces()

    def stream(self, request: Request) -> Any:
        return self.given


class Awaited(Plain):
    """Gives its list when it is awaited."""

    async def stream(self, request: Request) -> Any:
        await asyncio.sleep(0)
        return self.given


@pytest.mark.parametrize("kind", [Plain, Awaited])
def test_a_list_is_read_in_place_in_a_loop(kind: type[Plain]):
    model = kind()

    async def main() -> str:
        return (await Agent(model).acall("hi")).content

    assert asyncio.run(main()) == "ab"
    assert model.given.readers == [threading.get_ident()]


@pytest.mark.parametrize("kind", [Plain, Awaited])
def test_a_list_is_read_in_place_in_sync_code(kind: type[Plain]):
    model = kind()
    assert Agent(model)("hi").content == "ab"
    assert model.given.readers == [threading.get_ident()]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_source_is_closed_where_reading_it_fails(is_async: bool):
    closed: list[str] = []

    class Bad:
        name = "bad"

        def stream(self, request: Request) -> Iterator[Any]:
            try:
                yield object()  # no delta
                yield "never"
            finally:
                closed.append("sync")

    class AsyncBad:
        name = "bad"

        async def stream(self, request: Request) -> AsyncIterator[Delta]:
            try:
                yield object()  # type: ignore[misc]  # pyright: ignore - no delta
                yield "never"
            finally:
                closed.append("async")

    agent = Agent(AsyncBad() if is_async else Bad())
    with pytest.raises(MalformedAnswerError, match="not a delta"):
        agent("hi", limits=Limits(turns=1))
    assert closed == ["async" if is_async else "sync"]
