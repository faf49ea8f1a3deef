"""A database for each test, and its workers."""

from __future__ import annotations

from collections.abc import Generator
from itertools import count
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from trivium.journal import Journal

from ._fleet import Fleet, fleet
from ._programs import prepare

_numbers = count()


@pytest.fixture
def url(server_url: str) -> str:
    """A database of its own."""
    name = f"queue_{next(_numbers)}"
    with psycopg.connect(server_url, autocommit=True) as database:
        database.execute(f"CREATE DATABASE {name}".encode())
    made = urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    prepare(made)
    return made


@pytest.fixture
def journal(url: str) -> Generator[Journal]:
    made = Journal(url)
    yield made
    made.close()


@pytest.fixture
def workers(url: str) -> Generator[Fleet]:
    with fleet(url) as made:
        yield made
