"""A conversation with a module, line by line."""

from __future__ import annotations

import functools
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Hashable, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

from trivium.commander import Event, Listener
from trivium.exceptions import ConfigurationError, OutputError, RunKilledError, StateError, TriviumError
from trivium.module import Module
from trivium.observers import format_usage
from trivium.schema import Message, Usage
from trivium.terminal._terminal import Terminal, is_terminal
from trivium.terminal._words import safe_line

if TYPE_CHECKING:
    from trivium.actions import ApprovalRequest
    from trivium.journal import Journal, RunInfo

__all__ = ["COMMANDS", "Conversation", "chat", "chat_at_terminal", "chat_on_lines", "run_command"]

COMMANDS = {
    "/help": "show this list",
    "/tools": "show the last tool calls in full; /tools on and /tools off for later ones",
    "/history": "show the conversation so far",
    "/reset": "forget the conversation",
    "/cost": "show what the answers have cost so far",
    "/save": "write the conversation to a file: /save FILE",
    "/quit": "leave, as q, x, exit, bye and Ctrl-D do",
}
_COMMAND = re.compile(r"/\w+(\s|$)")
_QUIT = frozenset({"/quit", "/exit", "q", "x", "quit", "exit", "bye"})
_KEYS = "Enter sends, Alt-Enter begins a line, Ctrl-C stops an answer"
_SHOWN = 200
"""The characters of a message in the summary of a conversation that goes on."""

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

    Ctrl-C stops an answer, and the conversation goes on: the text so far is remembered as the answer, and a question
    without any is forgotten. The same holds if a model fails.

    Args:
        module: an agent, or any other module; a task is run once for each turn.
        session_id: the session of its memory.
        session_file: a file that keeps the conversation: read at the start if it exists, written after each turn.
        history: as for `Terminal`.
        listeners: further listeners of the runs.
        journal: has each turn as a durable run, "SESSION-1" and so on, where session 0 is called "chat": the
            conversation goes on from there, and so does a turn whose process was killed.

    Returns:
        The number of turns that failed.

    Raises:
        MissingExtraError: at a terminal, `rich` or `prompt_toolkit` is not installed.
        ConfigurationError: the session or the history cannot be used.
        OutputError: the session cannot be written.

    Example::

        chat(Agent("default", "Answer in one sentence."))
    """
    conversation = Conversation(module, session_id, session_file, journal)
    if is_terminal():
        return chat_at_terminal(conversation, Terminal(commands=COMMANDS, history=history), listeners)

    def write(stream: TextIO, line: object) -> None:
        stream.write(f"{line}\n")
        stream.flush()

    return chat_on_lines(
        conversation,
        listeners,
        lambda answer: write(sys.stdout, answer.content),
        lambda error: write(sys.stderr, f"error: {safe_line(error)}"),
    )


class Conversation:
    """A module's session in a chat; a question without an answer leaves no trace in it."""

    def __init__(
        self, module: Module, session_id: Hashable = 0, file: Path | None = None, journal: Journal | None = None
    ) -> None:
        self.module, self.file, self.journal = module, file, journal
        self.session_id = "chat" if journal is not None and session_id == 0 else session_id
        self.is_broken_off, self._turn = False, 0
        self.failed = 0
        self.usage = Usage()
        if file is not None and file.exists():
            self._load(file)
        else:
            self.save()  # a file that cannot be written is an error before the first question
        if journal is not None:
            self._restore(journal)

    def ask(
        self,
        text: str,
        listeners: tuple[Listener, ...],
        partial: Callable[[], str],
        approve: Callable[[ApprovalRequest], object] | None = None,
    ) -> Message:
        """Call the module for one turn.

        Args:
            text: the user's input.
            listeners: the listeners of the call.
            partial: returns the text so far of an answer that is not complete.
            approve: decides on calls of tools, unless the module has a function for that.
        """
        options: dict[str, Any] = {"session_id": self.session_id}
        if self.journal is not None:
            self._turn += 1
            options |= {"journal": self.journal, "run_id": self._run_of(self._turn)}
        return self._answer(functools.partial(self.module, text, **options), listeners, partial, approve)

    def go_on(
        self,
        listeners: tuple[Listener, ...],
        partial: Callable[[], str],
        approve: Callable[[ApprovalRequest], object] | None = None,
    ) -> Message:
        """Go on with the turn that was broken off; see `ask`."""
        assert self.journal is not None, "only a journal has turns that were broken off"
        self.is_broken_off, run = False, self.journal.view(self._run_of(self._turn))
        resume = functools.partial(run.resume, self.module, accept_changes=True)
        return self._answer(resume, listeners, partial, approve)

    def _answer(
        self,
        call: Callable[..., Message],
        listeners: tuple[Listener, ...],
        partial: Callable[[], str],
        approve: Callable[[ApprovalRequest], object] | None,
    ) -> Message:
        before = len(self.messages())
        try:
            answer = call(listeners=listeners, approve=self.module.approve or approve)
        except BaseException:
            self._close(before, partial())
            if self.journal is not None:
                self.journal.forget(self._run_of(self._turn))
            raise
        self.save()
        return answer

    def messages(self) -> list[Message]:
        """Return the messages so far."""
        memory = None if self.module.memory is None else self.module.memory.get(self.session_id)
        return [] if memory is None else memory.get_memory()

    def summary(self) -> str:
        """Return a line on a conversation that goes on, with its last question and answer; "" for a new one."""
        messages = [each for each in self.messages() if each.content and not each.tool_call_id]
        if not messages:
            return ""
        texts = [safe_line(f"{each.sender}: {each.content}") for each in messages[-2:]]
        shown = "\n".join(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…" for text in texts)
        return f"The conversation of {len(messages)} messages goes on; the last were\n{shown}"

    def count(self, event: Event) -> None:
        """Add up the usage of all calls: a listener of the turns."""
        if event.usage is not None:
            self.usage += event.usage

    def reset(self) -> None:
        """Forget the conversation."""
        self.module.reset(self.session_id, recursive=True)
        self.save()
        if self.journal is not None:
            for each in self._turns(self.journal):
                self.journal.forget(each.id)

    def _run_of(self, turn: int) -> str:
        return f"{self.session_id}-{turn}"

    def _turns(self, journal: Journal) -> list[RunInfo]:
        """Return the runs of the turns, the first one first."""
        start = f"{self.session_id}-"
        found = [each for each in journal.runs() if each.id.startswith(start) and each.id[len(start) :].isdecimal()]
        return sorted(found, key=lambda each: int(each.id[len(start) :]))

    def _restore(self, journal: Journal) -> None:
        """Remember what was said up to the last turn that is done."""
        turns = self._turns(journal)
        done = [each.id for each in turns if each.status == "done"]
        if done:
            journal.view(done[-1]).restore(self.module)
        if turns:
            self._turn = int(turns[-1].id.rpartition("-")[2])
            self.is_broken_off = turns[-1].status == "killed"

    def _close(self, before: int, partial: str) -> None:
        """Leave a history that can be continued: every question has an answer."""
        memory = None if self.module.memory is None else self.module.memory.get(self.session_id)
        if memory is None:
            return
        if partial.strip():
            memory.add(Message(content=partial, sender=self.module.name))
        elif len(memory) == before + 1:
            memory.delete(-1)
        self.save()

    def save(self, file: Path | None = None) -> None:
        """Write the conversation to a file, completely or not at all; only its owner may read it.

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
    terminal.note(f"{_KEYS}; /help says more.")
    if summary := conversation.summary():
        terminal.note(summary)
    if conversation.is_broken_off:
        terminal.note("The last turn was broken off; it goes on.")
        _take_turn(conversation, terminal, listeners, conversation.go_on)
    while (text := terminal.read()) is not None:
        word = text.strip()
        if word.lower() in _QUIT:
            break
        if _COMMAND.match(word):
            run_command(word, conversation, terminal, commands or {})
        if not word or _COMMAND.match(word):
            continue
        _take_turn(conversation, terminal, listeners, functools.partial(conversation.ask, text))
    return conversation.failed


def _take_turn(
    conversation: Conversation, terminal: Terminal, listeners: tuple[Listener, ...], ask: Callable[..., Message]
) -> None:
    """Have a turn answered at the terminal."""
    terminal.begin_turn()
    try:
        terminal.wait()  # from here on Ctrl-C stops the answer
        answer = ask((terminal, conversation.count, *listeners), lambda: terminal.partial, terminal.approve)
    except (KeyboardInterrupt, RunKilledError):
        terminal.stop()
        terminal.note("\ninterrupted; say what to do next", "yellow")  # behind the ^C that the terminal has written
    except TriviumError as error:
        conversation.failed += 1
        terminal.stop()
        terminal.note(f"error: {safe_line(error)}", "red")
    else:
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
        terminal.note("\n".join(f"{name:10}{text}" for name, text in terminal.commands.items()) + f"\n{_KEYS}.")
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
        if not rest and conversation.file is None:
            terminal.note("name a file: /save FILE", "red")
            return
        try:
            conversation.save(Path(rest).expanduser() if rest else None)
        except OutputError as error:
            terminal.note(f"error: {safe_line(error)}", "red")
        else:
            terminal.note(f"saved in {rest or conversation.file}")
    else:
        terminal.note(f"there is no command {safe_line(word)}; /help lists them", "red")


def chat_on_lines(
    conversation: Conversation,
    listeners: tuple[Listener, ...],
    answered: Callable[[Message], object],
    failed: Callable[[TriviumError], object],
) -> int:
    """Read a turn from each line of standard input; return the number of turns that failed."""
    for line in chain([None] if conversation.is_broken_off else [], sys.stdin):
        text = "" if line is None else line.strip()
        if text.lower() in _QUIT:
            break
        if not text and line is not None:
            continue
        try:
            answer = conversation.ask(text, listeners, str) if text else conversation.go_on(listeners, str)
        except OutputError:
            raise
        except TriviumError as error:
            conversation.failed += 1
            failed(error)
        else:
            answered(answer)
    return conversation.failed
