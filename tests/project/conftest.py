"""Tests of all the code read it as trees."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def trees_are_made(without_the_collector: None) -> None:
    """The collector rests."""
