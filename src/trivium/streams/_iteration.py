"""Small helpers for iteration."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Generator, Iterable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def async_as_completed(awaitables: Iterable[Awaitable[T]]) -> AsyncGenerator[T]:
    """Yield the result of each awaitable as soon as it is available; raise the first error.

    All start at once. If the reader stops early or one fails, the others are cancelled.

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
    """A generator that stores its return value.

    Attributes:
        ret: the return value of the generator; None until it has ended.

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
