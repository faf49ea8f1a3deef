"""The stores under test: one parameter for each kind."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from _postgres import postgres_server
from knowledge.stores._extra_kinds import EXTRA_KINDS
from knowledge.stores._kinds import KINDS, Kind, opened
from trivium.knowledge import VectorStore, VectorStoreConfig


@pytest.fixture(params=[*KINDS, *EXTRA_KINDS], ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture
def config(kind: Kind, request: pytest.FixtureRequest, tmp_path: Path) -> VectorStoreConfig:
    """Of an empty place; each store of it is the same place."""
    return kind.config(request, tmp_path)


@pytest.fixture
def store(config: VectorStoreConfig) -> Generator[VectorStore]:
    with opened(config) as made:
        yield made


@pytest.fixture(scope="session")
def postgres_url() -> Generator[str]:
    """A real server, one for all tests."""
    with postgres_server() as server:
        yield server.get_uri()
