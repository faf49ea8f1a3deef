"""The check of an answer while it streams: each statement is compared with the documents before anybody sees it."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from itertools import starmap
from math import exp
from typing import Final, NamedTuple

from trivium.agents.special._citations import Citation, DocAnswer, reference_list, without_reference_list
from trivium.agents.special._reading import Reading, Span
from trivium.commander import driver_neutral
from trivium.llms import Delta, Logprobs, ModelProtocol, Reasoning, Reply, Request, TokenLogprob, ToolCallPart
from trivium.llms.lowlevel import WrappedModel, Written, deltas_of
from trivium.schema import Usage

_MARK: Final = re.compile(r"[ \t]*(?<!\w)\[\d{1,4}(?:\s*[,;–-]\s*\d{1,4})*\]")  # but not a[0]
_MARKS: Final = rf"(?:[ \t]+(?:sentence|passage|source|line)s?)?{_MARK.pattern}(?:(?:,| and| or){_MARK.pattern})*\)?"
_NAMED: Final = re.compile(  # the phrase that names a source by its mark; without the mark it says nothing
    rf"(?:(?:^|,?[ \t]+\(?)(?:(?:according to|as (?:stated|described|mentioned|shown) in|based on){_MARKS}"
    rf"|see{_MARKS}(?![ \t]*\w|,[ \t]*\[))"  # but not "see [1] for the rent"
    rf"|^{_MARK.pattern} (?:says|states|mentions|shows)(?: that)?),?(?P<space>[ \t]*)",
    re.IGNORECASE,
)
_END: Final = re.compile(  # of a sentence that another follows on its line, with the marks behind it; of a line
    r"([.!?。！？]+[\"'”’)*_`]*)((?:[ \t]*\[\d[\d,; –-]*\])*)[ \t]+(?=[^\s\[]\S*\s)|\n\s*"
)
_BEFORE: Final = re.compile(r"(?:(\w+)\s+)?([\w.]+)\Z")  # a word, and the one that ends with a full stop
_PREFIX: Final = re.compile(
    r"approx|art|bspw|bzw|ca|dott|dr|e\.g|evtl|excl|exkl|fig|ggf|hr|i\.e|incl|inkl|kap|messrs|mlle|mme|mr|mrs|ms|nr|prof"
    r"|sig|sog|sr|sra|st|vgl|vs|zzgl"
)
"""Abbreviations that stand before what they belong to; others, such as "p.a." and "Inc.", may end a sentence."""
_NUMBERED: Final = re.compile("abs|apr|aug|bd|dec|feb|jan|jul|jun|mar|nos?|nov|oct|pp?|s|sept?|vol")
"""Abbreviations that stand before numbers."""
_ORDINAL: Final = re.compile(r"(?:am|beim|das|de[mnrs]|die|im|jede[mnrs]?|vom|zum)\Z")
"""Words of German behind which a number with a full stop is an ordinal."""
_MONTH: Final = re.compile(
    r"(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|January|February|March"
    r"|May|June|July|October|December|[Jj]anvier|[Ff]évrier|[Mm]ars|[Aa]vril|[Jj]uin|[Jj]uillet|[Aa]oût|[Dd]écembre)\b"
)
_LONGEST: Final = 4000  # characters without the end of a statement, which are then checked as one
_ENDING: Final = re.compile(r"[.!?:。！？]?[\"'”’)*_`]*(?:[ \t]*\|)?$")  # of a sentence or a row
_RULE: Final = re.compile(r"\|[ \t:|]*-[ \t:|-]*(?:\n|\Z)")  # the line below the header of a table
_RULE_BEGUN: Final = re.compile(r"(?:\|[ \t:|-]*)?")
_FENCE: Final = "```"
_CALL: Final = re.compile(r"[{<]")
_REFUSAL: Final = re.compile(
    r"\b(?:do(?:es)? not|don't|doesn't|is not|are not|isn't|no)\b[^.]{0,40}"
    r"\b(?:mention|provid|specif|contain|state|say|tell|answer|information|enough|found|address)"
    r"|DO[ -]NOT[ -]KNOW|NOT FOUND",
    re.IGNORECASE,
)
_IS_IT: Final = "Is this answer correct? Reply yes or no."
_LIKELIEST: Final = 10
_SURE: Final = 0.67
"""The least probability of a yes. Of 71 questions of `benchmarks/knowledge` that serve to choose settings, the embedded
1.5B is less sure of 7 answers, none of which is right, and surer of 27, of which 23 are."""


class AnswerCheck:
    """Reads the answer of a model, statement by statement, and returns the text that may be shown.

    No text is shown before a statement is supported by the documents. A mark is put behind each that is, numbered in
    the order of the answer, and the model's own marks are removed. A statement without support stays unmarked; it is
    left out if it has a number or a name that is in no sentence that the model read.

    Args:
        reading: the sentences that the model reads.
        question: the question.
        no_answer: the answer if nothing is supported; "" if there are other sources than the documents, so that
            statements may stand without support.
        references: put the list of sources below the answer.
        is_call: tests whether a text is a tool call; None: no tool is called by text.

    Attributes:
        no_answer: as above.
        written: the text of the model.
        shown: the text that was returned to be shown.
    """

    def __init__(
        self,
        reading: Reading,
        question: str,
        no_answer: str,
        references: bool = True,
        is_call: Callable[[str], bool] | None = None,
    ) -> None:
        self._reading, self._question, self.no_answer = reading, question, no_answer
        self._references, self._is_call = references, is_call
        self.written, self.shown = "", ""
        self._rest = ""  # of the written text: the part that is no complete statement yet
        self._space = ""  # behind the last statement: it is shown when another follows
        self._withheld: list[str] = []
        self._is_code = False  # the last line is in a block of code
        self._items, self._sign = 0, ""  # of a numbered list: the items, and the number before the next statement
        self._numbers: dict[Span, int] = {}  # the number of the citation for each span

    def feed(self, piece: str) -> str:
        """Add a piece of the answer; return the text that can now be shown."""
        self.written += piece
        self._rest += piece
        if self._is_call is not None and _CALL.search(self.written):
            return ""
        return self._show("".join(starmap(self._check, self._statements())))

    def end(self) -> str:
        """End the answer; return the rest of the text to show."""
        if self._is_call is not None and self._is_call(self.written):
            return self.release()
        if not any(map(str.isalnum, _MARK.sub("", self.written))):  # numbers alone: their sentences are the answer
            named = {each: self._reading.sentence(each) for each in _numbers(self.written)}
            self._rest = " ".join(f"{text} [{number}]" for number, text in named.items() if text)
        shown = "".join(starmap(self._check, [*self._statements(is_last=True), (self._rest, False)]))
        self._rest = ""
        if not self._numbers and self.no_answer:
            self._withheld.clear()
            return self._show(self.no_answer)
        shown = (shown + "".join(self._withheld)).rstrip()
        self._withheld.clear()
        if self._numbers and self._references:
            shown += f"\n\n{reference_list(self.citations)}"
        return self._show(shown)

    def release(self) -> str:
        """Return all that was not shown, unchecked: the model calls a tool, so that its text is no answer."""
        withheld, self._rest = "".join([*self._withheld, self._space, self._rest]), ""
        self._withheld.clear()
        return self._show(withheld)

    @property
    def may_be_withdrawn(self) -> bool:
        """Whether the documents support the answer, and nothing else may."""
        return bool(self._numbers and self.no_answer)

    def withdraw(self) -> None:
        """Take the answer back, of which nobody has seen anything: it is `no_answer`."""
        self._numbers.clear()
        self.shown = self.no_answer

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The citations of the marks."""
        return tuple(self._reading.citation(span, number) for span, number in self._numbers.items())

    @property
    def answer(self) -> DocAnswer:
        """The complete answer, once it has ended."""
        text = self.shown
        if self._numbers and self._references:
            text = text.removesuffix(reference_list(self.citations)).rstrip()
        return DocAnswer(question=self._question, answer=text, found=bool(self._numbers), citations=self.citations)

    def mark(self, statement: str, is_header: bool = False) -> str:
        """Return a statement with the marks of the places that support it; "" if it is to be left out.

        The header of a table states nothing, and gets no marks.
        """
        named = _numbers(statement)
        plain = self._reading.without_place(_without_marks(statement))
        if not any(map(str.isalnum, plain)):
            return plain
        # A sentence that is copied as it was shown, number first, supports itself: it is no better than a number alone.
        is_fit = self._reading.is_asked_for if _MARK.match(statement) else self._reading.is_relevant
        found = () if is_header else self._reading.supporting_spans(plain, named)
        spans = [each for each in found if is_fit(each)]
        if not spans:
            is_wrong = self.no_answer and (_REFUSAL.search(plain) or self._reading.has_unknown_terms(plain))
            return "" if is_wrong else plain
        marks = "".join(f"[{self._numbers.setdefault(each, len(self._numbers) + 1)}]" for each in spans)
        ending = _ENDING.search(plain)
        at = len(plain) if ending is None else ending.start()
        return f"{plain[:at]} {marks}{plain[at:]}"

    def _show(self, text: str) -> str:
        self.shown += text
        return text

    def _statements(self, is_last: bool = False) -> Iterator[tuple[str, bool]]:
        """Take the complete statements from the rest, each with the space behind it, and whether it heads a table."""
        while self._rest and (end := _end(f"{self._rest}\n" if is_last else self._rest)):
            statement, rest = self._rest[:end], self._rest[end:]
            is_row = statement.lstrip().startswith("|")
            if is_row and not is_last and _RULE_BEGUN.fullmatch(rest):
                return  # the next line tells whether it is a header
            self._rest = rest
            yield statement, is_row and _RULE.match(rest) is not None
        if len(self._rest) > _LONGEST:
            statement, self._rest = self._rest, ""
            yield statement, False

    def _check(self, part: str, is_header: bool) -> str:
        """Return the text to show after one more statement; it is withheld until any is supported."""
        text = part.rstrip()
        space = part[len(text) :]
        if not text:  # the rest of a space that came in two pieces
            self._space += space if self._space else ""
            return ""
        is_fence = text.lstrip().startswith(_FENCE)
        self._is_code ^= is_fence
        if text.strip() == f"{self._items + 1}.":
            self._items, self._sign = self._items + 1, part
            return ""
        checked = text if is_fence or self._is_code else self.mark(text, is_header)
        if checked:
            self._withheld.append(self._space + self._sign + checked)
            self._space, self._sign = space, ""
        elif self._space:  # behind a statement that is left out the paragraph still ends
            self._space = max(self._space, space, key=lambda each: each.count("\n"))
        if not self._numbers:
            return ""
        shown = "".join(self._withheld)
        self._withheld.clear()
        return shown


def _end(text: str) -> int:
    """Return the offset behind the first statement of a text; 0 if none is complete."""
    ends = (found.end() for found in _END.finditer(text) if found[1] != "." or found[2] or not _goes_on(text, found))
    return next(ends, 0)


def _goes_on(text: str, found: re.Match[str]) -> bool:
    """Tell that a full stop ends no statement: what it ends belongs to what follows, as in "Dr. Bell" and "31. Mai"."""
    following = text[found.end()]
    before = _BEFORE.search(text, max(0, found.start() - 40), found.start())
    if following.islower() or before is None:
        return following.islower()
    word = before[2].lower()
    if word.isdigit() and len(word) <= 2:
        return bool(_MONTH.match(text, found.end()) or (before[1] and _ORDINAL.match(before[1].lower())))
    is_initial = len(word) == 1 and word.isalpha() and word != "i"
    return bool(_PREFIX.fullmatch(word) or is_initial or (_NUMBERED.fullmatch(word) and following.isdigit()))


def _without_marks(statement: str) -> str:
    plain = _MARK.sub("", _NAMED.sub(lambda found: found["space"] if found.start() else "", statement)).strip()
    return plain[:1].upper() + plain[1:] if _NAMED.match(statement) else plain


def _numbers(text: str) -> list[int]:
    """Return the numbers in the marks of a text."""
    return [int(each) for mark in _MARK.findall(text) for each in re.findall(r"\d+", mark)]


class CitingModel(WrappedModel):
    """A model whose answers are checked while they stream; tool calls pass.

    Args:
        model: the model.
        new_check: makes the check of the answer to chat messages.
        confirm: show an answer only once the model has said that it is correct.

    Attributes:
        check: the check of the last reply that was noted.
    """

    check: AnswerCheck

    def __init__(
        self,
        model: ModelProtocol,
        new_check: Callable[[Sequence[Mapping[str, object]]], AnswerCheck],
        confirm: bool = False,
    ) -> None:
        super().__init__(model)
        self._new_check, self._confirm = new_check, confirm
        self._streamed: AnswerCheck | None = None

    def note(self, messages: Sequence[Mapping[str, object]], reply: Reply) -> None:
        """Note the check of a reply; one that did not stream, since a journal had it, is checked now."""
        check, self._streamed = self._streamed, None
        if check is None:
            check = self._new_check(messages)
            check.feed(reply.written or without_reference_list(reply.text))  # older journals have what was shown
            _ = check.release() if reply.tool_calls else check.end()
            if check.may_be_withdrawn and reply.text == check.no_answer:
                check.withdraw()
        self.check = check

    @driver_neutral
    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Send the request to the model, and yield the parts of its answer that may be shown."""
        check = self._streamed = self._new_check(request.messages)
        calls, ending = False, list[Delta]()
        async with aclosing(deltas_of(self._model, request)) as deltas:
            async for delta in deltas:
                calls = calls or isinstance(delta, ToolCallPart)
                if isinstance(delta, str):  # "" too, as a sign of life
                    piece = check.feed(delta)
                    yield "" if self._confirm else piece
                elif isinstance(delta, ToolCallPart | Reasoning):
                    yield delta
                else:
                    ending.append(delta)
        rest = check.release() if calls else check.end()
        if self._confirm and check.may_be_withdrawn:
            asked = await self._ask(request, check.written)
            ending = [each + asked.usage if isinstance(each, Usage) else each for each in ending]
            if asked.probability < _SURE:
                check.withdraw()
        yield check.shown if self._confirm else rest
        if check.shown != check.written:
            yield Written(check.written)
        for delta in ending:
            yield delta

    async def _ask(self, request: Request, written: str) -> _Yes:
        """Ask the model whether its answer is correct."""
        messages = [*request.messages, {"role": "assistant", "content": written}, {"role": "user", "content": _IS_IT}]
        parameters = {**request.parameters, "temperature": 0, "max_tokens": 1, "logprobs": _LIKELIEST}
        text, tokens, usage = "", list[TokenLogprob](), Usage()
        async with aclosing(deltas_of(self._model, Request(messages, parameters=parameters))) as deltas:
            async for delta in deltas:
                if isinstance(delta, str):
                    text += delta
                elif isinstance(delta, Logprobs):
                    tokens += delta.tokens
                elif isinstance(delta, Usage):
                    usage += delta
        top = tokens[0].top if tokens else ((text, 0.0),)
        yes, no = (sum(exp(log) for each, log in top if each.strip().lower() == word) for word in ("yes", "no"))
        return _Yes(yes / (yes + no) if yes or no else 1.0, usage)


class _Yes(NamedTuple):
    """The probability with which a model says yes, and what asking it took."""

    probability: float
    usage: Usage
