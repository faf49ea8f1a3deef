"""Servers on the loopback interface, and the real small model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from trivium.llms import LocalModel, ModelStore

from ._servers import ChatServer, FileServer


@pytest.fixture
def files() -> Iterator[FileServer]:
    """A server of files that can break, refuse and resume."""
    with FileServer() as server:
        yield server


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    """A server that sends scripted bytes, one script for each request."""
    with ChatServer() as server:
        yield server


@pytest.fixture(scope="session")
def small() -> LocalModel:
    """The embedded 0.5B model; it is fetched where it is not in the store yet."""
    ModelStore().fetch("small")
    return LocalModel("small", context=2048)
