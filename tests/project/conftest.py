"""Tests of all the code read it as trees."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest


@pytest.fixture(autouse=True)
def trees_live_on(without_the_collector: None) -> Generator[None]:
    """What one test has read the next ones use: the collector passes over it."""
    yield
    gc.freeze()
