"""A worker of DBOS alone: the same work as steps of a workflow, without trivium."""

from __future__ import annotations

import signal
import threading
from typing import Any

import sqlalchemy
from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer, WorkflowSerializationFormat

__all__ = ["APPLICATION", "NAME", "client", "serve"]

APPLICATION, NAME, SCHEMA = "bare", "bare.run", "bare"


def url_of(url: str) -> str:
    return sqlalchemy.make_url(url).render_as_string(hide_password=False)


def client(url: str) -> DBOSClient:
    """A client, which has made the tables."""
    DBOS.migrate(url_of(url), schema=SCHEMA)
    return DBOSClient(
        system_database_url=url_of(url),
        dbos_system_schema=SCHEMA,
        serializer=DBOSPortableJSONSerializer(),
        application_name=APPLICATION,
    )


def serve(url: str, names: tuple[str, ...], ready: Any = None, *, poll: float = 0.05, at_once: int = 16) -> None:
    """Be a worker until SIGTERM: a workflow is so many steps."""
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: over.set())
    DBOS(
        config={
            "name": APPLICATION, "system_database_url": url_of(url), "dbos_system_schema": SCHEMA,
            "application_version": "1", "log_level": "CRITICAL", "sys_db_pool_size": 5,
            "serializer": DBOSPortableJSONSerializer(),
        }
    )  # fmt: skip

    @DBOS.step()
    async def answer(text: str) -> str:
        return text

    @DBOS.workflow(name=NAME, serialization_type=WorkflowSerializationFormat.PORTABLE)
    async def work(text: str, steps: int) -> str:
        for _ in range(steps):
            text = await answer(text)
        return text

    DBOS.launch()
    DBOS.register_queue("default", worker_concurrency=at_once, polling_interval_sec=poll)
    if ready is not None:
        ready.set()
    over.wait()
    del work
    DBOS.destroy()
