"""A module's session in a chat, and the journal that keeps it."""

from __future__ import annotations

import functools
import json
import os
import tempfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from trivium.commander import Event, Listener
from trivium.events import safe_line
from trivium.exceptions import (
    ConfigurationError,
    JournalError,
    OutputError,
    RunAliveError,
    RunInputError,
    StateError,
    TriviumError,
)
from trivium.journal import Journal, RunInfo, RunView
from trivium.module import Module
from trivium.schema import Message, Usage

if TYPE_CHECKING:
    from trivium.actions import ApprovalRequest

_SHOWN: Final = 200
"""The characters of a message in the summary of a conversation that goes on."""
_UNKNOWN: Final = -1
"""The number of the last turn where another process has it at work."""
_SQLITE: Final = b"SQLite format 3\x00"
"""The first bytes of a journal's file."""


class Conversation:
    """A module's session in a chat; a question without an answer leaves no trace in it, unless a tool was called.

    With a journal each turn is a run of it, "SESSION-1" and so on, and the conversation goes on from there. Several
    processes may take turns at one conversation.

    Args:
        module: an agent, or any other module.
        session_id: the session of its memory; with a journal "chat" in place of 0.
        file: the file of a journal for this conversation alone, readable by its owner only. The JSON of `state_dict`
            is taken up, and kept as "FILE.old".
        journal: the journal, in place of a file.

    Raises:
        ConfigurationError: the file holds something else.
        JournalError: the journal cannot be used.
        OutputError: the file cannot be written.
    """

    def __init__(
        self, module: Module, session_id: Hashable = 0, file: Path | None = None, journal: Journal | None = None
    ) -> None:
        self.module, self._name = module, "chat" if session_id == 0 else session_id
        self.session_id = session_id if file is None and journal is None else self._name
        self._turn = 0
        self.failed = 0
        self.usage = Usage()
        self.journal = journal if file is None else self._open(file)
        if self.journal is not None:
            self._catch_up(self.journal)

    def catch_up(self) -> bool:
        """Remember what was said in other processes; return whether the last turn was broken off: go on with it."""
        last = None if self.journal is None else self._catch_up(self.journal)
        return last is not None and last.status == "killed"

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

        Raises:
            RunAliveError: another process has a turn of this conversation at work, or was killed in one.
        """
        call = functools.partial(self.module, text, session_id=self.session_id)
        if self.journal is None:
            return self._answer(call, text, listeners, partial, approve)
        last = self._catch_up(self.journal)
        if last is not None and last.status == "killed":
            raise RunAliveError(
                f"the turn {last.id!r} of this conversation was broken off: go on with it first", last.id
            )
        if last is not None and last.status == "running":
            raise _elsewhere(last.id)
        self._turn += 1
        run_id = self._run_of(self._turn)
        call = functools.partial(call, journal=self.journal, run_id=run_id)
        try:
            return self._answer(call, text, listeners, partial, approve)
        except RunInputError:  # another process has begun a turn of this number just now
            self._turn = _UNKNOWN
            raise _elsewhere(run_id) from None

    def go_on(
        self,
        listeners: tuple[Listener, ...],
        partial: Callable[[], str],
        approve: Callable[[ApprovalRequest], object] | None = None,
    ) -> Message:
        """Go on with the turn that was broken off; see `ask`.

        Raises:
            JournalError: it cannot go on, as of a module with another name. Another turn may begin now.
        """
        assert self.journal is not None, "only a journal has turns that were broken off"
        run = self.journal.view(self._run_of(self._turn))
        text = " ".join(str(each.content) for each in run.input or ())
        resume = functools.partial(run.resume, self.module, accept_changes=True)
        try:
            return self._answer(resume, text, listeners, partial, approve)
        except TriviumError as error:
            if self.journal.view(run.id).info.status != "killed":
                raise
            self._give_up(self.journal, run, text)  # it was not taken up, nor would it be the next time
            raise JournalError(
                f"the turn {run.id!r} was broken off and cannot go on ({error}); ask again: {_shown(text)}", run.id
            ) from error

    def _answer(
        self,
        call: Callable[..., Message],
        text: str,
        listeners: tuple[Listener, ...],
        partial: Callable[[], str],
        approve: Callable[[ApprovalRequest], object] | None,
    ) -> Message:
        before, called = len(self.messages()), list[str]()

        def note(event: Event) -> None:
            if event.kind == "tool_call":
                called.append(event.data[0])

        def decide(request: ApprovalRequest) -> object:
            assert approve is not None, "it is given to nobody else"
            try:
                return approve(request)
            except BaseException:  # as Ctrl-C at the question: the call does not run
                if called[-1:] == [request.name]:
                    called.pop()
                raise

        try:
            return call(listeners=(note, *listeners), approve=self.module.approve or (approve and decide))
        except BaseException:
            self._close(before, text, partial(), called)
            raise

    def messages(self) -> list[Message]:
        """Return the messages so far."""
        memory = None if self.module.memory is None else self.module.memory.get(self.session_id)
        return [] if memory is None else memory.get_memory()

    def summary(self) -> str:
        """Return a line on a conversation that goes on, with its last question and answer; "" for a new one."""
        messages = [each for each in self.messages() if each.content and not each.tool_call_id]
        if not messages:
            return ""
        shown = "\n".join(_shown(f"{each.sender}: {each.content}") for each in messages[-2:])
        return f"The conversation of {len(messages)} messages goes on; the last were\n{shown}"

    def count(self, event: Event) -> None:
        """Add up the usage of all calls: a listener of the turns."""
        if event.usage is not None:
            self.usage += event.usage

    def reset(self) -> None:
        """Forget the conversation."""
        self.module.reset(self.session_id, recursive=True)
        turns = [] if self.journal is None else self._turns(self.journal)
        if self.journal is not None and turns:
            self._turn = self._keep(self.journal, "forgotten")  # first: numbers are not given again
            self.journal.forget([each.id for each in turns])

    def save(self, file: Path) -> None:
        """Copy the conversation into a journal of its own, as the file of a conversation; only its owner may read it.

        It may be saved there again when it has gone on.

        Raises:
            JournalError: the file holds something else.
            OutputError: it cannot be written, or has another conversation.
        """
        _make_private(file)
        with closing(Journal(file)) as journal:
            if self._turns(journal):
                self._check_beginning(journal, file)
            self._keep(journal, f"saved in {file.name}")

    def close(self) -> None:
        """Close the journal; the next use opens it again."""
        if self.journal is not None:
            self.journal.close()

    # ---- the turns in the journal
    def _run_of(self, turn: int) -> str:
        return f"{self._name}-{turn}"

    def _turns(self, journal: Journal) -> list[RunInfo]:
        """Return the runs of the turns, the first one first."""
        start = f"{self._name}-"
        found = [each for each in journal.runs() if each.id.startswith(start) and each.id[len(start) :].isdecimal()]
        return sorted(found, key=_number_of)

    def _catch_up(self, journal: Journal) -> RunInfo | None:
        """Remember what was said up to the last turn that is done, in whatever process; return the last turn."""
        turns = self._turns(journal)
        last = turns[-1] if turns else None
        number = 0 if last is None else _number_of(last)
        if number != self._turn:
            self._turn = number if last is None or last.status != "running" else _UNKNOWN
            self._restore(journal, turns, self.session_id)
        return last

    def _restore(self, journal: Journal, turns: Sequence[RunInfo], session_id: Hashable) -> None:
        """Have the module remember in a session what was said up to the last of these turns that is done."""
        if done := [each.id for each in turns if each.status == "done"]:
            journal.view(done[-1]).restore(_Kept(self.module, session_id))
        else:
            self.module.reset(session_id, recursive=True)

    def _check_beginning(self, journal: Journal, file: Path) -> None:
        """Check that a file holds nothing but a beginning of this conversation."""
        turns, there = self._turns(journal), object()
        self._restore(journal, turns, there)
        saved, now = self.module.state_dict(there), self.module.state_dict(self.session_id)
        self.module.reset(there, recursive=True)
        is_beginning = all(now.get(path, [])[: len(said)] == said for path, said in saved.items())
        if turns[-1].status != "done" or not is_beginning:
            raise OutputError(f"{file} has another conversation already: name a new file")

    def _give_up(self, journal: Journal, run: RunView, text: str) -> None:
        """Close a turn that was broken off and cannot go on: what it has called is told."""
        nodes = run.tree().walk()
        called = [each.name.removeprefix("tool:") for each in nodes if each.name.startswith("tool:")]
        if called and self.module.memory is not None:
            note = Message(content=_begun(called), sender=self.module.name)
            self.module.memory.open(self.session_id).add([*(run.input or ()), note])
        self._turn = self._keep(journal, text)

    def _close(self, before: int, text: str, partial: str, called: Sequence[str]) -> None:
        """Leave a history that can be continued: every question has an answer, and what was begun is told."""
        memory = None if self.module.memory is None else self.module.memory.get(self.session_id)
        if memory is None:
            return
        is_question = len(memory) == before + 1
        if is_question and called:  # results are remembered when all calls of an answer have theirs
            partial = f"{partial}\n{_begun(called)}" if partial else _begun(called)
        if partial.strip():
            memory.add(Message(content=partial, sender=self.module.name))
        elif is_question:
            memory.delete(-1)
        if self.journal is not None and len(memory) != before:
            self._turn = self._keep(self.journal, text, partial)

    def _keep(self, journal: Journal, text: str, answer: str = "") -> int:
        """Add a run that asks nothing and has what is remembered now; return its number."""
        turns = self._turns(journal)
        number = _number_of(turns[-1]) + 1 if turns else 1
        kept = _Kept(self.module, self.session_id, answer)
        kept(text, session_id=self._name, run_id=self._run_of(number), journal=journal)
        return number

    # ---- its file
    def _open(self, file: Path) -> Journal:
        _make_private(file)
        try:
            with file.open("rb") as opened:
                start = opened.read(len(_SQLITE))
                old = b"" if start in (b"", _SQLITE) else start + opened.read()
        except OSError as error:
            raise ConfigurationError(f"{file} cannot be read: {error.strerror}; name another file") from None
        if old:
            self._take_up(file, old)
        return Journal(file)

    def _take_up(self, file: Path, old: bytes) -> None:
        """Make a journal of the JSON of `state_dict`, and keep that beside it: at no moment is neither there."""
        try:
            _Kept(self.module, self.session_id).load_state_dict(json.loads(old))
        except (LookupError, ValueError, TypeError, AttributeError, StateError, RecursionError):
            raise ConfigurationError(f"{file} holds no conversation of this agent: name a new file") from None
        copy = file.with_name(f"{file.name}.old")
        try:
            with tempfile.TemporaryDirectory(dir=file.parent) as folder:
                made = Path(folder, "journal")
                self.save(made)
                with copy.open("xb") as kept:
                    kept.write(old)
                os.replace(made, file)
        except FileExistsError:
            raise OutputError(
                f"{file} is taken up as a journal, and kept as {copy.name}, which is there already: move that away"
            ) from None
        except OSError as error:
            raise OutputError(f"{file} cannot be taken up as a journal: {error.strerror}; name a new file") from None


class _Kept(Module):
    """Asks nothing: a run of it has what another module remembers of a session now, and is restored in that."""

    def __init__(self, module: Module, session_id: Hashable, answer: str = "") -> None:
        super().__init__("conversation")
        self._of, self._answer_text = (module, session_id), answer

    def forward(self, message: Message) -> str:
        """Return what was answered."""
        return self._answer_text

    def state_dict(self, session_id: Hashable = 0) -> dict[str, list[dict[str, Any]]]:
        """Return what the other module remembers."""
        module, own = self._of
        return module.state_dict(own)

    def load_state_dict(self, state: Mapping[str, Sequence[Any]], session_id: Hashable = 0) -> None:
        """Have the other module remember it; where it said nothing under its name, it had another one."""
        module, own = self._of
        saved = (cast("dict[str, Any]", each) for each in state.get("memory", ()) if isinstance(each, dict))
        said = [each for each in saved if not (each.get("entity") or each.get("tool_call_id"))]
        answers = [each for each in said if each.get("sender") != "user"]
        if module.name not in [each.get("sender") for each in answers]:  # as that of its model
            for each in answers:
                each["sender"] = module.name
        module.load_state_dict(state, own)


def _shown(text: str) -> str:
    line = safe_line(text)
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def _begun(called: Sequence[str]) -> str:
    return f"(broken off after calling {', '.join(called)}: this may have had its effect)"


def _elsewhere(run_id: str) -> RunAliveError:
    text = f"another process has the turn {run_id!r} of this conversation at work: ask again when that is answered"
    return RunAliveError(text, run_id)


def _number_of(turn: RunInfo) -> int:
    return int(turn.id.rpartition("-")[2])


def _make_private(file: Path) -> None:
    """Create a file that only its owner may read, if there is none.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError as error:
        raise OutputError(f"{file} cannot be written: {error.strerror}; name another file") from None
