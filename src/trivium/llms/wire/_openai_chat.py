"""OpenAI's chat format, and the dialects of it that other servers speak: requests and answers. No I/O."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

import jiter

from trivium.exceptions import MalformedAnswerError
from trivium.llms._protocol import Delta, Finish, Reasoning, ReasoningState, Request, ToolCallPart
from trivium.llms.wire._answers import (
    AGAIN,
    CHECK,
    Letters,
    dict_or_empty,
    error_text,
    json_text,
    logprobs_of,
    replace_surrogates,
)
from trivium.llms.wire._fields import CallNames, fresh_id, own_state
from trivium.llms.wire._requests import is_strict, parts_of, sent_function
from trivium.llms.wire._sent_errors import sent_error
from trivium.llms.wire._tool_names import legal
from trivium.schema import ToolSpec, Usage

__all__ = ["OPENAI", "Dialect", "OpenAIMessageReader", "chat_body", "chat_tool", "token_counts"]

FORM: Final = "openai-chat"
_PLAIN: Final = {"role", "content"}
ROLES: Final = {"system", "developer", "user", "assistant", "tool", "function"}
CUT_SHORT: Final = {"length", "content_filter"}


class Dialect(NamedTuple):
    """What a server makes of the chat format.

    Args:
        usage: whether it takes `stream_options`, by which it is asked for the tokens of a streamed answer.
        reasoning: under which key it wants the thoughts of its model back: "reasoning_content", "reasoning", or
            "reasoning_details" for the list in which it gave them; "" sends none.
        schema: whether it holds an answer to a JSON schema. One that does not is asked for a JSON object, and the
            model is told the schema.
        max_tokens: how the longest answer is called; "" is as the model's family wants it.
    """

    usage: bool = True
    reasoning: str = ""
    schema: bool = True
    max_tokens: str = ""


OPENAI: Final = Dialect()


def chat_body(
    model: str, request: Request, parameters: Mapping[str, Any], names: CallNames, dialect: Dialect = OPENAI
) -> dict[str, Any]:
    """What is posted for a request.

    Args:
        model: its name at the server.
        request: the question; its parameters do not count.
        parameters: all parameters, by their common names.
        names: how tools are called on the way.
        dialect: what the server makes of the format.
    """
    body = dict(parameters)
    if dialect.max_tokens and "max_tokens" in body:
        body[dialect.max_tokens] = body.pop("max_tokens")
    _ask_for_logprobs(body)
    messages = [_message(message, model, names, dialect) for message in request.messages]
    body |= {"model": model, "messages": messages, "stream": True}
    if dialect.usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [chat_tool(tool, names.tools) for tool in request.tools]
        choice = names.tools.get(request.tool_choice, request.tool_choice)
        named = choice not in ("auto", "none", "required")
        body["tool_choice"] = {"type": "function", "function": {"name": choice}} if named else choice
    else:
        body.pop("parallel_tool_calls", None)
    if request.output_schema is not None:
        schema = dict(request.output_schema)
        if dialect.schema:
            answer = {"name": "answer", "strict": is_strict(schema), "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": answer}
        else:
            body["response_format"] = {"type": "json_object"}
            note = f"Answer with one JSON object that satisfies this JSON schema: {json.dumps(schema)}"
            messages.insert(0, {"role": "system", "content": note})
    return body


def _ask_for_logprobs(body: dict[str, Any]) -> None:
    """`logprobs` may be how many tokens are wanted at each place, as in older interfaces."""
    wanted = body.get("logprobs")
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        body.setdefault("top_logprobs", wanted)
    if wanted is not None or "top_logprobs" in body:
        body["logprobs"] = wanted is not False


def _message(message: Mapping[str, Any], model: str, names: CallNames, dialect: Dialect) -> dict[str, Any]:
    """A message with a role, names and arguments that the interface takes."""
    found = dict(message)
    if found.keys() == _PLAIN and found["content"].__class__ is str and found["role"] in ROLES:
        return found  # most of a long history
    role, name = found.get("role", "user"), found.pop("name", None)
    thoughts = found.pop("reasoning", None)
    found.pop("reasoning_state", None)
    if role not in ROLES:
        role, name = "user", name or role
    found["role"] = role
    if name:
        found["name"] = names.tools.get(name) or legal(str(name))
    if isinstance(found.get("content"), list):
        found["content"] = [_part(part) for part in parts_of(found["content"])]
    if calls := found.get("tool_calls"):
        found["tool_calls"] = [_call(call, names) for call in calls]
    if role == "assistant" and dialect.reasoning:
        found |= _thoughts(message, thoughts, model, dialect.reasoning)
    return found


def _call(call: Mapping[str, Any], names: CallNames) -> dict[str, Any]:
    return {"id": call.get("id"), "type": "function", "function": sent_function(call, names)}


def _part(part: dict[str, Any]) -> dict[str, Any]:
    image = part.get("image_url")
    return {**part, "image_url": {"url": image}} if isinstance(image, str) else part


def _thoughts(message: Mapping[str, Any], thoughts: Any, model: str, key: str) -> dict[str, Any]:
    if key == "reasoning_details":
        if details := own_state(message, FORM, model):
            return {key: list(details)}
        key = "reasoning"
    return {key: thoughts} if thoughts else {}


def chat_tool(tool: ToolSpec, names: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    """A tool as the interface takes it.

    Args:
        tool: the tool.
        names: what is sent instead of its name.
    """
    function: dict[str, Any] = {
        "name": names.get(tool.name, tool.name),
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": {**function, "strict": True} if tool.strict else function}


class OpenAIMessageReader:
    """Choices and their deltas, over all chunks of one answer.

    Args:
        names: the name of a tool by the name that was sent instead of it.
        taken: ids that calls before have; no call of the answer gets one of them.
        model: whose answer it is, for what is to be sent back.
    """

    def __init__(
        self, names: Mapping[str, str] = MappingProxyType({}), taken: Collection[str] = (), model: str = ""
    ) -> None:
        self._calls = CallReader(names, taken)
        self._model = model
        self._letters = Letters()
        self.usage: Usage | None = None
        self._reason: str | None = None
        self._details: list[dict[str, Any]] = []
        self._speaker: Any = None  # the index of the choice whose text is the answer's
        self.over = self._any = self._spoken = self._refused = False

    def read(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        """The deltas of one chunk.

        Raises:
            ProviderStatusError: it is an error that has a status.
            MalformedAnswerError: it is another error.
        """
        if "error" in chunk or "choices" not in chunk:
            chunk = _checked(_unpacked(chunk))
        if (usage := chunk.get("usage")) is not None:
            self.usage = token_counts(usage, "prompt_tokens", "completion_tokens") or self.usage
        choices = chunk.get("choices")
        if isinstance(choices, list):
            for choice in cast("list[Any]", choices):
                if isinstance(choice, dict):
                    yield from self._choice(cast("dict[str, Any]", choice))

    def whole(self, answer: dict[str, Any]) -> Iterator[Delta]:
        """The deltas of a whole answer.

        Raises:
            ProviderStatusError: it is an error that has a status.
            MalformedAnswerError: it is none.
        """
        answer = _checked(_unpacked(answer))
        if not answer.get("choices"):
            raise MalformedAnswerError(f"the server sent an answer without choices: {CHECK}")
        return self.read(answer)

    def _choice(self, choice: dict[str, Any]) -> Iterator[Delta]:
        message = choice.get("delta") or choice.get("message")
        if isinstance(message, str):
            message = {"content": message}
        if isinstance(message, dict):
            yield from self._deltas(cast("dict[str, Any]", message), choice.get("index") or 0)
        if logprobs := choice.get("logprobs"):
            for key in ("content", "refusal"):
                if (tokens := logprobs_of(dict_or_empty(logprobs).get(key))) is not None:
                    yield tokens
        if (reason := choice.get("finish_reason")) and isinstance(reason, str):
            if reason == "error":
                why = error_text(choice)
                raise MalformedAnswerError(
                    f"the server gave up in the middle of the answer{f' ({why})' if why else ''}; {AGAIN}"
                )
            self._reason = reason

    def _deltas(self, message: dict[str, Any], choice: Any) -> Iterator[Delta]:
        content = message.get("content")
        is_plain = len(message) == 1 and isinstance(content, str)  # nearly every chunk
        if not is_plain and (thought := self._thought(message)):
            self._any = True
            yield Reasoning(thought)
        if content and (piece := self._said(content, choice)):
            yield piece
        if is_plain:
            return
        if refusal := _text(message.get("refusal")):
            self._refused = self._spoken = self._any = True
            yield refusal
        calls = message.get("tool_calls")
        for place, call in enumerate(cast("list[Any]", calls) if isinstance(calls, list) else ()):
            if isinstance(call, dict):
                self._any = True
                yield self._calls.read(cast("dict[str, Any]", call), choice, place)
        if function := dict_or_empty(message.get("function_call")):  # the form that calls had first
            self._any = True
            yield self._calls.read({"index": "function_call", "function": function}, choice)

    def _said(self, content: Any, choice: Any) -> str:
        text = content if isinstance(content, str) else _text(content)
        if text and self._speaker is None:
            self._speaker = choice
        if not text or choice != self._speaker:
            return ""  # another answer to the same question: one was asked for
        self._spoken = self._any = True
        return self._letters.whole(text)

    def _thought(self, message: dict[str, Any]) -> str:
        thought = _text(message.get("reasoning_content") or message.get("reasoning")) or _thinking(message)
        if not isinstance(details := message.get("reasoning_details"), list):
            return thought
        told = [self._keep(detail) for detail in map(dict_or_empty, cast("list[Any]", details)) if detail]
        return thought or "".join(told)

    def _keep(self, detail: dict[str, Any]) -> str:
        """Put a piece of a thought to the one that it goes on with, and return what can be read of it."""
        key = "summary" if "summary" in detail else "text"
        text = _text(detail.get(key))
        last = self._details[-1] if self._details else {}
        same = all(last.get(each) == detail.get(each) for each in ("type", "index"))
        if same and key in last and key in detail:
            given = {name: value for name, value in detail.items() if value is not None}
            self._details[-1] = {**last, **given, key: _text(last[key]) + text}
        else:
            self._details.append(detail)
        return text

    def end(self, done: bool) -> Iterator[Delta]:
        """Usage, and why it stopped; `done` if the server said that this is the end.

        Raises:
            MalformedAnswerError: it broke off, holds nothing, or was cut short within a tool call.
        """
        if rest := self._letters.rest():
            yield rest
        if self._details:
            yield ReasoningState(FORM, self._model, tuple(self._details))
        if self.usage is not None:
            yield self.usage
        reason = self._reason
        if reason is None and not (done and self._any):
            what = "the server's answer broke off" if self._any else "the server sent no answer"
            raise MalformedAnswerError(f"{what}; {AGAIN}")
        check_answer(self._calls, self._spoken, self._any, reason)
        if self._refused:
            reason = "content_filter"
        elif not self._calls.any and reason in ("tool_calls", "function_call"):
            reason = "stop"
        yield Finish(reason or ("tool_calls" if self._calls.any else "stop"))


def check_answer(calls: CallReader, spoken: bool, thought: bool, reason: str | None) -> None:
    """Refuse an answer that holds nothing, or that was cut short within a tool call.

    Raises:
        MalformedAnswerError: it is one of these.
    """
    why = f" (it stopped with '{reason}')" if reason else ""
    if not calls.any and not spoken:
        what = "the model thought and then gave no answer" if thought else "the server sent no answer"
        raise MalformedAnswerError(f"{what}{why}; ask again, with a larger max_tokens where that was its end")
    if reason in CUT_SHORT and (cut := calls.cut_short()):
        raise MalformedAnswerError(
            f"the answer was cut short within a tool call{why}; ask again, with a larger max_tokens", cut
        )


class _Call:
    """A tool call as far as it has come."""

    __slots__ = ("arguments", "given", "id", "index", "letters", "name")

    def __init__(self, index: int, given: str, id: str) -> None:
        self.index, self.given, self.id = index, given, id
        self.name: str | None = None
        self.arguments: list[str] = []
        self.letters = Letters()

    def is_complete(self) -> bool:
        """Whether the arguments are a JSON value, behind which nothing of them can come."""
        try:
            jiter.from_json("".join(self.arguments).encode())
        except ValueError:
            return False
        return True


class CallReader:
    """Gives each tool call one index and one id, whatever the server makes of them.

    Args:
        names: the name of a tool by the name that was sent instead of it.
        taken: ids that calls before have.
    """

    def __init__(self, names: Mapping[str, str], taken: Collection[str] = ()) -> None:
        self._names = names
        self._taken = set(taken)
        self._calls: list[_Call] = []
        self._at: dict[Any, _Call] = {}  # by the server's index

    @property
    def any(self) -> bool:
        """Whether there are calls."""
        return bool(self._calls)

    def cut_short(self) -> str:
        """The calls as JSON, if the arguments of one of them are not whole."""
        if all(call.is_complete() for call in self._calls):
            return ""
        return json.dumps([{"name": call.name, "arguments": "".join(call.arguments)} for call in self._calls])

    def read(self, call: dict[str, Any], choice: Any = 0, place: int = 0) -> ToolCallPart:
        """The part of a call that a piece is.

        Args:
            call: the piece.
            choice: of which choice it is a piece.
            place: where it stands among the pieces that came at once.
        """
        function = dict_or_empty(call.get("function")) or call
        given, name, arguments = call.get("id"), function.get("name"), function.get("arguments")
        given = given if isinstance(given, str) else ""
        name = name.strip() if isinstance(name, str) else ""
        if not isinstance(arguments, str):
            arguments = "" if arguments is None else json_text(arguments)
        index = call.get("index")
        key = f"{choice} {index}" if isinstance(index, int | str) else None
        found = self._begun(key, given, name, place)
        is_new = found is None
        if found is None:
            found = self._new(key, given)
        arguments = found.letters.whole(arguments)
        found.arguments.append(arguments)
        if not found.name and name:
            found.name = self._names.get(name, name)
            return ToolCallPart(found.index, found.id if is_new else None, found.name, arguments)
        return ToolCallPart(found.index, found.id if is_new else None, None, arguments)

    def _begun(self, key: Any, given: str, name: str, place: int) -> _Call | None:
        """The call that a piece goes on with; None for one that begins."""
        if key is None:  # without an index, an id or a name begins a call, and so does standing beside another
            found = self._calls[-1] if self._calls and not place else None
            goes_on = found is not None and (found.given == given if given else not name)
            return found if goes_on else None
        found = self._at.get(key)
        if found is None or (given and name and found.given not in ("", given)):
            return None
        # One index for all: a name again is another call where it is another name, or where the first call is whole.
        repeated = name and not given and found.name is not None
        if repeated and (self._names.get(name, name) != found.name or found.is_complete()):
            return None
        return found

    def _new(self, key: Any, given: str) -> _Call:
        id = fresh_id(given, self._taken)
        self._taken.add(id)
        call = _Call(len(self._calls), given, id)
        self._calls.append(call)
        if key is not None:
            self._at[key] = call
        return call


def _unpacked(chunk: dict[str, Any]) -> dict[str, Any]:
    """What is in an envelope `data`, which some servers put around an answer."""
    data = chunk.get("data")
    return cast("dict[str, Any]", data) if isinstance(data, dict) and "choices" not in chunk else chunk


def _checked(chunk: dict[str, Any]) -> dict[str, Any]:
    """A chunk that tells of no error.

    Raises:
        ProviderError: it does.
    """
    if chunk.get("error") or chunk.get("object") == "error" or (not chunk.get("choices") and error_text(chunk)):
        raise sent_error(chunk)
    return chunk


def token_counts(usage: Any, read: str, written: str) -> Usage | None:
    """The usage in an object; None where it is none.

    Args:
        usage: the object.
        read: under which key the tokens of the question stand.
        written: under which key those of the answer stand.
    """
    if not isinstance(usage, dict):
        return None
    counts = cast("dict[str, Any]", usage)
    read_how, written_how = (
        dict_or_empty(counts.get(f"{read}_details")),
        dict_or_empty(counts.get(f"{written}_details")),
    )
    return Usage(
        _count(counts.get(read)),
        _count(counts.get(written)),
        _dollars(counts.get("cost")),
        cached_tokens=_count(read_how.get("cached_tokens")),
        cache_write_tokens=_count(read_how.get("cache_write_tokens")),
        reasoning_tokens=_count(written_how.get("reasoning_tokens")),
    )


def _count(value: Any) -> int:
    return max(int(value), 0) if isinstance(value, int | float) and abs(value) < 1e15 else 0


def _dollars(value: Any) -> float:
    """What a provider says that an answer cost, as OpenRouter does; 0 where that is no amount."""
    is_amount = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15
    return float(value) if is_amount else 0.0


def _text(content: Any) -> str:
    if isinstance(content, list):
        texts = (dict_or_empty(part).get("text") for part in cast("list[Any]", content))
        content = "".join(text for text in texts if isinstance(text, str))
    return replace_surrogates(content) if isinstance(content, str) else ""


def _thinking(message: Mapping[str, Any]) -> str:
    """Thoughts that stand among the parts of the content."""
    content = message.get("content")
    if not isinstance(content, list):
        return ""
    parts = map(dict_or_empty, cast("list[Any]", content))
    return "".join(_text(part.get("thinking")) for part in parts if part.get("type") == "thinking")
