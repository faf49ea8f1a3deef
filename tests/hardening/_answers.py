"""The thirty bad answers, each variant written once; and what each becomes.

What an answer becomes is one of the texts below, or the name of the error. Where a wire format differs, `otherwise`
says how: by the format's name, and "streamed" or "whole" behind it where only that differs.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ._said import ADD, LEFT_OUT, TEXT, Call, Http, Said, Way

__all__ = ["AGAIN", "BOTH", "CASES", "REPAIRED", "RUNS", "SHOWN", "Case"]

SHOWN: Final = "the text is the answer"
RUNS: Final = "the tool runs"
BOTH: Final = "both calls run"
REPAIRED: Final = "the model reads the error"
AGAIN: Final = "the request is retried"
MALFORMED: Final = "MalformedAnswerError"
EMPTY: Final = "EmptyAnswerError"
CUT: Final = "AnswerBrokeOffError"
STATUS: Final = "ProviderStatusError"
BUSY: Final = "ProviderBusyError"


@dataclass(frozen=True)
class Case:
    """A malformed response.

    Args:
        number: in the list of thirty.
        what: what the server sends, in words for the table.
        becomes: the outcome.
        said: the answer.
        way: what goes wrong on the way.
        otherwise: what becomes of it in some formats. A text that begins with "-" says why it does not apply there.
        text: the text that is the answer, where it is.
        runs: the arguments that the tool runs with.
        says: what the error's text, or the result that goes to the model, has in it.
        next_call: the model calls the tool in the next turn too, with this id.
    """

    number: int
    what: str
    becomes: str
    said: Said = field(default_factory=Said)
    way: Way | None = None
    otherwise: Mapping[str, str] = field(default_factory=dict[str, str])
    text: str = TEXT
    runs: tuple[tuple[Any, ...], ...] = ((1, 2),)
    says: str = ""
    next_call: str = ""

    def outcome(self, wire: str, streamed: bool) -> str:
        """What becomes of it in one wire format."""
        way = "streamed" if streamed else "whole"
        given = self.otherwise
        return given.get(f"{wire} {way}") or given.get(wire) or given.get(way) or self.becomes


FINE: Final = Said(text=TEXT)


def called(**changes: Any) -> Said:
    """One call of `add`."""
    return Said(calls=(Call(**changes),), finish="tool_calls")


def calls(first: Call, second: Call) -> Said:
    """Two calls of `add`, the second with other numbers."""
    return Said(calls=(first, second), finish="tool_calls")


OTHER: Final = '{"a": 3, "b": 4}'
TWICE: Final = ((1, 2), (3, 4))


def _nothing() -> Iterator[Case]:
    unmarked = {"Gemini streamed": AGAIN}  # it has no other mark of the end: the answer broke off
    yield Case(1, "`choices: []`", MALFORMED, Said(parts=[]), otherwise=unmarked)
    yield Case(2, "`choices: null`", MALFORMED, Said(parts=None), otherwise=unmarked)
    yield Case(3, "message null", MALFORMED, Said(message=None))
    yield Case(4, "content null and no tools", MALFORMED, Said(text=None))
    yield Case(5, 'content "" with finish stop', MALFORMED, Said(text=""))
    yield Case(5, "the same, with white space", EMPTY, Said(text=" \n\t "))


def _arguments() -> Iterator[Case]:
    fits = "the arguments of add do not fit"
    yield Case(6, 'arguments ""', REPAIRED, called(arguments=""), says="Field required")
    yield Case(6, 'arguments "", the tool wants none', RUNS, called(name="now", arguments=""), runs=((),))
    yield Case(7, "arguments null", REPAIRED, called(arguments=None), says="Field required")
    yield Case(7, "arguments null, the tool wants none", RUNS, called(name="now", arguments=None), runs=((),))
    cut = called(arguments=ADD[:9]).replace(finish="length")
    yield Case(8, "arguments truncated, finish length", MALFORMED, cut, says="max_tokens")
    cut = called(name="now", arguments="").replace(finish="length")
    objects = {"Gemini": RUNS}  # no arguments and empty ones are one thing there
    yield Case(8, 'arguments "", finish length', MALFORMED, cut, says="max_tokens", otherwise=objects, runs=((),))
    yield Case(9, "arguments a JSON list", REPAIRED, called(arguments="[1, 2]"), says=fits)
    yield Case(9, "arguments a JSON string", REPAIRED, called(arguments='"add"'), says=fits)
    yield Case(9, "arguments a JSON number", REPAIRED, called(arguments="3"), says=fits)
    yield Case(10, "arguments with trailing text", REPAIRED, called(arguments=ADD + " thanks"), says=fits)
    yield Case(10, "arguments with two objects", REPAIRED, called(arguments=ADD + OTHER), says=fits)
    yield Case(11, "arguments a dict", RUNS, called(arguments={"a": 1, "b": 2}))
    yield Case(12, "arguments in single quotes", REPAIRED, called(arguments="{'a': 1, 'b': 2}"), says=fits)
    yield Case(12, "NaN in arguments", REPAIRED, called(arguments='{"a": NaN, "b": 2}'), says=fits)
    yield Case(12, "NaN, and the tool takes any number", REPAIRED, called(name="half", arguments='{"x": NaN}'))
    yield Case(12, "Infinity in arguments", REPAIRED, called(arguments='{"a": 1, "b": -Infinity}'), says=fits)
    twice = called(arguments='{"a": 1, "a": 5, "b": 2}')
    last = {"Anthropic whole": RUNS, "Gemini": RUNS}  # the last one counts, as with every reader of JSON
    yield Case(12, "duplicate keys in arguments", REPAIRED, twice, says=fits, otherwise=last, runs=((5, 2),))


def _names() -> Iterator[Case]:
    there = "there are add"
    yield Case(13, "unknown tool", REPAIRED, called(name="fly"), says="there is no tool 'fly'")
    yield Case(14, "tool name null", REPAIRED, called(name=None), says=there)
    yield Case(14, 'tool name ""', REPAIRED, called(name=""), says=there)
    yield Case(14, "tool name with spaces in it", REPAIRED, called(name="add two"), says=there)
    yield Case(14, "tool name with spaces around it", RUNS, called(name=" add "))
    yield Case(15, "tool call id left out", RUNS, called(id=LEFT_OUT))
    yield Case(15, "tool call id null", RUNS, called(id=None))
    yield Case(15, 'tool call id ""', RUNS, called(id=""))
    yield Case(16, "an id twice in a turn", BOTH, calls(Call(), Call(arguments=OTHER)), runs=TWICE)
    yield Case(16, "an id again in the next turn", RUNS, called(), next_call="call_1")
    none = {"Gemini": "- a call has none"}
    shared = calls(Call(index=0), Call(arguments=OTHER, id="call_2", index=0))
    yield Case(17, "one stream index for two calls", BOTH, shared, runs=TWICE, otherwise=none)
    missing = calls(Call(index=LEFT_OUT), Call(arguments=OTHER, id="call_2", index=LEFT_OUT))
    yield Case(17, "no stream index", BOTH, missing, runs=TWICE, otherwise=none)
    turned = calls(Call(index=1), Call(arguments=OTHER, id="call_2", index=0))
    yield Case(17, "stream indexes out of order", BOTH, turned, runs=TWICE, otherwise=none)
    yield Case(18, "a tool call after text", RUNS, called().replace(text=TEXT))
    aside = called(choice=1).replace(text=TEXT)
    one = {name: "- there is only one" for name in ("Anthropic", "OpenAI Responses", "Gemini")}
    yield Case(18, "a tool call in another choice than the text", RUNS, aside, otherwise=one)
    both = calls(Call(), Call(arguments=OTHER, id="call_2", choice=1))
    yield Case(18, "a tool call in each of two choices", BOTH, both, runs=TWICE, otherwise=one)


def _endings() -> Iterator[Case]:
    only = {"Gemini streamed": CUT}  # nothing else says there that the answer is whole
    yield Case(19, "finish reason null", SHOWN, FINE.replace(finish=None), otherwise=only)
    yield Case(19, "finish reason left out", SHOWN, FINE.replace(finish=LEFT_OUT), otherwise=only)
    cut = FINE.replace(finish=None, done=False)
    yield Case(19, "finish reason null, and the stream's end is not said", CUT, cut, otherwise={"whole": SHOWN})
    yield Case(19, "finish reason unknown", SHOWN, FINE.replace(finish="bored"))
    failed = {"OpenAI Responses streamed": BUSY, "OpenAI Responses whole": AGAIN}  # with an error that has a status
    yield Case(19, 'finish reason "error"', MALFORMED, FINE.replace(finish="error"), otherwise=failed)
    yield Case(20, "finish tool_calls with no calls", MALFORMED, Said(finish="tool_calls"))
    received = {"Gemini": MALFORMED}  # MALFORMED_FUNCTION_CALL, which says that there should have been one
    yield Case(20, "the same, with text", SHOWN, FINE.replace(finish="tool_calls"), otherwise=received)
    yield Case(21, "usage left out", SHOWN, FINE.replace(usage=()))
    yield Case(21, "usage null", SHOWN, FINE.replace(usage=(None,)))
    yield Case(21, "usage negative", SHOWN, FINE.replace(usage=((-5, -2),)))
    yield Case(21, "usage of texts", SHOWN, FINE.replace(usage=(("5", "2"),)))
    yield Case(21, "usage a text", SHOWN, FINE.replace(usage=("many",)))
    yield Case(21, "usage at the beginning", SHOWN, FINE.replace(usage_first=True))
    yield Case(21, "usage twice", SHOWN, FINE.replace(usage=((1, 1), (5, 2))))
    hot, again = "overheated", {"whole": AGAIN}
    yield Case(22, "an error object with HTTP 200: of the server", AGAIN, Said(error=hot))
    yield Case(22, "the same: of the request", STATUS, Said(error=hot, code=400), says=hot)
    odd = Said(error=hot, code="odd")
    others = {"Anthropic": AGAIN, "Gemini": AGAIN}  # they say of every other that it is the server's
    yield Case(22, "the same: of a kind that nobody knows", MALFORMED, odd, says=hot, otherwise=others)
    yield Case(22, "an error object after text", BUSY, FINE.replace(error=hot), says=hot, otherwise=again)
    yield Case(22, "an error object after a tool call", BUSY, called().replace(error=hot), says=hot, otherwise=again)


def _page(http: Http) -> Http:
    return http.replace(body=b"<!DOCTYPE html><html><body>Bad gateway</body></html>", kind="text/html")


def _newlines(by: bytes) -> Way:
    return lambda http: http.replace(body=http.body.replace(b"\n", by), cuts=(40, 1, 1, 1, 33))


def _inside_characters(http: Http) -> Http:
    cuts, before = list[int](), 0
    for at, byte in enumerate(http.body):
        if byte >= 0x80:  # before and within each character of several bytes
            cuts.append(at - before)
            before = at
    return http.replace(cuts=tuple(cuts))


def _marked(http: Http) -> Http:
    return http.replace(body=b"\xef\xbb\xbf" + http.body, cuts=(1, 1, 1))


def _comments_only(http: Http) -> Http:
    return http.replace(body=b": still there\n\n" * 3)


def _commented(http: Http) -> Http:
    return http.replace(body=b": hello\n\n" + http.body.replace(b"\n\n", b"\n\n: still there\n\nretry: 3\nid: 1\n\n"))


def _deliveries() -> Iterator[Case]:
    in_json = {"whole": "- of event streams"}
    page = "the server sent a web page"
    yield Case(23, "HTML with 200", MALFORMED, FINE, _page, says=page)
    yield Case(23, "HTML with 502", AGAIN, FINE, lambda http: _page(http).replace(status="502 Bad Gateway"))
    unsaid = {**in_json, "Gemini": "- it is never sent", "OpenAI Responses": "- it is never sent"}
    yield Case(24, "in a stream: no `[DONE]`", SHOWN, FINE.replace(done=False), otherwise=unsaid)
    yield Case(24, "data split inside UTF-8 characters", SHOWN, FINE, _inside_characters)
    yield Case(24, "in a stream: CRLF for LF", SHOWN, FINE, _newlines(b"\r\n"), otherwise=in_json)
    yield Case(24, "in a stream: CR for LF", SHOWN, FINE, _newlines(b"\r"), otherwise=in_json)
    yield Case(24, "in a stream: nothing but comments", AGAIN, FINE, _comments_only, otherwise=in_json)
    yield Case(24, "in a stream: comments, ids and retry times between", SHOWN, FINE, _commented, otherwise=in_json)
    line = ("long ✓ " * 100_000).strip()
    yield Case(24, "a line of 1 MB", SHOWN, Said(text=line), text=line)
    yield Case(24, "a byte order mark", SHOWN, FINE, _marked)
    yield Case(25, "role left out", SHOWN, FINE.replace(roles=(LEFT_OUT,)))
    yield Case(25, "role null", SHOWN, FINE.replace(roles=(None,)))
    yield Case(25, "role changes in the middle", SHOWN, FINE.replace(roles=("assistant", "user", "tool")))
    silent = {"Anthropic": EMPTY, "Gemini": EMPTY}
    yield Case(26, "reasoning without content", MALFORMED, Said(reasoning="hm"), otherwise=silent)
    broken = Said(text="a \ud800 b \udc00")
    yield Case(27, "lone surrogates in content", SHOWN, broken, text="a � b �")
    inner = called(name="say", arguments=json.dumps({"text": "\ud800"}))
    objects = {"Anthropic whole": RUNS, "Gemini": RUNS}
    yield Case(27, "lone surrogates in arguments", REPAIRED, inner, otherwise=objects, runs=(("�",),))
    yield Case(27, "NUL in content", SHOWN, Said(text="a\0b"), text="a\0b")
    large = "0123456789" * (1 << 20)
    yield Case(27, "10 MB of content", SHOWN, Said(text=large), text=large)


def _unpackable(http: Http) -> Http:
    return http.replace(body=gzip.compress(http.body)[:40] + b"\0" * 40, headers=("content-encoding: gzip",))


def _cut_gzip(http: Http) -> Http:
    return http.replace(body=gzip.compress(http.body)[:-30], headers=("content-encoding: gzip",))


def _rest() -> Iterator[Case]:
    looks = '{"name": "add", "arguments": {"a": 1, "b": 2}}'
    marked = f"<tool_call>\n{looks}\n</tool_call>"
    asked = '{"request": "add", "a": 1, "b": 2}'
    yield Case(28, "text that looks like a tool call", SHOWN, Said(text=looks), text=looks)
    yield Case(28, "the same, in marks", SHOWN, Said(text=marked), text=marked)
    yield Case(28, "the same, with a `request`", SHOWN, Said(text=asked), text=asked)
    refusal = Said(refusal="I will not.", finish="content_filter")
    yield Case(29, "a refusal", SHOWN, refusal, text="I will not.")
    yield Case(29, "a refusal with a partial tool call", MALFORMED, called(arguments=ADD[:9]).replace(
        refusal="I will not.", finish="content_filter"))  # fmt: skip
    filtered = "content filter with a {} tool call"
    partial = called(arguments=ADD[:9]).replace(finish="content_filter")
    yield Case(29, filtered.format("partial"), MALFORMED, partial)
    yield Case(29, filtered.format("whole"), MALFORMED, called().replace(finish="content_filter"))
    yield Case(30, "another model's name", SHOWN, FINE.replace(model="other"))
    yield Case(30, "content type text/html", SHOWN, FINE, lambda http: http.replace(kind="text/html"))
    yield Case(30, "content type of the other form", SHOWN, FINE, _other_kind)
    yield Case(30, "broken gzip", MALFORMED, FINE, _unpackable)
    yield Case(30, "gzip that breaks off", MALFORMED, FINE, _cut_gzip)
    yield Case(30, "content length too long", SHOWN, FINE, lambda http: http.replace(length=len(http.body) + 9))
    short: Way = lambda http: http.replace(length=len(http.body) - 80)  # noqa: E731
    yield Case(30, "content length too short", CUT, FINE, short, otherwise={"whole": MALFORMED})


def _other_kind(http: Http) -> Http:
    return http.replace(kind="application/json" if "event" in http.kind else "text/event-stream")


CASES: Final = [*_nothing(), *_arguments(), *_names(), *_endings(), *_deliveries(), *_rest()]
