"""Trees of all the code live as long as the tests of a worker: the collector rests while they are made."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest


@pytest.fixture(autouse=True)
def without_the_collector() -> Generator[None]:
    """A tree has many objects and no garbage: to go over them again and again takes longer than to make them."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()
