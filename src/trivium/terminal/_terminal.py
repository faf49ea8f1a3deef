"""The terminal: a screen with an input line."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Any

from trivium.actions import Denied
from trivium.actions.lowlevel import call_text
from trivium.commander.lowlevel import running_loop
from trivium.events import safe_text
from trivium.exceptions import ConfigurationError, MissingExtraError, NotInteractiveError
from trivium.terminal._screen import COLOURS, Screen

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from rich.console import Console

    from trivium.actions import ApprovalRequest

_QUIT = "q"
_NOBODY = (
    "the user is to answer and there is no terminal: use Task(interactive=False), set "
    "default_human_response, or give the agent an ask_user function"
)


class Terminal(Screen):
    """A screen that can ask the user: the display of a run and its user port in one.

    Enter sends the input, Alt-Enter begins a new line, and pasted text may have several lines; the arrows go through
    earlier inputs. Ctrl-C clears the line; on an empty line it ends the conversation, as Ctrl-D does; where commands
    are given, if it is pressed twice.

    Args:
        console: as for `Screen`.
        unfold: as for `Screen`.
        commands: words that begin with "/", each with a description; they are offered while one is typed.
        history: a file that keeps the inputs for the next time, readable by its owner alone. Default: no file, the
            inputs are forgotten at the end.

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
        # A dumb terminal can neither move its cursor nor show colours: its input is a plain line.
        self._session = None if self.console.is_dumb_terminal else make_session(commands or {}, history)
        self.commands = dict(commands or {})
        self._presses = 2 if commands else 1

    def ask(self, prompt: str = "") -> str:
        """Return the user's answer to the prompt; "q", which ends a task, if the user leaves.

        The prompt is displayed, unless it is on the screen already.
        """
        if prompt and not self.has_displayed(prompt):
            self.note(prompt, "")
        answer = self.read()
        self.begin_turn()
        return _QUIT if answer is None else answer

    def approve(self, request: ApprovalRequest) -> bool | Denied:
        """Ask the user to approve a call: y approves, n refuses, any other text refuses with this reason.

        The end of the input refuses too. What is typed here is no earlier input of a later question.

        Raises:
            KeyboardInterrupt: the user has pressed Ctrl-C on an empty line, which stops the run.
        """
        self.note(f"{request.name} wants to run:", "yellow")
        self.note(call_text(request.name, request.arguments), "")
        if request.why:
            self.note(request.why, "yellow")
        session = self._session and make_session({}, None)
        try:
            answer = (self._line("run it? y, n, or why not", session) or "").strip()
        finally:
            self._is_at_start = True
        if answer.lower() in ("y", "yes"):
            return True
        return Denied("" if answer.lower() in ("", "n", "no") else answer)

    def read(self, name: str = "you") -> str | None:
        """Return the next input; None if the user leaves."""
        text = None
        for press in range(1, self._presses + 1):
            self.end_line()
            try:
                text = self._line(name, self._session)
                break
            except KeyboardInterrupt:
                if press < self._presses:
                    self._is_at_start = True
                    self.note("Ctrl-C again leaves")
        self._is_at_start = True
        return text

    def _line(self, name: str, session: PromptSession[str] | None) -> str | None:
        if session is None:
            return read_line(f"{name}: ")
        # The input line runs its own loop: on a loop's thread it needs another thread.
        style = f"bold ansi{COLOURS['user']}"
        with suppress(EOFError):
            return session.prompt([(style, f"{name}: ")], in_thread=running_loop() is not None)
        return None


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
            event.app.exit(exception=KeyboardInterrupt())

    return keys


def make_session(commands: Mapping[str, str], history: Path | None) -> PromptSession[str] | None:
    """Make the input line of a `Terminal`: with completion of commands, and with a history.

    Returns:
        The input line; None on a pipe and in a notebook, where the input is a plain line.

    Raises:
        MissingExtraError: `prompt_toolkit` is not installed.
        ConfigurationError: the history cannot be written.
    """
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.application import get_app
        from prompt_toolkit.completion import WordCompleter
        from prompt_toolkit.filters import Condition
        from prompt_toolkit.history import FileHistory, InMemoryHistory
    except ImportError:
        raise MissingExtraError("prompt_toolkit", "cli") from None
    if not is_terminal():
        return None
    words = WordCompleter(list(commands), meta_dict=dict(commands), sentence=True)
    return PromptSession(
        history=FileHistory(make_private(history)) if history is not None else InMemoryHistory(),
        completer=words,
        complete_while_typing=Condition(lambda: get_app().current_buffer.text.startswith("/")),
        multiline=True,
        prompt_continuation=lambda width, line, wraps: " " * width,
        key_bindings=_keys(),
        enable_open_in_editor=True,
        reserve_space_for_menu=len(commands),
    )


def make_private(path: Path) -> str:
    """Create a file that only its owner may read, and return its path.

    Raises:
        ConfigurationError: it cannot be created.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot keep the inputs: {error.strerror}; name another file") from None
    return str(path)


def user_port() -> Callable[[str], str]:
    """Return the function that asks the user of this process: a `Terminal`, or `input` where there is none.

    `input` reads a pipe, the cell of a notebook, and a terminal without the extra "cli". The function raises
    `NotInteractiveError` where nobody can answer.
    """
    if is_terminal():
        with suppress(MissingExtraError):
            return Terminal().ask

    def ask(prompt: str) -> str:
        line = read_line(f"{safe_text(prompt)}\nyou: " if prompt else "you: ")
        return _QUIT if line is None else line

    return ask


def read_line(prompt: str) -> str | None:
    """Return a line of the input of this process: of a pipe, a notebook's cell or a plain terminal; None at its end.

    Raises:
        NotInteractiveError: there is no input, or the notebook's front end has no line to type in.
    """
    if not has_input():
        raise NotInteractiveError(_NOBODY)
    try:
        return input(prompt)
    except EOFError:
        return None
    except (OSError, RuntimeError) as error:
        raise NotInteractiveError(_NOBODY) from error


def has_input() -> bool:
    """Return True where `input` can be answered: by a terminal, a pipe or a file, or by a notebook's own `input`."""
    if not isinstance(input, BuiltinFunctionType):  # a notebook has put its own there
        return True
    try:
        is_device = stat.S_ISCHR(os.fstat(sys.stdin.fileno()).st_mode)
    except (AttributeError, OSError, ValueError):  # it is None or closed, or an object that is no file
        return False
    return not is_device or sys.stdin.isatty()  # a service's input is the null device


def is_terminal() -> bool:
    """Return True if the standard input and output of this process are a terminal."""
    streams: tuple[Any, ...] = (sys.stdin, sys.stdout)  # which other code may have replaced, also with None, or closed
    return all(hasattr(each, "isatty") and not each.closed and each.isatty() for each in streams)
