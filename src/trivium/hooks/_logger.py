"""The hook that logs all messages."""

from __future__ import annotations

import logging
import sys
from collections.abc import Hashable
from pathlib import Path
from typing import Any
from zlib import crc32

from trivium.events import escape_controls
from trivium.exceptions import OutputError
from trivium.hooks._get_logger import get_logger
from trivium.hooks._hook import Hook
from trivium.schema import Message
from trivium.schema.lowlevel import checked

_FORMAT = "%(asctime)s %(levelname)8s %(name)8s - %(message)s"
_COLORS = ("31", "32", "33", "34", "35", "36")


class MessageLogger(Hook):
    """Logs each message that goes into and comes out of the modules and executors that it is registered on.

    Args:
        name: the logger; see `trivium.utils.get_logger`.
        add_file_handler: log into a file too: its path, or True for `NAME.log` in the working folder.
        color: give each sender a colour of its own; default: if standard error is a terminal.

    Example:
        >>> from trivium import Agent
        >>> from trivium.testing import ScriptedModel
        >>> agent = Agent(ScriptedModel(["hello"]), hooks=MessageLogger("trivium.chat"))
        >>> agent("hi").content  # logs "session id: 0, message sender: user" with "hi" below, then the answer
        'hello'

    Raises:
        OutputError: the file cannot be written.
    """

    @checked
    def __init__(
        self, name: str = "trivium", add_file_handler: bool | str | Path = False, color: bool | None = None
    ) -> None:
        self.logger = get_logger(name, "info", _FORMAT)
        self.color = sys.stderr.isatty() if color is None else color
        if add_file_handler:
            self._add_file(Path(f"{name}.log" if add_file_handler is True else add_file_handler))

    def _add_file(self, path: Path) -> None:
        label = f"trivium:{path.resolve()}"
        if all(handler.name != label for handler in self.logger.handlers):
            try:
                handler = logging.FileHandler(path, encoding="utf-8")
            except OSError as error:
                raise OutputError(f"cannot write {path}: {error.strerror or error}; name another file") from error
            handler.name = label
            handler.setFormatter(logging.Formatter(_FORMAT))
            self.logger.addHandler(handler)

    def before_agent(self, agent: Any, messages: list[Message], session_id: Hashable) -> None:
        """Log the messages that a module receives."""
        for message in messages:
            self._log(message, session_id)

    def after_agent(self, agent: Any, message: Message, session_id: Hashable) -> None:
        """Log the answer of a module."""
        self._log(message, session_id)

    def before_action(self, executor: Any, message: Message, session_id: Hashable) -> None:
        """Log the message that an executor receives."""
        self._log(message, session_id)

    def after_action(self, executor: Any, message: Message, session_id: Hashable) -> None:
        """Log the answer of an executor."""
        self._log(message, session_id)

    def _log(self, message: Message, session_id: Hashable) -> None:
        lines = (f"session id: {session_id}, message sender: {message.sender}", *str(message.content).split("\n"))
        head, *content = (escape_controls(line) for line in lines)
        # A line that is not indented could pass for an entry of the log.
        text = "\n  ".join((head.replace("\n", "\\n"), *content))
        if self.color:
            color = _COLORS[crc32(message.sender.encode("utf-8", "replace")) % len(_COLORS)]
            text = f"\x1b[{color}m{text}\x1b[0m"
        self.logger.info("%s", text)
