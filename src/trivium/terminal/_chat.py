"""A conversation with a module, line by line."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Hashable, Mapping
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeAlias

from trivium.commander import Listener
from trivium.events import safe_line
from trivium.exceptions import RunKilledError, TriviumError
from trivium.module import Module
from trivium.observers import format_usage
from trivium.schema import Message
from trivium.terminal._conversation import Conversation
from trivium.terminal._terminal import Terminal, is_terminal

if TYPE_CHECKING:
    from trivium.journal import Journal

COMMANDS = {
    "/help": "show this list",
    "/tools": "show the last tool calls in full; /tools on and /tools off for later ones",
    "/history": "show the conversation so far",
    "/reset": "forget the conversation",
    "/cost": "show what the answers have cost so far",
    "/save": "copy the conversation into a file, for --session: /save FILE",
    "/quit": "leave, as q, x, exit, bye and Ctrl-D do",
}
_COMMAND = re.compile(r"/\w+(\s|$)")
_LEAVE = frozenset({"/quit", "/exit"})
_WORDS = frozenset({"q", "x", "quit", "exit", "bye"})
"""What leaves at a terminal besides; on a pipe these are input like any other."""

Commands: TypeAlias = Mapping[str, Callable[[str], str]]
"""Further commands of a program: each gets what follows it, and returns the line to show."""


def chat(
    module: Module,
    *,
    session_id: Hashable = 0,
    session_file: Path | None = None,
    history: Path | None = None,
    listeners: tuple[Listener, ...] = (),
    journal: Journal | None = None,
) -> int:
    """Chat with a module until the user leaves: at a terminal with a screen, else with one line of input for each turn.

    Ctrl-C stops an answer, and the conversation goes on: the text so far is remembered as the answer, also that a tool
    was called, and a question without any is forgotten. The same holds if a model fails.

    Args:
        module: an agent, or any other module; a task is run once for each turn.
        session_id: the session of its memory.
        session_file: the file of a journal for this conversation alone, readable by its owner only. The JSON of
            `state_dict` is taken up, and kept as "FILE.old".
        history: as for `Terminal`.
        listeners: further listeners of the runs.
        journal: has each turn as a durable run, "SESSION-1" and so on, where session 0 is called "chat": the
            conversation goes on from there, and so does a turn whose process was killed.

    Returns:
        The number of turns that failed.

    Raises:
        MissingExtraError: at a terminal, `rich` or `prompt_toolkit` is not installed.
        ConfigurationError: the session or the history cannot be used.
        JournalError: the journal cannot be used.
        OutputError: the session file cannot be written.

    Example::

        chat(Agent("default", "Answer in one sentence."))
    """

    def write(stream: TextIO, line: object) -> None:
        stream.write(f"{line}\n")
        stream.flush()

    with closing(Conversation(module, session_id, session_file, journal)) as conversation:
        if is_terminal():
            return chat_at_terminal(conversation, Terminal(commands=COMMANDS, history=history), listeners)
        return chat_on_lines(
            conversation,
            listeners,
            lambda answer: write(sys.stdout, answer.content),
            lambda error: write(sys.stderr, f"error: {safe_line(error)}"),
        )


def chat_at_terminal(
    conversation: Conversation,
    terminal: Terminal,
    listeners: tuple[Listener, ...] = (),
    commands: Commands | None = None,
) -> int:
    """Chat at a terminal until the user leaves; return the number of turns that failed.

    Args:
        conversation: the conversation.
        terminal: the terminal.
        listeners: further listeners of the runs.
        commands: further commands of the program.
    """
    terminal.note(f"{_keys(terminal)}; /help says more.")
    if summary := conversation.summary():
        terminal.note(summary)
    _take_turn(conversation, terminal, listeners)
    while (text := terminal.read()) is not None:
        word = text.strip()
        if word.lower() in _WORDS or _leaves(word):
            break
        if _COMMAND.match(word):
            run_command(word, conversation, terminal, commands or {})
        elif word:
            _take_turn(conversation, terminal, listeners, text)
    return conversation.failed


def _leaves(line: str) -> bool:
    return line.lower().partition(" ")[0] in _LEAVE


def _keys(terminal: Terminal) -> str:
    breaks = "" if terminal.console.is_dumb_terminal else "Alt-Enter begins a line, "
    return f"Enter sends, {breaks}Ctrl-C stops an answer"


def _take_turn(conversation: Conversation, terminal: Terminal, listeners: tuple[Listener, ...], text: str = "") -> None:
    """Have a turn answered at the terminal, behind one that was broken off; "" asks nothing more than that one."""
    display = (terminal, conversation.count, *listeners), lambda: terminal.partial, terminal.approve

    def go_on() -> None:
        if conversation.catch_up():
            terminal.note("The last turn was broken off; it goes on.")
            _show_answer(terminal, functools.partial(conversation.go_on, *display))

    def ask() -> None:
        if text:
            _show_answer(terminal, functools.partial(conversation.ask, text, *display))

    for take in (go_on, ask):  # what was typed is asked also where the other turn fails
        try:
            take()
        except (KeyboardInterrupt, RunKilledError):
            terminal.stop()
            terminal.note("\ninterrupted; say what to do next", "yellow")  # behind the ^C that the terminal has written
            return
        except TriviumError as error:
            conversation.failed += 1
            terminal.stop()
            terminal.note(f"error: {safe_line(error)}", "red")


def _show_answer(terminal: Terminal, ask: Callable[[], Message]) -> None:
    terminal.begin_turn()
    terminal.wait()  # from here on Ctrl-C stops the answer
    answer = ask()
    content = answer.content if isinstance(answer.content, str) else str(answer.content or "")
    if content and not terminal.has_displayed(content):  # as of a module that calls no model
        terminal.write_message(answer.sender, content, "agent")


def run_command(line: str, conversation: Conversation, terminal: Terminal, commands: Commands | None = None) -> None:
    """Run a command of the user: a word of `COMMANDS` or of the program's own, and its argument."""
    word, _, rest = line.partition(" ")
    rest = rest.strip()
    if commands and word in commands:
        try:
            terminal.note(commands[word](rest), "")
        except TriviumError as error:
            terminal.note(f"error: {safe_line(error)}", "red")
        return
    if word == "/help":
        terminal.note(
            "\n".join(f"{name:10}{text}" for name, text in terminal.commands.items()) + f"\n{_keys(terminal)}."
        )
    elif word == "/tools":
        if rest in ("on", "off"):
            terminal.unfold = rest == "on"
        else:
            terminal.show_tools()
    elif word == "/history":
        for message in conversation.messages():
            is_own = message.sender == conversation.module.name
            for call in message.tool_calls:
                terminal.note(f"  {safe_line(f'{call.name}({call.arguments})')}")
            if message.content:
                terminal.write_message(message.sender, str(message.content), "llm" if is_own else "user")
    elif word == "/cost":
        terminal.note(", ".join(format_usage(conversation.usage)) or "nothing so far")
    elif word == "/reset":
        conversation.reset()
        terminal.note("forgotten")
    elif word == "/save":
        if not rest:
            terminal.note("name a file: /save FILE", "red")
            return
        try:
            conversation.save(Path(rest).expanduser())
        except TriviumError as error:
            terminal.note(f"error: {safe_line(error)}", "red")
        else:
            terminal.note(f"saved in {rest}")
    else:
        terminal.note(f"there is no command {safe_line(word)}; /help lists them", "red")


def chat_on_lines(
    conversation: Conversation,
    listeners: tuple[Listener, ...],
    answered: Callable[[Message], object],
    failed: Callable[[TriviumError], object],
) -> int:
    """Read a turn from each line of standard input; return the number of turns that failed."""

    def take(ask: Callable[[], Message | None]) -> None:
        try:
            answer = ask()
        except TriviumError as error:
            conversation.failed += 1
            failed(error)
        else:
            if answer is not None:
                answered(answer)

    def go_on() -> Message | None:
        return conversation.go_on(listeners, str) if conversation.catch_up() else None

    for line in chain([""], sys.stdin):  # first a turn that was broken off, without any question
        text = line.strip()
        if _leaves(text):
            break
        take(go_on)
        if text:
            take(functools.partial(conversation.ask, text, listeners, str))
    return conversation.failed
