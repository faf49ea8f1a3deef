"""The screen: a listener that writes what happens in runs, as it happens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from trivium.actions import ToolCallEvent, ToolResultEvent
from trivium.commander import EndedEvent, Event, TaskNode
from trivium.exceptions import MissingExtraError
from trivium.llms import DeltaEvent, Reasoning
from trivium.schema import Entity, Message
from trivium.terminal._words import call_text, cut, result_text, shown

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Screen"]

COLOURS = {"agent": "red", "llm": "green", "user": "blue", "system": "magenta"}
"""The colour of each role, as in Langroid."""
_FOLDED = 20
"""Lines of a tool's result that are shown unfolded."""


class ToolUse(NamedTuple):
    """A call of a tool, and what came of it."""

    call: str
    result: str
    has_failed: bool


class Screen:
    """Shows runs on a terminal: what models say as it comes, tool calls with their results, what a task decides.

    Give it as a listener to any call. A model's answer is written piece by piece; where several answer at once, the
    others come whole when they are complete. A tool call is one line until `unfold` is set. Without colours
    (`NO_COLOR`, a dumb terminal, a pipe) the same text is written plainly.

    Args:
        console: a `rich` console to write to; default: stdout.
        unfold: show arguments and results of tools in full.

    Attributes:
        tools: the tool calls that were shown, oldest first.
        partial: what the model has said of an answer that has not come to its end, or was cut off.

    Raises:
        MissingExtraError: `rich` is not installed; it comes with the extra "cli".

    Example::

        task.run("Find the rent.", listeners=[Screen()])
    """

    def __init__(self, console: Console | None = None, *, unfold: bool = False) -> None:
        if console is None:
            try:
                from rich.console import Console
            except ImportError:
                raise MissingExtraError("rich", "cli") from None
            console = Console(highlight=False, soft_wrap=True, emoji=False)
        self.console, self.unfold = console, unfold
        self._lock = Lock()
        self.tools: list[ToolUse] = []
        self._live: TaskNode | None = None  # whose answer is written piece by piece
        self._waiting: list[Callable[[], None]] = []  # what is written when its line has ended
        self._texts: dict[TaskNode, str] = {}
        self._cut = ""  # what an answer had said that was cut off
        self._calls: dict[TaskNode, str] = {}
        self._said: list[str] = []  # what models have said since a person spoke
        self._is_answered = False  # whether a model has spoken since a task's last step
        self._is_at_start = True
        self._thinks = False

    @property
    def partial(self) -> str:
        """What the model has said of an answer that has not come to its end, or was cut off."""
        return self._cut if self._live is None else self._texts.get(self._live, "")

    # ---- listening
    def __call__(self, event: Event[Any]) -> None:
        """Take one event; they come from any thread."""
        with self._lock:
            self._take(event)

    def _take(self, event: Event[Any]) -> None:
        if isinstance(event, DeltaEvent):
            self._take_delta(event.node, event.data)
        elif isinstance(event, ToolCallEvent):
            self._calls[event.node] = call_text(*event.data)
        elif isinstance(event, ToolResultEvent):
            self._end_tool(event.node, result_text(event.data), False)
        elif isinstance(event, EndedEvent):
            self._take_end(event.node, event.data)
        elif event.kind == "response" and event.data.is_result:
            self._take_response(event.data.responder, event.data.message)

    def _take_delta(self, node: TaskNode, delta: Any) -> None:
        thinks = isinstance(delta, Reasoning)
        text = delta.text if thinks else delta
        if not isinstance(text, str) or not text:
            return
        before = self._texts.get(node, "")
        if self._live is None:
            self._live = node
            self.label(_speaker(node), "llm")
            self._write(before)  # of one that had to wait
        if not thinks:
            self._texts[node] = before + text
        if self._live is node:
            if self._thinks and not thinks:
                self.end_line()
            self._thinks = thinks
            self._write(text, "dim" if thinks else "")

    def _take_end(self, node: TaskNode, error: BaseException | None) -> None:
        if error is not None and node in self._calls:
            self._end_tool(node, f"{error}" or type(error).__name__, True)
        text = self._texts.pop(node, None)
        if node is self._live:
            self._live, self._thinks = None, False
            self._cut = (text or "") if error is not None else ""
            self.end_line()
            self._write_waiting()
        elif text is not None and error is None:
            self._when_free(lambda: self.say(_speaker(node), text, "llm"))
        if text is not None:
            self._said.append(text.strip())
            self._is_answered = True

    def _take_response(self, responder: str, message: Message | None) -> None:
        if message is None or responder == Entity.USER or not isinstance(message.content, str):
            return
        is_of_a_model = self._is_answered and responder != Entity.AGENT
        is_of_a_model = is_of_a_model or (
            responder not in tuple(Entity) and bool(self._said)
        )  # who is below has said it
        self._is_answered = False
        if is_of_a_model or message.content.strip() in ("", *self._said):
            return  # it stands there, as the model wrote it
        role = "llm" if responder == Entity.LLM else "agent"
        self._said.append(message.content.strip())
        speaker = message.sender if responder in tuple(Entity) else responder
        self._when_free(lambda: self.say(speaker, message.content, role))

    def _end_tool(self, node: TaskNode, result: str, has_failed: bool) -> None:
        use = ToolUse(self._calls.pop(node, node._name), result, has_failed)
        self.tools.append(use)
        self._said.append(result.strip())
        self._when_free(lambda: self._write_tool(use))

    def _write_tool(self, use: ToolUse) -> None:
        self.end_line()
        for line in self._tool_lines(use):
            self._write(f"{line}\n", "red" if use.has_failed else "dim")

    def _tool_lines(self, use: ToolUse) -> Iterator[str]:
        mark, arrow = ("⚙", "→") if self._can_write("⚙→…│") else ("*", "->")
        if not self.unfold:
            width = max(20, self.console.width - 4)
            call = cut(use.call, width * 2 // 3)
            yield f"  {mark} {cut(f'{call} {arrow} {use.result}', width - 1)}"
            return
        yield f"  {mark} {use.call}"
        lines = use.result.splitlines() or [""]
        yield from (f"    {arrow if not at else ' '} {line}" for at, line in enumerate(lines))

    def _can_write(self, text: str) -> bool:
        try:
            text.encode(self.console.encoding)
        except (UnicodeEncodeError, LookupError):
            return False
        return True

    def _when_free(self, write: Callable[[], None]) -> None:
        """Write at once, or after the answer that is being written: nothing cuts its line."""
        if self._live is None:
            write()
        else:
            self._waiting.append(write)

    def _write_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for write in waiting:
            write()

    # ---- writing
    def label(self, name: str, role: str) -> None:
        """Begin a line with who speaks, in the colour of the role."""
        self.end_line()
        self._write(f"{name}: ", f"bold {COLOURS.get(role, '')}")

    def say(self, name: str, text: str, role: str) -> None:
        """Write what somebody has said."""
        self.label(name, role)
        self._write(text)
        self.end_line()

    def note(self, text: str, style: str = "dim") -> None:
        """Write a line that nobody has said."""
        self.end_line()
        self._write(f"{text}\n", style)

    def show(self, lines: Iterable[Any]) -> None:
        """Write what `rich` can print, each from the start of a line."""
        self.end_line()
        for each in lines:
            self.console.print(each, soft_wrap=True)

    def show_tools(self) -> None:
        """Write the tool calls since a person spoke last in full."""
        before, self.unfold = self.unfold, True
        for use in self.tools:
            self._write_tool(use)
        if not self.tools:
            self.note("no tool was called")
        self.unfold = before

    def heard(self) -> None:
        """A person has spoken: what comes now is new."""
        self._said.clear()
        self.tools.clear()
        self._cut = ""

    def stop(self) -> None:
        """Nothing more comes of what is under way."""
        self._live, self._thinks, self._cut = None, False, ""
        self._texts.clear()
        self._calls.clear()
        self.end_line()
        self._write_waiting()

    def end_line(self) -> None:
        """Go to the start of a line, if the cursor is not there."""
        if not self._is_at_start:
            self._write("\n")

    def has_said(self, text: str) -> bool:
        """Whether the text stands on the screen already."""
        return text.strip() in self._said

    def _write(self, text: str, style: str = "") -> None:
        from rich.text import Text

        text = shown(text)
        if text:
            self.console.print(Text(text, style), end="")
            self.console.file.flush()
            self._is_at_start = text.endswith("\n")


def _speaker(node: TaskNode) -> str:
    return node._parent._name if node._parent is not None else node._name
