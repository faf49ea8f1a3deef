"""The screen: a listener that writes runs to a terminal as they happen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from trivium.commander import EndedEvent, TaskNode
from trivium.events import Display, Event, safe_text
from trivium.exceptions import MissingExtraError
from trivium.schema import Entity
from trivium.terminal._words import cut

if TYPE_CHECKING:
    from rich.console import Console

    from trivium.events import RunEvent

COLOURS = {"agent": "red", "llm": "green", "user": "blue", "system": "magenta"}
"""The colour of each role, as in Langroid."""


class DisplayedCall(NamedTuple):
    """A tool call on the screen, with its result or its error."""

    call: str
    result: str
    has_failed: bool


class Screen:
    """A listener that displays runs: the words of models, tool calls with their results, the responses of tasks.

    A model's answer is written piece by piece; if several models answer at once, the other answers are written when
    they are complete. A tool call is one line until `unfold` is set. Retries, fallbacks and all other events of the
    level WARNING are a line each. Without colours (`NO_COLOR`, a dumb terminal, a pipe) the text is the same.

    Args:
        console: a `rich` console to write to; default: stdout.
        unfold: display arguments and results of tools in full.

    Attributes:
        tools: the tool calls that were displayed, oldest first.
        partial: the text so far of an answer that is not complete, or was cut off.

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
            console = Console(highlight=False, soft_wrap=True, emoji=False, force_jupyter=False)  # pieces, no boxes
        self.console, self.unfold = console, unfold
        self._lock = Lock()
        self.tools: list[DisplayedCall] = []
        self._live: TaskNode | None = None  # the model call whose answer is written piece by piece
        self._waiting: list[Callable[[], None]] = []  # to be written when the line of that answer has ended
        self._texts: dict[TaskNode, str] = {}
        self._cut = ""  # the text of an answer that was cut off
        self._calls: dict[TaskNode, str] = {}
        self._displayed: list[str] = []  # since the user's last input
        self._is_answered = False  # a model has answered since a task's last step
        self._stepping = set[str]()  # the tasks whose own steps were displayed
        self._is_at_start = True
        self._waits = False
        self._thinks = False
        self._shows: dict[str, Callable[[Event, Display], None]] = {
            "answer": self._write_delta, "thought": self._write_delta, "call": self._begin_tool,
            "result": self._end_tool, "response": self._write_response, "note": self._note,
        }  # fmt: skip

    @property
    def partial(self) -> str:
        """The text so far of an answer that is not complete, or was cut off."""
        return self._cut if self._live is None else self._texts.get(self._live, "")

    # ---- listening
    def __call__(self, event: RunEvent) -> None:
        """Accept one event, from any thread."""
        with self._lock:
            if isinstance(event, EndedEvent):
                self._end(event)
            elif (display := event.display()) is not None:
                self._shows[display.part](event, display)

    def _note(self, event: Event, display: Display) -> None:
        self._when_free(partial(self.note, display.text, "yellow"))

    def _begin_tool(self, event: Event, display: Display) -> None:
        self._calls[event.node] = display.text

    def _write_delta(self, event: Event, display: Display) -> None:
        node, thinks, text = event.node, display.part == "thought", display.text
        if not text:
            return
        before = self._texts.get(node, "")
        if self._live is None:
            self._live = node
            self.label(event.caller, "llm")
            self._write(before)  # of an answer that had to wait
        if not thinks:
            self._texts[node] = before + text
        if self._live is node:
            if self._thinks and not thinks:
                self.end_line()
            self._thinks = thinks
            self._write(text, "dim" if thinks else "")

    def _end(self, event: EndedEvent) -> None:
        node, error = event.node, event.data
        if error is not None and node in self._calls:
            self._end_tool(event, Display("result", f"{error}" or type(error).__name__), True)
        text = self._texts.pop(node, None)
        if node is self._live:
            self._live, self._thinks = None, False
            self._cut = (text or "") if error is not None else ""
            self.end_line()
            self._write_waiting()
        elif text is not None and error is None:
            self._when_free(partial(self.write_message, event.caller, text, "llm"))
        if text is not None:
            self._displayed.append(text.strip())
            self._is_answered = True

    def _write_response(self, event: Event, display: Display) -> None:
        _, text, responder, sender = display
        self._stepping.add(event.caller)
        if not text:
            return
        # A model's answer is on the screen as the model wrote it; so is that of a sub-task, by its own steps.
        is_written = (self._is_answered and responder != Entity.AGENT) or responder in self._stepping
        self._is_answered = False
        if is_written or text.strip() in ("", *self._displayed):
            return
        role = "llm" if responder == Entity.LLM else "agent"
        self._displayed.append(text.strip())
        self._when_free(partial(self.write_message, sender or responder, text, role))

    def _end_tool(self, event: Event, display: Display, has_failed: bool = False) -> None:
        use = DisplayedCall(self._calls.pop(event.node, event.name), display.text, has_failed)
        self.tools.append(use)
        self._displayed.append(display.text.strip())
        self._when_free(partial(self._write_tool, use))

    def _write_tool(self, use: DisplayedCall) -> None:
        self.end_line()
        mark, arrow = (_mark(*pair, self.console) for pair in (("⚙", "*"), ("→", "->")))
        if self.unfold:
            results = use.result.splitlines() or [""]
            lines = [f"  {mark} {use.call}", *(f"    {' ' if at else arrow} {line}" for at, line in enumerate(results))]
        else:
            width = max(20, self.console.width - 4)
            call = cut(use.call, width * 2 // 3)
            lines = [f"  {mark} {cut(f'{call} {arrow} {use.result}', width - 1)}"]
        for line in lines:
            self._write(f"{line}\n", "red" if use.has_failed else "dim")

    def _when_free(self, write: Callable[[], None]) -> None:
        """Write at once, or after the answer that is being written: nothing breaks its line."""
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
        """Begin a line with the name of the speaker, in the colour of the role."""
        self.end_line()
        self._write(f"{name}: ", f"bold {COLOURS.get(role, '')}")

    def write_message(self, name: str, text: str, role: str) -> None:
        """Write a message of a speaker."""
        self.label(name, role)
        self._write(text)
        self.end_line()

    def note(self, text: str, style: str = "dim") -> None:
        """Write a line of the program's own."""
        self.end_line()
        self._write(f"{text}\n", style)

    def show(self, lines: Iterable[object]) -> None:
        """Write objects that `rich` can print, each from the start of a line."""
        self.end_line()
        for each in lines:
            self.console.print(each, soft_wrap=True)

    def show_tools(self) -> None:
        """Write the tool calls since the user's last input in full."""
        before, self.unfold = self.unfold, True
        for use in self.tools:
            self._write_tool(use)
        if not self.tools:
            self.note("no tool was called")
        self.unfold = before

    def begin_turn(self) -> None:
        """Begin a new turn: forget the tool calls and the texts of the last one."""
        self._displayed.clear()
        self.tools.clear()
        self._cut = ""

    def wait(self) -> None:
        """Show that an answer is awaited, until the first text takes the place of the mark."""
        if self.console.is_terminal and not self.console.is_dumb_terminal:
            self._write(_mark("…", "...", self.console), "dim")
            self._is_at_start = self._waits = True  # the line will be free again

    def _end_waiting(self) -> None:
        if self._waits:
            from rich.control import Control
            from rich.segment import ControlType

            self._waits = False
            self.console.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2)))

    def stop(self) -> None:
        """End the answers and tool calls in progress, which were cancelled."""
        self._live, self._thinks, self._cut = None, False, ""
        self._texts.clear()
        self._calls.clear()
        self.end_line()
        self._write_waiting()

    def end_line(self) -> None:
        """Begin a new line, unless the cursor is at the start of one."""
        self._end_waiting()
        if not self._is_at_start:
            self._write("\n")

    def has_displayed(self, text: str) -> bool:
        """Return True if the text is on the screen already."""
        return text.strip() in self._displayed

    def _write(self, text: str, style: str = "") -> None:
        from rich.text import Text

        text = safe_text(text)
        if text:
            self._end_waiting()
            self.console.print(Text(text, style), end="")
            self.console.file.flush()
            self._is_at_start = text.endswith("\n")


def _mark(mark: str, plain: str, console: Console) -> str:
    """Return a mark, or plain characters on a terminal that knows only those."""
    try:
        "⚙→…│".encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return plain
    return mark
