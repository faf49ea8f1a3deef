"""One server for the tests that do it no harm."""

from __future__ import annotations

from collections.abc import Generator

import anyio
import pytest

from trivium.mcp import MCPServer

from ._helpers import SDK_SERVER

# anyio loads it at the first use; pytest would rewrite it then, beside a thread that compiles, which 3.11 cannot.
_ = anyio.open_process


@pytest.fixture(scope="package")
def workshop() -> Generator[MCPServer]:
    with MCPServer([*SDK_SERVER, "stdio"], name="workshop", resources=True, prompts=True) as server:
        yield server
