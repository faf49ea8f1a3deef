"""Anthropic's Messages interface: deltas from its events. No I/O."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final, TypeAlias

from trivium.exceptions import MalformedAnswerError, ProviderStatusError
from trivium.llms._protocol import Delta, Finish, Reasoning, ReasoningState, ToolCallPart
from trivium.llms.http._refusals import refusal
from trivium.llms.wire._answers import AGAIN, ParsedObject
from trivium.llms.wire._claude_request import FORM
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


class ClaudeMessageReader:
    """Reads the events of one answer.

    Args:
        names: the names of tools and calls at the server.
        model: the model that answers; its reasoning goes back to it alone.
    """

    def __init__(self, names: CallNames, model: str = "") -> None:
        self._names, self._model = names, model
        self._blocks: dict[int | None, int] = {}  # the server's index of a block: ours of the call, or what it is
        self._last: int | None = None  # the block that began last
        self._ids: list[str] = []  # of the calls, by our index
        self._taken = set(names.taken)
        self._whole: set[int] = set()  # calls whose arguments came with their beginning
        self._thoughts: list[dict[str, list[str]]] = []
        self._prose: list[str] = []  # said beside an answer that should be the arguments of a tool
        self.usage: Usage | None = None
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

    def _begun(self, index: int | None, block: Block) -> Iterator[Delta]:
        kind = block.get("type")
        self._blocks[index] = self._last = OTHER
        if kind == "tool_use":
            yield from self._called(index, block)
        elif kind in ("thinking", "redacted_thinking"):
            self._thoughts.append({})
            yield from self._thought(block)
        elif text := get_text(block, "text"):
            yield self._text_delta(text)

    def _called(self, index: int | None, block: Block) -> Iterator[Delta]:
        self._any = True
        given, name = block.get("input"), get_text(block, "name")
        arguments = arguments_text(given) if given else ""
        if name and name == self._names.answer:
            self._answered, self._blocks[index] = True, ANSWER
            self._last = ANSWER
            yield arguments
            return
        ours = self._blocks[index] = self._last = len(self._ids)
        self._ids.append(fresh_id(block.get("id"), self._taken))
        self._taken.add(self._ids[ours])
        if arguments:
            self._whole.add(ours)
        yield ToolCallPart(ours, self._ids[ours], self._names.own.get(name, name), arguments)

    def _grown(self, index: int | None, delta: Block) -> Iterator[Delta]:
        kind = delta.get("type")
        if kind == "input_json_delta":
            piece, ours = get_text(delta, "partial_json"), self._blocks.get(index, self._last)
            if ours is None:  # not even a block that began last, to which arguments without an index belong
                raise MalformedAnswerError(f"the server sent arguments of no tool call; {AGAIN}", piece)
            if piece and ours != OTHER and ours not in self._whole:
                yield piece if ours == ANSWER else ToolCallPart(ours, arguments=piece)
        elif kind in ("thinking_delta", "signature_delta"):
            yield from self._thought(delta)
        elif text := get_text(delta, "text"):
            yield self._text_delta(text)

    def _text_delta(self, text: str) -> Delta:
        self._any = True
        if not self._names.answer:
            return text
        self._prose.append(text)
        return Reasoning(text)

    def _thought(self, block: Block) -> Iterator[Delta]:
        if not self._thoughts:
            self._thoughts.append({})
        for name in ("thinking", "signature", "data"):
            if piece := get_text(block, name):
                self._any = True
                self._thoughts[-1].setdefault(name, []).append(piece)
                if name == "thinking":
                    yield Reasoning(piece)

    def _state(self) -> Iterator[Delta]:
        """Yield the reasoning that the interface expects back: signed or encrypted blocks."""
        found = list[Block]()
        for kept in self._thoughts:
            thought = {name: "".join(pieces) for name, pieces in kept.items()}
            if "signature" in thought:
                found.append({"type": "thinking", "thinking": "", **thought})
            elif "data" in thought:
                found.append({"type": "redacted_thinking", "data": thought["data"]})
        if found:
            yield ReasoningState(FORM, self._model, tuple(found))

    def _count(self, counts: Block) -> None:
        if not counts:
            return
        before, thoughts = (
            self.usage or Usage(),
            get_count(get_dict(counts, "output_tokens_details"), "thinking_tokens"),
        )
        fresh, kept, cached = (
            get_count(counts, f"{name}input_tokens") for name in ("", "cache_creation_", "cache_read_")
        )
        is_told = fresh + kept + cached > 0
        self.usage = Usage(
            fresh + kept + cached or before.input_tokens,
            get_count(counts, "output_tokens") or before.output_tokens,
            cached_tokens=cached if is_told else before.cached_tokens,
            cache_write_tokens=kept if is_told else before.cache_write_tokens,
            reasoning_tokens=thoughts or before.reasoning_tokens,
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
        if self._prose and not self._answered and not self._ids:
            yield "".join(self._prose)
        yield from self._state()
        if self.usage is not None:
            yield self.usage
        if self._reason is None and not ((done or self.over) and self._any):
            what = "the server's answer broke off" if self._any else "the server sent no answer"
            raise MalformedAnswerError(f"{what}; {AGAIN}")
        if self._reason == "error":
            raise MalformedAnswerError(f"the server gave up in the middle of the answer; {AGAIN}")
        if self._reason == "content_filter" and (self._ids or not self._any):
            why = f": {self._why}" if self._why else ""
            raise MalformedAnswerError(f"the model refused to answer{why}; ask in another way, or another model")
        if not self._any:
            raise MalformedAnswerError(f"the server sent no answer (it stopped with '{self._reason}'); {AGAIN}")
        yield Finish(self._finish())

    def _finish(self) -> str:
        if self._reason in (None, "stop", "tool_calls"):
            return "tool_calls" if self._ids else "stop"
        return self._reason


def _index(chunk: Block) -> int | None:
    index = chunk.get("index")
    return index if isinstance(index, int) else None


def _failure(chunk: Block) -> ProviderStatusError:
    kind = str(get_dict(chunk, "error").get("type"))
    return refusal("the server", "base_url", STATUS.get(kind, 500), kind, {}, json.dumps(chunk))
