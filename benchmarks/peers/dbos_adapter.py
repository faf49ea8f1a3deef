"""DBOS: no agents; a workflow holds the conversation, and each answer of the model is a step of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from common import Adapter, Script, ask
from dbos import DBOS, SetWorkflowID


class Peer(Adapter):
    title = "DBOS"
    distributions = ("dbos", "sqlalchemy", "psycopg")
    statement = "from dbos import DBOS"
    stores: ClassVar = ("a workflow, SQLite", "a workflow, PostgreSQL")

    def converse(self, store: str, place: str, script: Script, texts: Iterable[str], done: int) -> None:
        url = place if "PostgreSQL" in store else f"sqlite:///{place}"
        DBOS(config={"name": "bench", "system_database_url": url, "application_version": "1", "log_level": "CRITICAL"})

        @DBOS.step()
        def answer(history: list[Any]) -> str:
            return str(ask(script, [], history))

        @DBOS.workflow()
        def conversation() -> str:
            history: list[Any] = []
            for text in texts:
                history.append({"role": "user", "content": text})
                history.append({"role": "assistant", "content": answer(history)})
            return "done"

        DBOS.launch()  # which goes on with what was broken off
        if done:
            DBOS.retrieve_workflow("kept").get_result(polling_interval_sec=0.02)
        else:
            with SetWorkflowID("kept"):
                conversation()
