"""Places for cassettes, no keys, and no network."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRIVIUM_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TRIVIUM_RECORD"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tapes" / "talk.json"


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Refuses all connections from the moment it is called."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("the network was used")

    def start() -> None:
        monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", refuse)
        monkeypatch.setattr(socket, "getaddrinfo", refuse)
        monkeypatch.setattr(socket.socket, "connect", refuse)

    return start
