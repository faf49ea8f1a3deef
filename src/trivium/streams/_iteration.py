"""Small helpers for what comes one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Generator, Iterable
from typing import Any, Generic, TypeVar

__all__ = ["GeneratorWithReturn", "async_as_completed"]

T = TypeVar("T")
R = TypeVar("R")


async def async_as_completed(awaitables: Iterable[Awaitable[T]]) -> AsyncGenerator[T]:
    """Yield the result of each awaitable as soon as it is there, and raise what one raises.

    All are begun at once. Where the reader leaves early or one fails, those that still run are cancelled.

    Example:
        >>> async def main():
        ...     late = asyncio.Event()
        ...     async def first():
        ...         await late.wait()
        ...         return 1
        ...     async def second():
        ...         late.set()
        ...         return 2
        ...     return [each async for each in async_as_completed([first(), second()])]
        >>> asyncio.run(main())
        [2, 1]
    """
    tasks = [asyncio.ensure_future(each) for each in awaitables]
    try:
        for each in asyncio.as_completed(tasks):
            yield await each
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class GeneratorWithReturn(Generic[T, R]):
    """A generator whose return value is kept.

    Attributes:
        ret: what the generator returned; None until it has ended.

    Example:
        >>> def count():
        ...     yield 1
        ...     return "done"
        >>> counting = GeneratorWithReturn(count())
        >>> list(counting), counting.ret
        ([1], 'done')
    """

    def __init__(self, generator: Generator[T, Any, R]) -> None:
        self.generator = generator
        self.ret: R | None = None

    def __iter__(self) -> Generator[T, Any, R]:
        self.ret = yield from self.generator
        return self.ret
