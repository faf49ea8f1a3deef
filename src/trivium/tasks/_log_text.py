"""The log of a task as lines for people, and as rows of a table."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from trivium.hooks import escape_controls
from trivium.schema import ChatDocLoggerFields, Message

__all__ = ["TSV_HEAD", "Entry", "render_line", "render_row"]

TSV_HEAD: Final = f" \tTask\tResponder\t{ChatDocLoggerFields.tsv_header()}\n"
_COLORS: Final = {"LLM": "34", "User": "32", "Agent": "33", "System": "35"}  # what is none of them is a sub-task


class Entry(NamedTuple):
    """One response, or a note about a run, and its place in the runs.

    Args:
        at: the runs of tasks around it, each a number below the one before: "9f2c/1".
        task: the name of the task.
        responder: the name of the responder; of a note its kind, "begin", "end" or "warning".
        message: its response; None: it had none.
        when: the time.
        could_respond: False where the responder was passed over.
        is_result: it is the outcome of the step.
        is_given: the task was called with it.
        note: the text of a note.
    """

    at: str
    task: str
    responder: str
    message: Message | None
    when: datetime
    could_respond: bool = True
    is_result: bool = False
    is_given: bool = False
    note: str | None = None

    @property
    def mark(self) -> str:
        """A star for the outcome of a step."""
        return "*" if self.is_result else " "

    @property
    def content(self) -> str:
        """The text of the message, or a note that the responder was passed over."""
        if self.message is not None:
            return "" if self.message.content is None else str(self.message.content)
        return "" if self.could_respond else "[CANNOT RESPOND]"


def render_row(entry: Entry) -> str:
    """Return the entry as a row below `TSV_HEAD`, no value of which contains a tab or a line break; "" for a note."""
    if entry.note is not None:
        return ""
    fields = "\t" * 6 + entry.content if entry.message is None else escape_controls(entry.message.tsv_str())
    return "\t".join((entry.mark, _cell(entry.task), _cell(entry.responder), fields)) + "\n"


def render_line(entry: Entry, color: bool = False) -> str:
    """Return the entry for people. Further lines of its text are indented, so that none looks like an entry."""
    time = f"{entry.when:%H:%M:%S} {'  ' * entry.at.count('/')}"
    if entry.note is not None:
        sign, verb = {"begin": (">", " begins"), "end": ("<", " ends")}.get(entry.responder, ("!", ""))
        return f"{sign} {time}{_cell(entry.task + verb)} | {_cell(entry.note)}\n"
    about = [entry.task, entry.responder, *(_about(entry.message) if entry.message else ())]
    start = time + " | ".join(_cell(each) for each in about if each)
    if color:
        start = f"\x1b[{_COLORS.get(entry.responder, '36')}m{start}\x1b[0m"
    calls = [call.arguments for call in entry.message.tool_calls if call.id] if entry.message else []
    said = "\n".join(each for each in (entry.content, *calls) if each)
    text = f"{entry.mark} {start}" + (f" | {escape_controls(said)}" if said else "")
    return text.replace("\n", "\n    ") + "\n"


def _cell(text: str) -> str:
    return " ".join(escape_controls(text).split())


def _about(message: Message) -> tuple[str, ...]:
    """Return the sender and receiver, the blocked responder, and the called tool."""
    fields = message.log_fields()
    who = f"{fields.sender_entity}({fields.sender_name})" if fields.sender_name else str(fields.sender_entity)
    return (
        f"{who} => {fields.recipient}" if fields.recipient else who,
        f"not {fields.block}" if fields.block else "",
        f"{fields.tool_type} {fields.tool}".strip(),
    )
