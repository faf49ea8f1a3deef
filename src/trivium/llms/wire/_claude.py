"""Anthropic's Messages interface: deltas from its events. No I/O."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final, TypeAlias

import jiter

from trivium.exceptions import MalformedAnswerError, ProviderStatusError
from trivium.llms._protocol import Delta, Finish, Reasoning, ReasoningState, ToolCallPart
from trivium.llms.http._refusals import refusal
from trivium.llms.wire._answers import AGAIN, ParsedObject, unfinished
from trivium.llms.wire._claude_request import FORM, THOUGHTS
from trivium.llms.wire._fields import CallNames, arguments_text, fresh_id, get_count, get_dict, get_dicts, get_text
from trivium.schema import Usage

Block: TypeAlias = ParsedObject
REASONS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
INPUT: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""The counts of tokens that were read; each token is in one of them."""
PAUSED: Final = "pause_turn"
"""The reason of an answer that the server goes on with, if it is sent back: its own tools took long."""
STATUS: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""HTTP statuses of errors that come as events: they are retried by the same rules."""
ANSWER, OTHER = -1, -2
"""Kinds of blocks that are no calls: the answer as arguments of a tool, and anything else."""


class _Growing:
    """A block of the answer as far as it has arrived.

    Args:
        begun: the block as it began.
        call: our index of the call that it is; otherwise its kind.

    Attributes:
        kind: the type of the block.
    """

    __slots__ = ("begun", "call", "citations", "kind", "pieces")

    def __init__(self, begun: Block, call: int = OTHER) -> None:
        self.begun, self.call, self.kind = begun, call, begun.get("type")
        self.pieces: dict[str, list[str]] = {}
        self.citations = [each for each in get_dicts(begun, "citations") if "encrypted_index" in each]

    def add(self, key: str, piece: str) -> None:
        """Append a piece to one of its texts."""
        self.pieces.setdefault(key, []).append(piece)

    def whole(self) -> Block | None:
        """Return the block as the interface wants it back; None if it is not complete, or not signed."""
        texts: Block = {name: "".join(pieces) for name, pieces in self.pieces.items()}
        if self.kind == "thinking":
            return {"type": "thinking", "thinking": "", **texts} if "signature" in texts else None
        if self.kind == "redacted_thinking":
            return {"type": "redacted_thinking", **texts} if "data" in texts else None
        if self.kind == "text":
            cited: Block = {"citations": [*self.citations]} if self.citations else {}
            return {"type": "text", "text": "", **texts, **cited}
        if "partial_json" not in texts:
            return self.begun if self.kind else None
        try:
            return {**self.begun, "input": jiter.from_json(str(texts["partial_json"]).encode())}
        except ValueError:  # the answer was cut off in it
            return None


class ClaudeMessageReader:
    """Reads the events of one answer.

    Args:
        names: the names of tools and calls at the server.
        model: the model that answers; its reasoning goes back to it alone.
    """

    def __init__(self, names: CallNames, model: str = "") -> None:
        self._names, self._model = names, model
        self._blocks: list[_Growing] = []
        self._at: dict[int | None, _Growing] = {}  # by the server's index
        self._ids: list[str] = []  # of the calls, by our index
        self._taken = set(names.taken)
        self._whole: set[int] = set()  # calls whose arguments came with their beginning
        self._prose: list[str] = []  # said beside an answer that should be the arguments of a tool
        self._counts: Block | None = None  # of the tokens, as the server names them
        self._reason: str | None = None
        self._why = ""
        self.over = self._any = self._answered = False

    def read(self, chunk: ParsedObject) -> Iterator[Delta]:
        """Yield the deltas of one event.

        Raises:
            ProviderStatusError: the event is an error.
            MalformedAnswerError: the answer failed, or the event belongs to no block.
        """
        kind = chunk.get("type")
        if kind == "error" or chunk.get("error"):
            raise _failure(chunk)
        if kind == "message_start":
            self._count(get_dict(get_dict(chunk, "message"), "usage"))
        elif kind == "content_block_start":
            yield from self._begun(_index(chunk), get_dict(chunk, "content_block"))
        elif kind == "content_block_delta":
            yield from self._grown(_index(chunk), get_dict(chunk, "delta"))
        elif kind == "message_delta":
            self._count(get_dict(chunk, "usage"))
            self._end_with(get_dict(chunk, "delta"))
        elif kind == "message_stop":
            self.over = True

    def whole(self, answer: ParsedObject) -> Iterator[Delta]:
        """Yield the deltas of a complete message.

        Raises:
            ProviderStatusError: it is an error.
            MalformedAnswerError: it is not an answer.
        """
        if answer.get("type") == "error" or answer.get("error"):
            raise _failure(answer)
        if not isinstance(answer.get("content"), list):
            raise MalformedAnswerError(
                "the server sent no answer with content: check that base_url is that of Anthropic's interface",
                json.dumps(answer),
            )
        for index, block in enumerate(get_dicts(answer, "content")):
            yield from self._begun(index, block)
        self._count(get_dict(answer, "usage"))
        self._end_with(answer)

    def _begun(self, index: int | None, begun: Block) -> Iterator[Delta]:
        kind = begun.get("type")
        if kind not in ("tool_use", *THOUGHTS) and isinstance(begun.get("text"), str):
            begun = {**begun, "type": "text"}
        block = self._at[index] = _Growing(begun)
        self._blocks.append(block)
        if kind == "tool_use":
            yield from self._called(block)
        elif kind in THOUGHTS:
            yield from self._thought(block, begun)
        elif text := get_text(begun, "text"):
            yield self._text_delta(block, text)
        elif kind and kind != "text":
            self._any = True  # something that the server did itself

    def _called(self, block: _Growing) -> Iterator[Delta]:
        self._any = True
        given, name = block.begun.get("input"), get_text(block.begun, "name")
        arguments = arguments_text(given) if given else ""
        if name and name == self._names.answer:
            self._answered, block.call = True, ANSWER
            yield arguments
            return
        ours = block.call = len(self._ids)
        self._ids.append(fresh_id(block.begun.get("id"), self._taken))
        self._taken.add(self._ids[ours])
        if arguments:
            self._whole.add(ours)
        yield ToolCallPart(ours, self._ids[ours], self._names.own.get(name, name), arguments)

    def _grown(self, index: int | None, delta: Block) -> Iterator[Delta]:
        kind = delta.get("type")
        last = self._blocks[-1] if self._blocks else None
        block = self._at.get(index, last)
        if kind == "text_delta" and block is not None and block.kind == "text":  # first: most are
            if text := get_text(delta, "text"):
                yield self._text_delta(block, text)
        elif kind == "input_json_delta":
            piece = get_text(delta, "partial_json")
            if block is None:  # not even a block that began last, to which arguments without an index belong
                raise MalformedAnswerError(f"the server sent arguments of no tool call; {AGAIN}", piece)
            if piece and block.call == OTHER:
                block.add("partial_json", piece)
            elif piece and block.call not in self._whole:
                yield piece if block.call == ANSWER else ToolCallPart(block.call, arguments=piece)
        elif kind in ("thinking_delta", "signature_delta"):
            yield from self._thought(self._block_of(block, "thinking"), delta)
        elif kind == "citations_delta":
            citation = get_dict(delta, "citation")
            if block is not None and "encrypted_index" in citation:  # of the server's search, which wants it back
                block.citations.append(citation)
        elif text := get_text(delta, "text"):
            yield self._text_delta(self._block_of(block, "text"), text)

    def _block_of(self, block: _Growing | None, kind: str) -> _Growing:
        """Return the block if it is of a kind, otherwise the last one or a new one that is."""
        if block is not None and block.kind == kind:
            return block
        found = next((each for each in reversed(self._blocks) if each.kind == kind), None)
        if found is None:
            self._blocks.append(found := _Growing({"type": kind}))
        return found

    def _text_delta(self, block: _Growing, text: str) -> Delta:
        self._any = True
        if not self._names.answer:
            block.add("text", text)
            return text
        self._prose.append(text)
        return Reasoning(text)

    def _thought(self, block: _Growing, given: Block) -> Iterator[Delta]:
        for name in ("thinking", "signature", "data"):
            if piece := get_text(given, name):
                self._any = True
                block.add(name, piece)
                if name == "thinking":
                    yield Reasoning(piece)

    def _state(self) -> Iterator[Delta]:
        """Yield what the interface expects back and no message has, with the texts and calls before it, in order."""
        found = list[Block]()
        for block in self._blocks:
            if block.call >= 0:
                found.append({"type": "tool_use", "id": self._ids[block.call]})
            elif block.call != ANSWER and (kept := block.whole()) is not None:
                found.append(kept)
        while found and self._reason != PAUSED and found[-1].keys() in ({"type", "text"}, {"type", "id"}):
            found.pop()  # the message has it
        if found:
            yield ReasoningState(FORM, self._model, tuple(found))

    def _count(self, counts: Block) -> None:
        if counts:  # each is told anew, or stays; tokens that were read are 0 only beside others of which some were
            some = INPUT if any(counts.get(name) for name in INPUT) else ()
            told = {name: count for name, count in counts.items() if count or (count == 0 and name in some)}
            self._counts = {**(self._counts or {}), **told}

    @property
    def usage(self) -> Usage | None:
        """The usage that the server has reported so far."""
        counts = self._counts
        if counts is None:
            return None
        fresh, kept, cached = (get_count(counts, name) for name in INPUT)
        thoughts = get_count(get_dict(counts, "output_tokens_details"), "thinking_tokens")
        return Usage(
            fresh + kept + cached,
            get_count(counts, "output_tokens"),
            cached_tokens=cached,
            cache_write_tokens=kept,
            reasoning_tokens=thoughts,
        )

    def _end_with(self, delta: Block) -> None:
        if reason := get_text(delta, "stop_reason"):
            self._reason = REASONS.get(reason, reason)
            self._why = get_text(get_dict(delta, "stop_details"), "explanation")

    def end(self, done: bool) -> Iterator[Delta]:
        """Yield reasoning state, usage and finish reason.

        Raises:
            MalformedAnswerError: the answer is incomplete, failed, or was stopped by a filter.
        """
        if self._prose and not self._answered and not self._ids and self._reason != PAUSED:
            yield "".join(self._prose)
        yield from self._state()
        if self._reason is None and not ((done or self.over) and self._any):
            raise unfinished(self._any, done or self.over)
        if self.usage is not None:
            yield self.usage
        if self._reason == "error":
            raise MalformedAnswerError(f"the server gave up in the middle of the answer; {AGAIN}")
        if self._reason == "content_filter" and (self._ids or not self._any):
            why = f": {self._why}" if self._why else ""
            raise MalformedAnswerError(f"the model refused to answer{why}; ask in another way, or another model")
        if not self._any:
            raise MalformedAnswerError(f"the server sent no answer (it stopped with '{self._reason}'); {AGAIN}")
        yield Finish(self._finish())

    def _finish(self) -> str:
        if self._reason in (None, "stop", "tool_calls") or (self._reason == PAUSED and self._ids):
            return "tool_calls" if self._ids else "stop"
        return self._reason


def _index(chunk: Block) -> int | None:
    index = chunk.get("index")
    return index if isinstance(index, int) else None


def _failure(chunk: Block) -> ProviderStatusError:
    kind = str(get_dict(chunk, "error").get("type"))
    return refusal("the server", "base_url", STATUS.get(kind, 500), kind, {}, json.dumps(chunk))
