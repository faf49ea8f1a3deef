"""The page of a log, written by hand; a task writes its own."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from pydantic import BaseModel

from trivium.observers._log_page import page_head, render_html
from trivium.observers._log_text import Entry
from trivium.schema import Message, ToolCall

if TYPE_CHECKING:
    from trivium.tasks import Response

_RESPONDERS: Final = {"LLM": "LLM", "USER": "User", "AGENT": "Agent", "SYSTEM": "System"}


class _Logged(NamedTuple):  # the response of a task, whose package is above this one
    task: str
    responder: str
    message: Message
    could_respond: bool
    is_result: bool


class HTMLLogger:
    """Writes entries into a page for the browser, which is complete after each of them.

    Args:
        filename: the name of the file, without its ending.
        log_dir: its folder, which is made.
        model_info: the name of the model, shown where a model responds.
        append: keep what the page has.

    Attributes:
        file_path: the page.
        entry_counter: the number of entries that were written.
    """

    def __init__(self, filename: str, log_dir: str = "logs", model_info: str = "", append: bool = False) -> None:
        self.filename, self.log_dir, self.model_info = filename, Path(log_dir), model_info
        self.file_path, self.entry_counter = self.log_dir / f"{filename}.html", 0
        self.log_dir.mkdir(parents=True, exist_ok=True)
        if not append or not self.file_path.exists():
            self.file_path.write_text(page_head(filename), "utf-8")

    def log(self, fields: BaseModel) -> None:
        """Write an entry.

        Args:
            fields: `ChatDocLoggerFields`, and as there may be in a class below it, `responder`, `task_name` and
                `mark`, which is "*" for the outcome of a step.
        """
        given: dict[str, Any] = dict(fields)
        spoke = str(given.get("responder") or given.get("sender_entity") or "")
        responder = _RESPONDERS.get(spoke.rpartition(".")[2].upper(), spoke)
        content, tool = given.get("content") or "", given.get("tool") or ""
        message = Message(
            content="" if tool else content,
            sender=(responder == "LLM" and self.model_info) or given.get("sender_name") or "",
            receiver=given.get("recipient") or None,
            tool_calls=(ToolCall("", tool, content),) if tool else (),
        )
        logged = _Logged(given.get("task_name") or self.filename, responder, message, True, given.get("mark") == "*")
        entry = Entry(str(self.entry_counter), datetime.now().astimezone(), cast("Response", logged))
        with self.file_path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{render_html(entry)}\n")
        self.entry_counter += 1

    def close(self) -> None:
        """Have no more to write: the page needs no end."""
