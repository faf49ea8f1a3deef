"""The small helpers: texts that are cut, results as they come, generators that return, loggers."""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Generator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.utils import GeneratorWithReturn, async_as_completed, filter_suffix, get_logger

WORDS = st.lists(st.text("ab<>", max_size=3), max_size=4)


# ---- stop words
@given(st.text("ab<>", max_size=12), WORDS)
def test_a_text_is_cut_at_the_first_stop_word(text: str, words: list[str]):
    cut = filter_suffix(text, words)
    assert text.startswith(cut)
    assert not any(word in cut for word in words if word)
    assert cut == text or any(word and text[len(cut) :].startswith(word) for word in words)


def test_without_stop_words_nothing_is_cut_and_of_several_texts_each_is():
    assert (filter_suffix("a"), filter_suffix("a", None), filter_suffix("a", [""])) == ("a", "a", "a")
    assert filter_suffix(["a.b", ".", "c"], ["."]) == ["a", "", "c"]


# ---- results as they come
async def after(event: asyncio.Event, value: int, then: asyncio.Event | None = None) -> int:
    await event.wait()
    if then is not None:
        then.set()
    return value


def test_results_come_in_the_order_in_which_they_are_there():
    async def main() -> list[int]:
        events = [asyncio.Event() for _ in range(4)]
        events[3].set()
        works = [after(events[at], at, events[at - 1] if at else None) for at in range(4)]
        return [each async for each in async_as_completed(works)]

    async def nothing() -> list[int]:
        return [each async for each in async_as_completed(list[asyncio.Future[int]]())]

    assert asyncio.run(main()) == [3, 2, 1, 0]
    assert asyncio.run(nothing()) == []


def test_what_one_raises_is_raised_and_the_others_are_cancelled():
    cancelled: list[str] = []

    async def waits() -> int:
        try:
            return await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled.append("waits")
            raise

    async def fails() -> int:
        raise LookupError("oh")

    async def main() -> None:
        async for _ in async_as_completed([waits(), fails()]):
            raise AssertionError("nothing is there")

    with pytest.raises(LookupError, match="oh"):
        asyncio.run(main())
    assert cancelled == ["waits"]


# ---- generators that return
def test_a_return_value_is_kept_when_the_generator_has_ended():
    def count() -> Generator[int, None, str]:
        yield 1
        yield 2
        return "done"

    counting = GeneratorWithReturn(count())
    items = iter(counting)
    assert (next(items), counting.ret) == (1, None)
    assert (list(items), counting.ret) == ([2], "done")


# ---- loggers
def test_a_logger_has_one_handler_however_often_it_is_asked_for():
    logger = get_logger("trivium.test", "debug")
    try:
        assert get_logger("trivium.test", logging.WARNING, fmt="%(message)s!") is logger
        assert (len(logger.handlers), logger.level) == (1, logging.WARNING)
        handler = logger.handlers[0]
        assert isinstance(handler, logging.StreamHandler)
        written = io.StringIO()
        handler.setStream(written)  # pyright: ignore[reportUnknownMemberType]
        logger.info("no")
        logger.warning("yes")
        assert written.getvalue() == "yes!\n"
    finally:
        logger.handlers.clear()


def test_trivium_attaches_no_handler_by_itself():
    assert logging.getLogger("trivium").handlers == []
