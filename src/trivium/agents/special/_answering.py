"""An answer as it grows: each statement is checked against what was read before anybody sees it."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import Final

from trivium.agents.special._citations import Citation, DocAnswer, reference_list
from trivium.agents.special._reading import Reading, Span
from trivium.commander import driver_neutral
from trivium.llms import Delta, ModelProtocol, Reasoning, Request, ToolCallPart
from trivium.llms.lowlevel import WrappedModel, deltas_of

__all__ = ["Answering", "CitingModel"]

_MARK: Final = re.compile(r"[ \t]*(?<!\w)\[\d{1,4}(?:\s*[,;–-]\s*\d{1,4})*\]")  # a[0] is none
_STATEMENT: Final = re.compile(
    r"[^\n]*?[.!?。！？][\"'”’)*_`]*(?:[ \t]*\[\d[\d,; –-]*\])*[ \t]+(?=[^\s\[])"  # a sentence that another follows
    r"|[^\n]*\n\s*"
)
_LONGEST: Final = 4000  # without a border: it is given out as it is
_ENDING: Final = re.compile(r"[.!?:。！？]?[\"'”’)*_`]*$")
_FENCE: Final = "```"
_CALL: Final = re.compile(r"[{<]")
_REFUSAL: Final = re.compile(
    r"\b(?:do(?:es)? not|don't|doesn't|is not|are not|isn't|no)\b[^.]{0,40}"
    r"\b(?:mention|provid|specif|contain|state|say|tell|answer|information|enough|found|address)"
    r"|DO[ -]NOT[ -]KNOW|NOT FOUND",
    re.IGNORECASE,
)


class Answering:
    """Reads what a model writes, statement by statement, and gives out what may be shown.

    Nothing is given out before a statement is held by what was read. A mark is put behind each that is, numbered in the
    order of the answer, and the model's own marks are taken out. What is held by nothing stays unmarked; it is left out
    where it has a number or a name that stands nowhere in what was read.

    Args:
        reading: what the model reads.
        question: what is asked.
        no_answer: what is said where nothing is held; "" where there is more to know than the documents, so that what
            is held by nothing may stand alone.
        references: whether the list of places is put below.
        is_call: tells a text that calls a tool; None where there is no tool that is called so.

    Attributes:
        written: what the model wrote.
        given: what was shown.
    """

    def __init__(
        self,
        reading: Reading,
        question: str,
        no_answer: str,
        references: bool = True,
        is_call: Callable[[str], bool] | None = None,
    ) -> None:
        self._reading, self._question, self._no_answer = reading, question, no_answer
        self._references, self._is_call = references, is_call
        self.written, self.given = "", ""
        self._rest = ""  # of what was written: what is no whole statement yet
        self._space = ""  # behind the last statement: it is shown when another follows
        self._held: list[str] = []
        self._is_code = False
        self._numbers: dict[Span, int] = {}  # for a place that was read the number of its citation

    def feed(self, piece: str) -> str:
        """What can be shown now that this piece has come."""
        self.written += piece
        self._rest += piece
        if self._is_call is not None and _CALL.search(self.written):
            return ""
        return self._give("".join(map(self._said, self._statements())))

    def end(self) -> str:
        """What is left to show at the end of the text."""
        if self._is_call is not None and self._is_call(self.written):
            return self.give_up()
        if not any(map(str.isalnum, _MARK.sub("", self.written))):  # numbers alone: their sentences are the answer
            named = {each: self._reading.sentence(each) for each in _numbers(self.written)}
            self._rest = " ".join(f"{text} [{number}]" for number, text in named.items() if text)
        shown = "".join(map(self._said, [*self._statements(), self._rest]))
        self._rest = ""
        if not self._numbers and self._no_answer:
            self._held.clear()
            return self._give(self._no_answer)
        shown = (shown + "".join(self._held)).rstrip()
        self._held.clear()
        if self._numbers and self._references:
            shown += f"\n\n{reference_list(self.citations)}"
        return self._give(shown)

    def give_up(self) -> str:
        """What the model wrote and nobody has seen: it calls a tool, so this is no answer."""
        held, self._rest = "".join([*self._held, self._space, self._rest]), ""
        self._held.clear()
        return self._give(held)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The places of what was marked."""
        return tuple(self._reading.citation(span, number) for span, number in self._numbers.items())

    @property
    def answer(self) -> DocAnswer:
        """The whole answer, once it has ended."""
        text = self.given
        if self._numbers and self._references:
            text = text.removesuffix(reference_list(self.citations)).rstrip()
        return DocAnswer(question=self._question, answer=text, found=bool(self._numbers), citations=self.citations)

    def _give(self, text: str) -> str:
        self.given += text
        return text

    def _statements(self) -> Iterator[str]:
        """What is whole of the rest, statement by statement, each with the space behind it."""
        while (found := _STATEMENT.match(self._rest)) is not None:
            self._rest = self._rest[found.end() :]
            yield found.group()
        if len(self._rest) > _LONGEST:
            whole, self._rest = self._rest, ""
            yield whole

    def _said(self, part: str) -> str:
        """A statement as it is shown: with its marks, or held back until one is held. Space behind it waits."""
        text = part.rstrip()
        space = part[len(text) :]
        is_fence = text.lstrip().startswith(_FENCE)
        self._is_code ^= is_fence
        checked = text if is_fence or self._is_code else self._marked(text)
        if checked:
            self._held.append(self._space + checked)
            self._space = space
        elif self._space:  # behind what is left out the paragraph still ends
            self._space = max(self._space, space, key=lambda each: each.count("\n"))
        if not self._numbers:
            return ""
        shown = "".join(self._held)
        self._held.clear()
        return shown

    def _marked(self, text: str) -> str:
        named = _numbers(text)
        plain = _MARK.sub("", text).strip()
        if not any(map(str.isalnum, plain)):
            return plain
        holders = [each for each in self._reading.holds(plain, named) if self._reading.is_about(each)]
        if not holders:
            is_wrong = self._no_answer and (_REFUSAL.search(plain) or self._reading.invents(plain))
            return "" if is_wrong else plain
        marks = "".join(f"[{self._numbers.setdefault(each, len(self._numbers) + 1)}]" for each in holders)
        ending = _ENDING.search(plain)
        at = len(plain) if ending is None else ending.start()
        return f"{plain[:at]} {marks}{plain[at:]}"


def _numbers(text: str) -> list[int]:
    """The numbers in the marks of a text."""
    return [int(each) for mark in _MARK.findall(text) for each in re.findall(r"\d+", mark)]


class CitingModel(WrappedModel):
    """A model whose answers are checked as they come; calls of tools pass.

    Args:
        model: who is asked.
        answering: makes what reads an answer to a request.

    Attributes:
        answering: what read the last answer.
    """

    def __init__(self, model: ModelProtocol, answering: Callable[[Request], Answering]) -> None:
        super().__init__(model)
        self._new_answering = answering
        self.answering: Answering | None = None

    @driver_neutral
    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Ask the model, and yield what of its answer may be shown."""
        answering = self.answering = self._new_answering(request)
        calls, ending = False, list[Delta]()
        async with aclosing(deltas_of(self._model, request)) as deltas:
            async for delta in deltas:
                calls = calls or isinstance(delta, ToolCallPart)
                if isinstance(delta, str):  # "" too, as a sign of life
                    yield answering.feed(delta)
                elif isinstance(delta, ToolCallPart | Reasoning):
                    yield delta
                else:
                    ending.append(delta)
        yield answering.give_up() if calls else answering.end()
        for delta in ending:
            yield delta
