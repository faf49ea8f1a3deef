"""Gemini's `generateContent` interface: deltas from its answers. No I/O."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from trivium.exceptions import MalformedAnswerError, ProviderStatusError
from trivium.llms._protocol import (
    Delta,
    Finish,
    Logprobs,
    Reasoning,
    ReasoningState,
    TokenLogprob,
    ToolCallPart,
)
from trivium.llms.http._refusals import refusal
from trivium.llms.wire._answers import AGAIN, ParsedObject, unfinished
from trivium.llms.wire._fields import CallNames, arguments_text, fresh_id, get_count, get_dict, get_dicts, get_text
from trivium.llms.wire._gemini_request import FORM, MADE_UP
from trivium.schema import Usage

REASONS: Final = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    **dict.fromkeys(
        (
            "BLOCKLIST", "ESCALATION", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_SAFETY", "LANGUAGE",
            "MODEL_ARMOR", "PROHIBITED_CONTENT", "PUP_LIMITED_DISABLED", "RECITATION", "SAFETY", "SPII",
        ),
        "content_filter",
    ),
}  # fmt: skip
FAILED: Final = {
    "MALFORMED_FUNCTION_CALL": "the model wrote a tool call that cannot be read",
    "UNEXPECTED_TOOL_CALL": "the model called a tool that it was not given",
    "TOO_MANY_TOOL_CALLS": "the model made too many tool calls",
    "MISSING_THOUGHT_SIGNATURE": "the history lacks a signature of what the model thought",
    "MALFORMED_RESPONSE": "the model wrote an answer that cannot be read",
}
"""Finish reasons without an answer."""


class GeminiMessageReader:
    """Reads the pieces of one answer.

    Args:
        names: the names of tools and calls at the server.
        model: the model that answers; its reasoning goes back to it alone.
    """

    def __init__(self, names: CallNames, model: str = "") -> None:
        self._names, self._model = names, model
        self._ids: list[str] = []  # of the calls, by our index
        self._taken = set(names.taken)
        self._signed: list[ParsedObject] = []
        self._prose: list[str] = []  # said beside an answer that should be the arguments of a tool
        self.usage: Usage | None = None
        self._reason: str | None = None
        self._why = self._file = ""
        self.over = self._any = self._answered = False

    def read(self, chunk: ParsedObject) -> Iterator[Delta]:
        """Yield the deltas of one piece.

        Raises:
            ProviderStatusError: the piece is an error.
            MalformedAnswerError: the piece says that there is no answer.
        """
        if chunk.get("error"):
            raise _failure(chunk)
        self._count(get_dict(chunk, "usageMetadata"))
        if reason := get_text(get_dict(chunk, "promptFeedback"), "blockReason"):
            why = get_text(get_dict(chunk, "promptFeedback"), "blockReasonMessage") or reason
            raise MalformedAnswerError(f"the provider refused the question ({why}); ask it in another way", _raw(chunk))
        for candidate in get_dicts(chunk, "candidates"):
            for part in get_dicts(get_dict(candidate, "content"), "parts"):
                yield from self._part(part)
            if found := _logprobs(get_dict(candidate, "logprobsResult")):
                yield Logprobs(found)
            self._end_with(candidate)

    def whole(self, answer: ParsedObject) -> Iterator[Delta]:
        """Yield the deltas of a complete answer.

        Raises:
            ProviderStatusError: it is an error.
            MalformedAnswerError: it is not an answer.
        """
        if not (answer.get("error") or answer.get("candidates") or answer.get("promptFeedback")):
            raise MalformedAnswerError(
                "the server sent no answer with candidates: check that base_url is that of Gemini's interface",
                _raw(answer),
            )
        return self.read(answer)

    def _part(self, part: ParsedObject) -> Iterator[Delta]:
        signature, text = get_text(part, "thoughtSignature"), get_text(part, "text")
        if isinstance(part.get("functionCall"), dict):
            yield from self._called(get_dict(part, "functionCall"), signature)
            return
        is_thought = part.get("thought") is True
        if signature:
            signed: ParsedObject = {"text": text, "thoughtSignature": signature}
            self._signed.append({**signed, "thought": True} if is_thought else signed)
        self._file = get_text(get_dict(part, "inlineData"), "mimeType") or self._file
        if text:
            self._any = True
            if self._names.answer and not is_thought:
                self._prose.append(text)
            yield Reasoning(text) if is_thought or self._names.answer else text

    def _called(self, call: ParsedObject, signature: str) -> Iterator[Delta]:
        self._any = True
        name = get_text(call, "name")
        arguments = arguments_text(call.get("args")) or "{}"  # a call of a tool without parameters has none
        if name and name == self._names.answer:
            self._answered = True
            yield arguments
            return
        ours = len(self._ids)
        self._ids.append(fresh_id(call.get("id"), self._taken, MADE_UP))
        self._taken.add(self._ids[ours])
        if signature:
            self._signed.append({"call": self._ids[ours], "thoughtSignature": signature})
        yield ToolCallPart(ours, self._ids[ours], self._names.own.get(name, name), arguments)

    def _count(self, counts: ParsedObject) -> None:
        if not counts:
            return
        before, thoughts = self.usage or Usage(), get_count(counts, "thoughtsTokenCount")
        read = get_count(counts, "promptTokenCount") + get_count(counts, "toolUsePromptTokenCount")
        written = get_count(counts, "candidatesTokenCount") + thoughts
        self.usage = Usage(
            read or before.input_tokens,
            written or before.output_tokens,
            cached_tokens=get_count(counts, "cachedContentTokenCount") or before.cached_tokens,
            reasoning_tokens=thoughts or before.reasoning_tokens,
        )

    def _end_with(self, candidate: ParsedObject) -> None:
        reason = get_text(candidate, "finishReason")
        if not reason or reason == "FINISH_REASON_UNSPECIFIED":
            return
        self._why = get_text(candidate, "finishMessage")
        if reason in FAILED:
            why = f": {self._why}" if self._why else ""
            raise MalformedAnswerError(f"{FAILED[reason]}{why}; {AGAIN}", _raw(candidate))
        self._reason = REASONS.get(reason, reason.lower())

    def end(self, done: bool) -> Iterator[Delta]:
        """Yield reasoning state, usage and finish reason.

        Raises:
            MalformedAnswerError: the answer is incomplete, or was stopped by a filter.
        """
        if self._prose and not self._answered and not self._ids:
            yield "".join(self._prose)
        if self._signed:
            yield ReasoningState(FORM, self._model, tuple(self._signed))
        if self._reason is None and not (done and self._any):
            raise unfinished(self._any, done)
        if self.usage is not None:
            yield self.usage
        if self._reason == "content_filter" and (self._ids or not self._any):
            why = f": {self._why}" if self._why else ""
            raise MalformedAnswerError(f"the provider's filter stopped the answer{why}; ask in another way")
        if not self._any and self._file:
            raise MalformedAnswerError(f"the model answered with a file ({self._file}), not in words; ask for text")
        if not self._any:
            raise MalformedAnswerError(f"the server sent no answer (it stopped with '{self._reason}'); {AGAIN}")
        is_plain = self._reason in (None, "stop")
        yield Finish(str(self._reason if not is_plain else "tool_calls" if self._ids else "stop"))


def _logprobs(result: ParsedObject) -> tuple[TokenLogprob, ...]:
    top = [tuple(map(_token, get_dicts(each, "candidates"))) for each in get_dicts(result, "topCandidates")]
    chosen = list(map(_token, get_dicts(result, "chosenCandidates")))
    top += [()] * (len(chosen) - len(top))
    return tuple(TokenLogprob(token, logprob, others) for (token, logprob), others in zip(chosen, top, strict=False))


def _token(candidate: ParsedObject) -> tuple[str, float]:
    logprob = candidate.get("logProbability")
    return get_text(candidate, "token"), float(logprob) if isinstance(logprob, int | float) else 0.0


def _failure(chunk: ParsedObject) -> ProviderStatusError:
    error = get_dict(chunk, "error")
    status = get_count(error, "code") or 500
    return refusal("the server", "base_url", status, get_text(error, "status"), {}, _raw(chunk))


def _raw(chunk: ParsedObject) -> str:
    return json.dumps(chunk)
