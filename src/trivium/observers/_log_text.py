"""The log of a task as lines for people, and as rows of a table."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from trivium.events import escape_controls
from trivium.schema import ChatDocLoggerFields, Message

if TYPE_CHECKING:
    from trivium.tasks import Response

TSV_HEAD: Final = f" \tTask\tResponder\t{ChatDocLoggerFields.tsv_header()}\n"
_COLORS: Final = {"LLM": "34", "User": "32", "Agent": "33", "System": "35"}  # what is none of them is a sub-task


class Entry(NamedTuple):
    """One response, or a note about a run, and its place in the runs.

    Args:
        at: the runs of tasks around it, each a number below the one before: "9f2c/1".
        when: the time.
        response: the response; of a note its responder is the kind: "begin", "end" or "warning".
        is_given: the task was called with it.
        note: the text of a note.
    """

    at: str
    when: datetime
    response: Response
    is_given: bool = False
    note: str | None = None

    @property
    def content(self) -> str:
        """The text of the message, or a note that the responder was passed over."""
        message = self.response.message
        if message is not None:
            return "" if message.content is None else str(message.content)
        return "" if self.response.could_respond else "[CANNOT RESPOND]"


def render_row(entry: Entry) -> str:
    """Return the entry as a row below `TSV_HEAD`, no value of which contains a tab or a line break; "" for a note."""
    if entry.note is not None:
        return ""
    task, responder, message, _, is_result = entry.response
    fields = "\t" * 6 + entry.content if message is None else escape_controls(message.tsv_str())
    return "\t".join(("*" if is_result else " ", _cell(task), _cell(responder), fields))


def render_line(entry: Entry, color: bool = False) -> str:
    """Return the entry for people. Further lines of its text are indented, so that none looks like an entry."""
    time = f"{entry.when:%H:%M:%S} {'  ' * entry.at.count('/')}"
    task, responder, message, _, is_result = entry.response
    if entry.note is not None:
        sign, verb = {"begin": (">", " begins"), "end": ("<", " ends")}.get(responder, ("!", ""))
        return f"{sign} {time}{_cell(task + verb)} | {_cell(entry.note)}"
    about = [task, responder, *(_about(message) if message else ())]
    start = time + " | ".join(_cell(each) for each in about if each)
    if color:
        start = f"\x1b[{_COLORS.get(responder, '36')}m{start}\x1b[0m"
    calls = [call.arguments for call in message.tool_calls if call.id] if message else []
    said = "\n".join(each for each in (entry.content, *calls) if each)
    text = f"{'*' if is_result else ' '} {start}" + (f" | {escape_controls(said)}" if said else "")
    return text.replace("\n", "\n    ")


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
