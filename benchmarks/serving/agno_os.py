"""Agno's AgentOS of the benchmark, with a model of its own that waits: `python agno_os.py [FILE]`, an SQLite file."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from agno.agent import Agent
from agno.db.sqlite import SqliteDb
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.os import AgentOS
from listening import serve


@dataclass
class Waiting(Model):
    """A model that waits."""

    id: str = "waiting"

    def invoke(self, *given: Any, **options: Any) -> ModelResponse:
        raise NotImplementedError

    async def ainvoke(self, *given: Any, **options: Any) -> ModelResponse:
        raise NotImplementedError

    def invoke_stream(self, *given: Any, **options: Any) -> Any:
        raise NotImplementedError

    async def ainvoke_stream(self, messages: list[Any], **options: Any) -> AsyncIterator[ModelResponse]:
        yield ModelResponse(content="begun")
        if messages[-1].content == "hold":
            await asyncio.sleep(3600)
        yield ModelResponse(content="end")

    def _parse_provider_response(self, response: Any, **options: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response


if __name__ == "__main__":
    database = SqliteDb(db_file=sys.argv[1]) if len(sys.argv) > 1 else None
    agent = Agent(name="ask", id="ask", model=Waiting(), db=database, telemetry=False)
    serve(AgentOS(agents=[agent], telemetry=False).get_app())
