"""The kinds of stores that need an extra: a real PostgreSQL server, and what runs inside a process."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from _postgres import quick_folder
from knowledge.stores._kinds import Kind, Words
from trivium.knowledge import VectorStoreConfig
from trivium.knowledge.stores import ChromaStoreConfig, LanceStoreConfig, PostgresStoreConfig, QdrantStoreConfig

_schemas = count()


def postgres_config(request: pytest.FixtureRequest, folder: Path) -> VectorStoreConfig:
    url = request.getfixturevalue("postgres_url")
    return PostgresStoreConfig(url=url, schema_name=f"place_{next(_schemas)}", embedding=Words())


def lance_config(request: pytest.FixtureRequest, folder: Path) -> VectorStoreConfig:
    return LanceStoreConfig(storage_path=str(folder / "folder" / "lance"), embedding=Words())


def _quick(request: pytest.FixtureRequest) -> Path:
    made = quick_folder()
    request.addfinalizer(made.cleanup)
    return Path(made.name)


def chroma_config(request: pytest.FixtureRequest, folder: Path) -> VectorStoreConfig:
    return ChromaStoreConfig(storage_path=str(_quick(request) / "folder" / "chroma"), embedding=Words())


def qdrant_config(request: pytest.FixtureRequest, folder: Path) -> VectorStoreConfig:
    return QdrantStoreConfig(storage_path=str(_quick(request) / "folder" / "qdrant"), embedding=Words())


def qdrant_server_config(request: pytest.FixtureRequest, folder: Path) -> VectorStoreConfig:
    from knowledge.stores._qdrant_server import fake_qdrant  # its package takes two seconds

    server = fake_qdrant()
    request.addfinalizer(lambda: server.__exit__(None, None, None))
    return QdrantStoreConfig(url=server.__enter__().url, embedding=Words())


EXTRA_KINDS: list[Kind] = [
    Kind("postgres", postgres_config),
    Kind("lancedb", lance_config, forks=False),
    Kind("chroma", chroma_config, processes=False, forks=False, full_text=False),
    Kind("qdrant", qdrant_config, processes=False, forks=False, full_text=False),
]
QDRANT_SERVER = Kind("qdrant_server", qdrant_server_config, forks=False, full_text=False)
"""It runs the same local mode behind its interface, so that only what servers are for is tested on it."""
