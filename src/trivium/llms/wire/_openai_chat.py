"""OpenAI's chat format, and the dialects of it that other servers speak: requests and answers. No I/O."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from trivium.exceptions import MalformedAnswerError
from trivium.llms._protocol import ChatMessage, Delta, Finish, Parameters, Reasoning, ReasoningState, Request
from trivium.llms.wire._answers import (
    AGAIN,
    CHECK,
    Letters,
    ParsedObject,
    dict_or_empty,
    error_text,
    logprobs_of,
    replace_surrogates,
    unfinished,
)
from trivium.llms.wire._fields import Body, CallNames, add_tools, get_dicts, leave_out, own_state
from trivium.llms.wire._openai_calls import CallReader
from trivium.llms.wire._requests import answer_schema, parts_of, sent_function
from trivium.llms.wire._sent_errors import sent_error
from trivium.llms.wire._tool_names import legal
from trivium.llms.wire._written import Beginning
from trivium.schema import JSONValue, ToolSpec, Usage

FORM: Final = "openai-chat"
_PLAIN: Final = {"role", "content"}
ROLES: Final = {"system", "developer", "user", "assistant", "tool", "function"}
_OURS: Final = {"call", "came_as"}
"""Keys of items of a state that are no reasoning details."""
_SHORT: Final = re.compile(r"[a-zA-Z0-9]{9}")
CUT_SHORT: Final = {"length", "content_filter"}


class Dialect(NamedTuple):
    """A server's variant of the chat format.

    Args:
        usage: the server accepts `stream_options`, which request the usage of a streamed answer.
        reasoning: the key under which it expects the model's reasoning back: "reasoning_content", "reasoning", or
            "reasoning_details" for the list that it sent; "" is the key under which it came.
        schema: the server constrains answers to a JSON schema. Otherwise a JSON object is requested, and a system
            message holds the schema.
        max_tokens: name of the parameter for the longest answer; "": the name for the model's family.
        strict: a schema whose objects require all their keys is closed and sent as a strict one, which the server
            enforces. Otherwise it is sent as it is.
        seed: name of the parameter for the seed.
        refused: common parameters that it does not have; they are not sent, for it refuses a request that has them.
        short_ids: it takes only ids of tool calls that are nine letters and digits, as Mistral's models do.
    """

    usage: bool = True
    reasoning: str = ""
    schema: bool = True
    max_tokens: str = ""
    strict: bool = False
    seed: str = "seed"
    refused: frozenset[str] = frozenset()
    short_ids: bool = False


OPENAI: Final = Dialect()


def chat_body(
    model: str,
    request: Request,
    parameters: Parameters,
    names: CallNames,
    dialect: Dialect = OPENAI,
    before: Beginning | None = None,
) -> Body:
    """Make the body of a request.

    Args:
        model: name of the model at the server.
        request: the request; its own parameters are ignored.
        parameters: all parameters, by their common names.
        names: the names of tools and calls at the server.
        dialect: the server's variant of the format.
        before: the messages that were written before, see `form_of`.
    """
    body = dict(parameters)
    if dialect.max_tokens and "max_tokens" in body:
        body[dialect.max_tokens] = body.pop("max_tokens")
    if "seed" in body:
        body.setdefault(dialect.seed, body.pop("seed"))
    if "service_tier" in dialect.refused:
        leave_out(body, "service_tier", model)
    body = {name: value for name, value in body.items() if name not in dialect.refused}
    wanted = body.get("logprobs")
    if isinstance(wanted, int) and not isinstance(wanted, bool):  # older interfaces: the number of tokens wanted
        body.setdefault("top_logprobs", wanted)
    if wanted is not None or "top_logprobs" in body:
        body["logprobs"] = wanted is not False

    def write(messages: Sequence[ChatMessage]) -> list[Body]:
        return [_message(message, model, names, dialect) for message in messages]

    before = before or Beginning(form_of(model, dialect))
    messages = before.write("messages", request.messages, names.tools, write)
    body |= {"model": model, "messages": messages, "stream": True}
    if dialect.usage:
        body["stream_options"] = {"include_usage": True}
    add_tools(body, [chat_tool(tool, names.tools) for tool in request.tools])
    if request.tools:
        choice = names.tools.get(request.tool_choice, request.tool_choice)
        named = choice not in ("auto", "none", "required")
        body["tool_choice"] = {"type": "function", "function": {"name": choice}} if named else choice
    elif "tools" not in body:
        body.pop("parallel_tool_calls", None)
    if request.output_schema is not None:
        if dialect.schema:
            answer = answer_schema(request.output_schema, dialect.strict)
            body["response_format"] = {"type": "json_schema", "json_schema": answer}
        else:
            body["response_format"] = {"type": "json_object"}
            schema = json.dumps(dict(request.output_schema))
            note = f"Answer with one JSON object that satisfies this JSON schema: {schema}"
            messages.insert(0, {"role": "system", "content": note})
    return body


def form_of(model: str, dialect: Dialect) -> Hashable:
    """Identify the form of messages: those of one form and of the same names of tools are written alike."""
    return FORM, model, dialect.reasoning, dialect.short_ids


def _message(message: ChatMessage, model: str, names: CallNames, dialect: Dialect) -> Body:
    """Return a message with a role, names and arguments that the interface accepts."""
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
    state = own_state(message, FORM, model)
    if calls := found.get("tool_calls"):
        extras = {item["call"]: {"extra_content": item["extra_content"]} for item in state if "call" in item}
        found["tool_calls"] = [{**_call(call, names), **extras.get(call.get("id"), {})} for call in calls]
        if dialect.short_ids:
            found["tool_calls"] = [{**call, "id": short_id(call["id"])} for call in found["tool_calls"]]
    if dialect.short_ids and "tool_call_id" in found:
        found["tool_call_id"] = short_id(found["tool_call_id"])
    if role == "assistant":
        found |= _thoughts(state, thoughts, dialect.reasoning)
    return found


def _call(call: ChatMessage, names: CallNames) -> Body:
    return {"id": call.get("id"), "type": "function", "function": sent_function(call, names)}


def short_id(call_id: object) -> str:
    """Return an id of nine letters and digits for the id of a call, always the same one.

    Example:
        >>> short_id("a1B2c3D4e"), short_id("call_0123456789ab")
        ('a1B2c3D4e', '792a7b539')
    """
    known = str(call_id)
    return known if _SHORT.fullmatch(known) else hashlib.sha256(known.encode("utf-8", "replace")).hexdigest()[:9]


def _part(part: Body) -> Body:
    image = part.get("image_url")
    return {**part, "image_url": {"url": image}} if isinstance(image, str) else part


def _thoughts(state: Sequence[Body], thoughts: object, key: str) -> Body:
    """Return the model's reasoning under the key of a dialect; `state`: that of this model in this format."""
    if key == "reasoning_details":
        if details := [item for item in state if not item.keys() & _OURS]:
            return {key: details}
        key = "reasoning"
    if not key:
        key = next((item["came_as"] for item in state if "came_as" in item), "")
    return {key: thoughts} if key and thoughts else {}


def chat_tool(tool: ToolSpec, names: Mapping[str, str] = MappingProxyType({})) -> Body:
    """Return a tool in the interface's form.

    Args:
        tool: the tool.
        names: the names that are sent instead of tools' own names.
    """
    function: Body = {
        "name": names.get(tool.name, tool.name),
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": {**function, "strict": True} if tool.strict else function}


class OpenAIMessageReader:
    """Reads choices and their deltas over all chunks of one answer.

    Args:
        names: tools' own names, by the names that were sent.
        taken: ids of earlier calls; no call of the answer gets one of them.
        model: the model that answers, for the reasoning that is sent back.
        keeps_key: the state tells under which key reasoning came.
    """

    def __init__(
        self,
        names: Mapping[str, str] = MappingProxyType({}),
        taken: Collection[str] = (),
        model: str = "",
        keeps_key: bool = False,
    ) -> None:
        self._calls = CallReader(names, taken)
        self._model = model
        self._letters = Letters()
        self.usage: Usage | None = None
        self.finish_reason: str | None = None
        self._details: list[ParsedObject] = []
        self._keeps_key, self._came_as = keeps_key, ""  # the key under which reasoning came
        self._speaker: JSONValue = None  # the index of the choice whose text is the answer's
        self.over = self._any = self._spoken = self._refused = False

    def read(self, chunk: ParsedObject) -> Iterator[Delta]:
        """Yield the deltas of one chunk.

        Raises:
            ProviderStatusError: the chunk is an error with a status.
            MalformedAnswerError: the chunk is another error.
        """
        if "error" in chunk or "choices" not in chunk:
            chunk = _checked(_unpacked(chunk))
        if (usage := chunk.get("usage")) is not None:
            self.usage = token_counts(usage, "prompt_tokens", "completion_tokens") or self.usage
        choices = chunk.get("choices")
        if isinstance(choices, list):
            for choice in choices:
                if isinstance(choice, dict):
                    yield from self._choice(choice)

    def whole(self, answer: ParsedObject) -> Iterator[Delta]:
        """Yield the deltas of a complete answer.

        Raises:
            ProviderStatusError: it is an error with a status.
            MalformedAnswerError: it is not an answer.
        """
        answer = _checked(_unpacked(answer))
        if not answer.get("choices"):
            raise MalformedAnswerError(f"the server sent an answer without choices: {CHECK}")
        return self.read(answer)

    def _choice(self, choice: ParsedObject) -> Iterator[Delta]:
        message = choice.get("delta") or choice.get("message")
        if isinstance(message, str):
            message = ParsedObject(content=message)
        if message and isinstance(message, dict):
            content, index = message.get("content"), choice.get("index") or 0
            if len(message) > 1 or not isinstance(content, str):
                yield from self._deltas(message, index)
            elif piece := self._text_delta(content, index):  # nearly every chunk
                yield piece
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
            self.finish_reason = reason

    def _deltas(self, message: ParsedObject, choice: JSONValue) -> Iterator[Delta]:
        content = message.get("content")
        if thought := self._thought(message):
            self._any = True
            yield Reasoning(thought)
        if content and (piece := self._text_delta(content, choice)):
            yield piece
        if refusal := _text(message.get("refusal")):
            self._refused = self._spoken = self._any = True
            yield refusal
        calls = message.get("tool_calls")
        for place, call in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(call, dict):
                self._any = True
                yield self._calls.read(call, choice, place)
        if function := dict_or_empty(message.get("function_call")):  # the form that calls had first
            self._any = True
            yield self._calls.read({"index": "function_call", "function": function}, choice)

    def _text_delta(self, content: JSONValue, choice: JSONValue) -> str:
        text = content if isinstance(content, str) else _text(content)
        if text and self._speaker is None:
            self._speaker = choice
        if not text or choice != self._speaker:
            return ""  # another answer to the same question: one was asked for
        self._spoken = self._any = True
        return self._letters.whole(text)

    def _thought(self, message: ParsedObject) -> str:
        key = "reasoning_content" if message.get("reasoning_content") else "reasoning"
        if thought := _text(message.get(key)):
            self._came_as = key
        elif isinstance(message.get("content"), list):  # it may stand among the parts
            parts = get_dicts(message, "content")
            thought = "".join(_text(part.get("thinking")) for part in parts if part.get("type") == "thinking")
        if not isinstance(details := message.get("reasoning_details"), list):
            return thought
        told = [self._keep(detail) for detail in map(dict_or_empty, details) if detail]
        return thought or "".join(told)

    def _keep(self, detail: ParsedObject) -> str:
        """Append a piece of reasoning to the one that it continues, and return its readable text."""
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
        """Yield reasoning state, usage and finish reason; `done` if the server marked the end.

        Raises:
            MalformedAnswerError: the answer is incomplete, empty, or cut off within a tool call.
        """
        if rest := self._letters.rest():
            yield rest
        state = [*self._details, *({"call": id, "extra_content": each} for id, each in self._calls.extras.items())]
        if self._came_as and self._keeps_key:
            state.append({"came_as": self._came_as})
        if state:
            yield ReasoningState(FORM, self._model, tuple(state))
        reason = self.finish_reason
        if reason is None and not (done and self._any):
            raise unfinished(self._any, done)
        if self.usage is not None:
            yield self.usage
        check_answer(self._calls, self._spoken, self._any, reason)
        if self._refused:
            reason = "content_filter"
        elif not self._calls.any and reason in ("tool_calls", "function_call"):
            reason = "stop"
        yield Finish(reason or ("tool_calls" if self._calls.any else "stop"))


def check_answer(calls: CallReader, spoken: bool, thought: bool, reason: str | None) -> None:
    """Check that an answer is not empty, and not cut off within a tool call.

    Raises:
        MalformedAnswerError: it is.
    """
    why = f" (it stopped with '{reason}')" if reason else ""
    if not calls.any and not spoken:
        what = "the model thought and then gave no answer" if thought else "the server sent no answer"
        is_filtered = reason == "content_filter"
        cure = "ask for something else" if is_filtered else "ask again, with a larger max_tokens where that was its end"
        raise MalformedAnswerError(f"{what}{why}; {cure}")
    if reason in CUT_SHORT and (cut := calls.cut_short()):
        raise MalformedAnswerError(
            f"the answer was cut short within a tool call{why}; ask again, with a larger max_tokens", cut
        )


def _unpacked(chunk: ParsedObject) -> ParsedObject:
    """Return the content of an envelope `data`, which some servers put around an answer."""
    data = chunk.get("data")
    return data if isinstance(data, dict) and "choices" not in chunk else chunk


def _checked(chunk: ParsedObject) -> ParsedObject:
    """Return the chunk if it is not an error.

    Raises:
        ProviderError: it is an error.
    """
    if chunk.get("error") or chunk.get("object") == "error" or (not chunk.get("choices") and error_text(chunk)):
        raise sent_error(chunk)
    return chunk


def token_counts(usage: JSONValue, read: str, written: str) -> Usage | None:
    """Return the usage in an object; None if there is no object.

    Args:
        usage: the object.
        read: key of the input tokens.
        written: key of the output tokens.
    """
    if not isinstance(usage, dict):
        return None
    input_details = dict_or_empty(usage.get(f"{read}_details"))
    output_details = dict_or_empty(usage.get(f"{written}_details"))
    dollars = usage.get("cost")  # OpenRouter's
    is_bool = isinstance(dollars, bool)
    usd = float(dollars) if isinstance(dollars, int | float) and not is_bool and 0 <= dollars < 1e15 else 0.0
    return Usage(
        _count(usage.get(read)),
        _count(usage.get(written)),
        usd,
        cached_tokens=_count(input_details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens")),  # DeepSeek's
        cache_write_tokens=_count(input_details.get("cache_write_tokens")),
        reasoning_tokens=_count(output_details.get("reasoning_tokens")),
    )


def _count(value: JSONValue) -> int:
    return max(int(value), 0) if isinstance(value, int | float) and abs(value) < 1e15 else 0


def _text(content: JSONValue) -> str:
    """Return the text of a content: a text, or the joined texts of its parts."""
    if isinstance(content, list):
        texts = (dict_or_empty(part).get("text") for part in content)
        content = "".join(text for text in texts if isinstance(text, str))
    return replace_surrogates(content) if isinstance(content, str) else ""
