"""The terminal: a screen, and a line to type in."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trivium.actions import Denied
from trivium.commander.lowlevel import running_loop
from trivium.exceptions import ConfigurationError, MissingExtraError
from trivium.terminal._screen import COLOURS, Screen
from trivium.terminal._words import call_text, shown

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from rich.console import Console

    from trivium.actions import ApprovalRequest

__all__ = ["Terminal", "is_terminal", "user_port"]

_QUIT = "q"


class Terminal(Screen):
    """Shows runs and asks the person who sits there: the screen of a run and its user port in one.

    Enter sends what was typed, Alt-Enter begins a new line, and what is pasted may have several; the arrows go
    through what was typed before. Ctrl-C clears the line; on an empty line it ends the conversation, as Ctrl-D does.

    Args:
        console: as for `Screen`.
        unfold: as for `Screen`.
        commands: words that begin with "/" and what they do; they are offered while one is typed.
        history: a file that keeps what was typed for the next time, readable by its owner alone. Default: none,
            what was typed is forgotten at the end.

    Raises:
        MissingExtraError: `rich` or `prompt_toolkit` is not installed; both come with the extra "cli".
        ConfigurationError: the history cannot be written.

    Example::

        terminal = Terminal()
        agent.ask_user = terminal.ask
        Task(agent, interactive=True).run("Hello", listeners=[terminal], approve=terminal.approve)
    """

    def __init__(
        self,
        console: Console | None = None,
        *,
        unfold: bool = False,
        commands: Mapping[str, str] | None = None,
        history: Path | None = None,
    ) -> None:
        super().__init__(console, unfold=unfold)
        self._commands = dict(commands or {})
        # A dumb terminal can neither move its cursor nor show colours: what is typed there is a plain line.
        self._session = None if self.console.is_dumb_terminal else self._new_session(history)

    def ask(self, prompt: str = "") -> str:
        """What the person says to the prompt; "q", which ends a task, where the person leaves.

        The prompt is shown, if it is not what was shown last.
        """
        if prompt and not self.has_said(prompt):
            self.note(prompt, "")
        said = self.read()
        self.heard()
        return _QUIT if said is None else said

    def approve(self, request: ApprovalRequest) -> bool | Denied:
        """Whether the person lets a call run: y is yes, n is no, anything else is no and the reason."""
        self.note(f"{request.name} wants to run:", "yellow")
        self.note(call_text(request.name, request.arguments), "")
        said = (self.read("run it? y, n, or why not") or "").strip()
        if said.lower() in ("y", "yes"):
            return True
        return Denied("" if said.lower() in ("", "n", "no") else said)

    def read(self, name: str = "you") -> str | None:
        """What is typed next; None where the person leaves."""
        self.end_line()
        text = None
        with suppress(EOFError, KeyboardInterrupt):
            text = self._type(f"{name}: ")
        self._is_at_start = True
        return text

    def _type(self, prompt: str) -> str:
        if self._session is None:
            return input(prompt)
        is_in_loop = running_loop() is not None  # the line is a loop of its own: it takes a thread
        return self._session.prompt([(f"bold {_ansi('user')}", prompt)], in_thread=is_in_loop)

    def _new_session(self, history: Path | None) -> PromptSession[str]:
        try:
            from prompt_toolkit import PromptSession
            from prompt_toolkit.application import get_app
            from prompt_toolkit.completion import WordCompleter
            from prompt_toolkit.filters import Condition
            from prompt_toolkit.history import FileHistory, InMemoryHistory
        except ImportError:
            raise MissingExtraError("prompt_toolkit", "cli") from None
        words = WordCompleter(list(self._commands), meta_dict=self._commands, sentence=True)
        return PromptSession(
            history=FileHistory(_private(history)) if history is not None else InMemoryHistory(),
            completer=words,
            complete_while_typing=Condition(lambda: get_app().current_buffer.text.startswith("/")),
            multiline=True,
            prompt_continuation=_continuation,
            key_bindings=_keys(),
            enable_open_in_editor=True,
            reserve_space_for_menu=len(self._commands),
        )


def _ansi(role: str) -> str:
    return f"ansi{COLOURS[role]}"


def _continuation(width: int, line: int, wraps: int) -> str:
    return " " * width


def _keys() -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("enter")
    def send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def break_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-c")
    @keys.add("<sigint>")
    def clear_or_leave(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=EOFError())

    return keys


def _private(path: Path) -> str:
    """The file, made so that its owner alone may read it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot keep what is typed: {error.strerror}; name another file") from None
    return str(path)


def user_port() -> Callable[[str], str]:
    """How a person at this terminal is asked: at a `Terminal`, or where the extra "cli" is not installed, plainly."""
    if is_terminal():
        with suppress(MissingExtraError):
            return Terminal().ask
    return _ask_plainly


def _ask_plainly(prompt: str) -> str:
    try:
        return input(f"{shown(prompt)}\nyou: " if prompt else "you: ")
    except EOFError:
        return _QUIT


def is_terminal() -> bool:
    """Whether a person sits at this process's input and output."""
    return all(_is_tty(stream) for stream in (sys.stdin, sys.stdout))


def _is_tty(stream: Any) -> bool:
    return bool(getattr(stream, "isatty", bool)())
