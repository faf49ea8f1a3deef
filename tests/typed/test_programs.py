"""The programs of `programs.py` are typed rightly: they are run, and mypy reads them (pyright does in `make check`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import iscoroutinefunction, isfunction, signature
from typing import Any

import pytest

from . import programs

PROMISES = [
    each
    for each in vars(programs).values()
    if isfunction(each) and each.__module__ == programs.__name__ and signature(each).return_annotation == "None"
]


@pytest.mark.parametrize("promise", PROMISES, ids=lambda each: each.__name__)
def test_a_promise_holds_when_it_is_run(promise: Callable[[], Any]):
    if iscoroutinefunction(promise):
        asyncio.run(promise())
    else:
        promise()


def test_there_are_promises():
    assert len(PROMISES) > 20
