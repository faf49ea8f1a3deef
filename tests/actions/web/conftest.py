"""A site to fetch pages from, and a service that says what a test tells it to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from trivium.actions.web import _remote

from ._service import Answer, Service
from ._sites import Site


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as made:
        yield made


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A server, and a client that does not wait between its tries; no key stands in the environment."""
    monkeypatch.setattr(_remote, "FIRST_DELAY", 0.0)
    for variable in (*_remote.KEYS, "SEARXNG_URL"):
        monkeypatch.delenv(variable, raising=False)
    with Service(Answer()) as server:
        yield server
