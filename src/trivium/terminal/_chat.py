"""A conversation with a module, line by line."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trivium.commander import Listener
from trivium.exceptions import ConfigurationError, OutputError, RunKilledError, StateError, TriviumError
from trivium.module import Module
from trivium.schema import Message
from trivium.terminal._screen import Screen
from trivium.terminal._terminal import Terminal, is_terminal
from trivium.terminal._words import one_line

if TYPE_CHECKING:
    from trivium.actions import ApprovalRequest

__all__ = ["Conversation", "at_terminal", "chat", "on_lines"]

COMMANDS = {
    "/help": "show this list",
    "/tools": "show the last tool calls in full; /tools on and /tools off for those to come",
    "/history": "show the conversation so far",
    "/reset": "forget the conversation",
    "/save": "write the conversation to a file: /save FILE",
    "/quit": "leave, as q, x, exit, bye and Ctrl-D do",
}
_COMMAND = re.compile(r"/\w+(\s|$)")
_QUIT = frozenset({"/quit", "/exit", "q", "x", "quit", "exit", "bye"})
_KEYS = "Enter sends, Alt-Enter begins a line, Ctrl-C stops an answer"


def chat(
    module: Module,
    *,
    session_id: Hashable = 0,
    session_file: Path | None = None,
    history: Path | None = None,
    listeners: tuple[Listener, ...] = (),
) -> int:
    """Talk to a module until the person leaves: at a terminal with a screen, else one line of input a turn.

    Ctrl-C stops an answer, and the conversation goes on: what the model has said so far is remembered as its answer,
    and a question that got none is forgotten. The same holds where a model fails.

    Args:
        module: an agent, or any other module; a task is run once for each turn.
        session_id: the session of its memory.
        session_file: a file that keeps the conversation: read at the start if it is there, written after each turn.
        history: as for `Terminal`.
        listeners: are told all that happens besides.

    Returns:
        How many turns failed.

    Raises:
        MissingExtraError: at a terminal, `rich` or `prompt_toolkit` is not installed.
        ConfigurationError: the session or the history cannot be used.
        OutputError: the session cannot be written.

    Example::

        chat(Agent("default", "Answer in one sentence."))
    """
    conversation = Conversation(module, session_id, session_file)
    if is_terminal():
        return at_terminal(conversation, Terminal(commands=COMMANDS, history=history), listeners)
    return on_lines(conversation, listeners, _write_answer, _write_error)


class Conversation:
    """A module's session as somebody talks to it; what could not be answered leaves no trace in it."""

    def __init__(self, module: Module, session_id: Hashable = 0, file: Path | None = None) -> None:
        self.module, self.session_id, self.file = module, session_id, file
        self.failed = 0
        if file is not None and file.exists():
            self._load(file)
        else:
            self.save()  # a file that cannot be written is told before anything is asked

    def ask(
        self,
        text: str,
        listeners: tuple[Listener, ...],
        partial: Callable[[], str],
        approve: Callable[[ApprovalRequest], Any] | None = None,
    ) -> Message:
        """One turn; `partial` is asked for what was said where it does not come to its end.

        Who approves calls of tools is whom the module has, else `approve`.
        """
        before = len(self.messages())
        try:
            approve = self.module.approve or approve
            answer = self.module(text, session_id=self.session_id, listeners=listeners, approve=approve)
        except BaseException:
            self._close(before, partial())
            raise
        self.save()
        return answer

    def messages(self) -> list[Message]:
        """What was said so far."""
        memory = None if self.module.memory is None else self.module.memory.get(self.session_id)
        return [] if memory is None else memory.get_memory()

    def reset(self) -> None:
        """Forget what was said."""
        self.module.reset(self.session_id, recursive=True)
        self.save()

    def _close(self, before: int, partial: str) -> None:
        """Leave a history that can go on: every question has an answer."""
        memory = None if self.module.memory is None else self.module.memory.get(self.session_id)
        if memory is None:
            return
        if partial.strip():
            memory.add(Message(content=partial, sender=self.module.name))
        elif len(memory) == before + 1:
            memory.delete(-1)
        self.save()

    def save(self, file: Path | None = None) -> None:
        """Write the conversation, at once or not at all, so that its owner alone may read it.

        Raises:
            OutputError: it cannot be written.
        """
        file = file or self.file
        if file is None:
            return
        text = json.dumps(self.module.state_dict(self.session_id), ensure_ascii=False, indent=1, default=str)
        try:
            with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False, encoding="utf-8") as made:
                made.write(text.encode("utf-8", "replace").decode())
            os.replace(made.name, file)
        except OSError as error:
            raise OutputError(f"{file} cannot be written: {error.strerror}; name another file") from None

    def _load(self, file: Path) -> None:
        try:
            self.module.load_state_dict(json.loads(file.read_text(encoding="utf-8")), self.session_id)
        except OSError as error:
            raise ConfigurationError(f"{file} cannot be read: {error.strerror}; name another file") from None
        except (ValueError, TypeError, AttributeError, StateError, RecursionError):
            raise ConfigurationError(f"{file} holds no conversation of this agent: name a new file") from None


def at_terminal(conversation: Conversation, terminal: Terminal, listeners: tuple[Listener, ...] = ()) -> int:
    """Talk at a terminal until the person leaves; how many turns failed."""
    terminal.note(f"{_KEYS}; /help says more.")
    while (text := terminal.read()) is not None:
        word = text.strip()
        if word.lower() in _QUIT:
            break
        if _COMMAND.match(word):
            _obey(word, conversation, terminal)
        elif word:
            _turn(text, conversation, terminal, listeners)
    return conversation.failed


def _turn(text: str, conversation: Conversation, terminal: Terminal, listeners: tuple[Listener, ...]) -> None:
    terminal.heard()
    try:
        answer = conversation.ask(text, (terminal, *listeners), lambda: terminal.partial, terminal.approve)
    except (KeyboardInterrupt, RunKilledError):
        terminal.stop()
        terminal.note("\ninterrupted; say what to do next", "yellow")  # behind the ^C that the terminal has written
    except TriviumError as error:
        conversation.failed += 1
        terminal.stop()
        terminal.note(f"error: {one_line(error)}", "red")
    else:
        content = answer.content if isinstance(answer.content, str) else str(answer.content or "")
        if content and not terminal.has_said(content):  # as of a module that asks no model
            terminal.say(answer.sender, content, "agent")


def _obey(line: str, conversation: Conversation, terminal: Terminal) -> None:
    word, _, rest = line.partition(" ")
    rest = rest.strip()
    if word == "/help":
        terminal.note("\n".join(f"{name:10}{text}" for name, text in COMMANDS.items()) + f"\n{_KEYS}.")
    elif word == "/tools":
        if rest in ("on", "off"):
            terminal.unfold = rest == "on"
        else:
            terminal.show_tools()
    elif word == "/history":
        _show_history(conversation, terminal)
    elif word == "/reset":
        conversation.reset()
        terminal.note("forgotten")
    elif word == "/save":
        _save(rest, conversation, terminal)
    else:
        terminal.note(f"there is no command {one_line(word)}; /help lists them", "red")


def _save(name: str, conversation: Conversation, terminal: Terminal) -> None:
    if not name and conversation.file is None:
        terminal.note("name a file: /save FILE", "red")
        return
    try:
        conversation.save(Path(name).expanduser() if name else None)
    except OutputError as error:
        terminal.note(f"error: {one_line(error)}", "red")
    else:
        terminal.note(f"saved in {name or conversation.file}")


def _show_history(conversation: Conversation, screen: Screen) -> None:
    for message in conversation.messages():
        is_own = message.sender == conversation.module.name
        for call in message.tool_calls:
            screen.note(f"  {one_line(f'{call.name}({call.arguments})')}")
        if message.content:
            screen.say(message.sender, str(message.content), "llm" if is_own else "user")


def on_lines(
    conversation: Conversation,
    listeners: tuple[Listener, ...],
    answered: Callable[[Message], object],
    failed: Callable[[TriviumError], object],
) -> int:
    """Each line of standard input is a turn; how many turns failed."""
    for line in sys.stdin:
        text = line.strip()
        if text.lower() in _QUIT:
            break
        if not text:
            continue
        try:
            answer = conversation.ask(text, listeners, str)
        except OutputError:
            raise
        except TriviumError as error:
            conversation.failed += 1
            failed(error)
        else:
            answered(answer)
    return conversation.failed


def _write_answer(answer: Message) -> None:
    sys.stdout.write(f"{answer.content}\n")
    sys.stdout.flush()


def _write_error(error: TriviumError) -> None:
    sys.stderr.write(f"error: {one_line(error)}\n")
    sys.stderr.flush()
