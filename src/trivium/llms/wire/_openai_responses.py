"""OpenAI's Responses format: request bodies from requests, deltas from events. No I/O.

Nothing is stored at the server (`store` is false): the model's reasoning arrives encrypted, and goes back with the next
request at its position among the messages and calls of its answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from trivium.exceptions import MalformedAnswerError
from trivium.llms._protocol import ChatMessage, Delta, Finish, Parameters, Reasoning, ReasoningState, Request
from trivium.llms.wire._answers import (
    CHECK,
    Letters,
    ParsedObject,
    dict_or_empty,
    error_text,
    logprobs_of,
    replace_surrogates,
    unfinished,
)
from trivium.llms.wire._fields import Body, CallNames, add_tools, own_state
from trivium.llms.wire._openai_calls import CallReader, custom_call
from trivium.llms.wire._openai_chat import check_answer, token_counts
from trivium.llms.wire._requests import answer_schema, parts_of, sent_function
from trivium.llms.wire._sent_errors import sent_error
from trivium.llms.wire._written import Beginning
from trivium.schema import JSONValue, ToolSpec, Usage

FORM: Final = "openai-responses"
NOT_TAKEN: Final = frozenset({"frequency_penalty", "logit_bias", "n", "presence_penalty", "seed", "stop"})
"""Parameters of the chat format that this format does not have."""
REASONS: Final = {"max_output_tokens": "length", "content_filter": "content_filter"}
ROLES: Final = {"system", "developer", "assistant"}


def responses_beginning(model: str, messages: Sequence[ChatMessage]) -> Beginning:
    """Return what was written of messages before."""
    return Beginning.behind_system(messages, (FORM, model))


def responses_body(
    model: str,
    request: Request,
    parameters: Parameters,
    names: CallNames,
    before: Beginning | None = None,
    strict: bool = False,
) -> Body:
    """Make the body of a request.

    Args:
        model: name of the model at the server.
        request: the request; its own parameters are ignored.
        parameters: all parameters, by their common names; those that the format does not have are left out.
        names: the names of tools and calls at the server.
        before: the messages that were written before, see `responses_beginning`.
        strict: the server enforces strict schemas, see `Dialect.strict`.
    """
    body = {name: value for name, value in parameters.items() if name not in NOT_TAKEN}
    include = {"reasoning.encrypted_content": None} | dict.fromkeys(body.get("include") or ())
    _rename(body, include)
    body |= {"model": model, "stream": True, "store": False, "include": list(include)}
    before = before or responses_beginning(model, request.messages)
    if before.start:
        body["instructions"] = "\n\n".join(_text(each.get("content")) for each in request.messages[: before.start])

    def write(messages: Sequence[ChatMessage]) -> list[Body]:
        return [item for message in messages for item in _items(message, model, names)]

    body["input"] = before.write("input", request.messages, names.tools, write)
    add_tools(body, [_tool(tool, names) for tool in request.tools])
    if request.tools:
        choice = names.tools.get(request.tool_choice, request.tool_choice)
        named = choice not in ("auto", "none", "required")
        body["tool_choice"] = {"type": "function", "name": choice} if named else choice
    elif "tools" not in body:
        body.pop("parallel_tool_calls", None)
    if request.output_schema is not None:
        form = {"type": "json_schema", **answer_schema(request.output_schema, strict)}
        body["text"] = {**dict_or_empty(body.get("text")), "format": form}
    return body


def _rename(body: Body, include: dict[str, None]) -> None:
    """Move common parameters to their places in this format."""
    if "max_tokens" in body:
        body["max_output_tokens"] = body.pop("max_tokens")
    reasoning = dict_or_empty(body.get("reasoning"))
    for key in ("effort", "summary"):
        if (value := body.pop(f"reasoning_{key}", None)) is not None:
            reasoning = {**reasoning, key: value}
    if reasoning:
        body["reasoning"] = reasoning
    if (verbosity := body.pop("verbosity", None)) is not None:
        body["text"] = {**dict_or_empty(body.get("text")), "verbosity": verbosity}
    wanted = body.pop("logprobs", None)
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        body.setdefault("top_logprobs", wanted)
    if wanted is not False and (wanted is not None or "top_logprobs" in body):
        include["message.output_text.logprobs"] = None


def _items(message: ChatMessage, model: str, names: CallNames) -> Iterator[Body]:
    """Yield the items for a message."""
    role, content = message.get("role"), message.get("content")
    call_id = message.get("tool_call_id")
    if role == "tool" and call_id is not None:
        output = [_part(part) for part in parts_of(content)] if isinstance(content, list) else _text(content)
        yield {"type": "function_call_output", "call_id": str(call_id), "output": output}
    elif role == "assistant":
        yield from _answer(message, model, names)
    else:
        role = role if role in ROLES else "user"
        is_text = not isinstance(content, list)
        yield {"role": role, "content": _text(content) if is_text else [_part(part) for part in parts_of(content)]}


def _answer(message: ChatMessage, model: str, names: CallNames) -> Iterator[Body]:
    """Yield an answer as the items in which it arrived, if its text is unchanged; otherwise its text and its calls."""
    calls = {str(call.get("id")): _call(call, names) for call in message.get("tool_calls") or ()}
    text, state = _text(message.get("content")), own_state(message, FORM, model)
    said = "".join(item["content"] for item in state if item.get("role") == "assistant")
    thoughts: list[Body] = []  # reasoning is refused without the item that followed it
    for item in state:
        came = item
        if item.get("type") == "reasoning":
            thoughts.append(item)
            continue
        if item.get("type") == "function_call":
            came = calls.pop(item["call_id"], None)
        elif item.get("role") == "assistant" and said != text:
            came = {"role": "assistant", "content": text} if text else None
            text = ""
        if came is not None:
            yield from (*thoughts, came)
        thoughts.clear()
    if text and said != text:
        yield {"role": "assistant", "content": text}
    yield from calls.values()


def _call(call: ChatMessage, names: CallNames) -> Body:
    return {"type": "function_call", "call_id": str(call.get("id")), **sent_function(call, names)}


def _tool(tool: ToolSpec, names: CallNames) -> Body:
    name = names.tools.get(tool.name, tool.name)
    # Without `strict`, this interface takes every tool for a strict one.
    found = {"name": name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", **found, "strict": tool.strict}


def _part(part: Body) -> Body:
    """Convert a message part of the chat format to this format."""
    kind = part.get("type")
    if kind == "text":
        return {"type": "input_text", "text": str(part.get("text") or "")}
    if kind == "image_url":
        image = part.get("image_url")
        found = dict_or_empty(image) or {"url": image}
        return {"type": "input_image", "image_url": found.get("url"), "detail": found.get("detail") or "auto"}
    if kind == "file":
        file = dict(dict_or_empty(part.get("file")))
        if str(file.get("file_data") or "").startswith(("http://", "https://")):
            file = {"file_url": file["file_data"]}  # this format has a key of its own for a URL
        return {"type": "input_file", **file}
    return part


class ResponsesReader:
    """Reads the events of one answer.

    Args:
        names: the names of tools and calls at the server.
        model: the model that answers, for the reasoning that is sent back.
    """

    def __init__(self, names: CallNames, model: str = "") -> None:
        self._calls = CallReader(names.own, names.taken)
        self._model = model
        self._letters = Letters()
        self._at: dict[int | str, _Item] = {}  # by the server's index
        self._items: list[_Item] = []
        self._seen: set[str] = set()  # the ids of items
        self.usage: Usage | None = None
        self._reason: str | None = None
        self.over = self._thought = self._spoken = self._refused = False

    def read(self, chunk: ParsedObject) -> Iterator[Delta]:
        """Yield the deltas of one event.

        Raises:
            ProviderStatusError: the event is an error with a status.
            MalformedAnswerError: the event is another error.
        """
        kind = chunk.get("type")
        if kind in ("response.output_text.delta", "response.refusal.delta"):
            self._refused = self._refused or kind == "response.refusal.delta"
            yield from self._text_piece(self._place(chunk), chunk.get("delta"), chunk.get("logprobs"))
        elif kind == "response.function_call_arguments.delta":
            yield from self._call_piece(self._place(chunk), {"arguments": chunk.get("delta")})
        elif kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
            part = chunk.get("summary_index", chunk.get("content_index"))
            yield from self._thought_piece(self._place(chunk), chunk.get("delta"), part)
        elif kind == "response.output_item.added":
            self._at.pop(_index(chunk), None)  # some servers have one index for all
            yield from self._begun(self._place(chunk), dict_or_empty(chunk.get("item")))
        elif kind == "response.output_item.done":
            yield from self._ended(self._place(chunk), dict_or_empty(chunk.get("item")))
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            yield from self.whole(dict_or_empty(chunk.get("response")) or chunk)
            self.over = True
        elif kind == "error" or (kind is None and error_text(chunk)):
            raise sent_error(chunk)

    def whole(self, answer: ParsedObject) -> Iterator[Delta]:
        """Yield the deltas of a complete answer, without those that have arrived in pieces.

        Raises:
            ProviderStatusError: it is an error with a status.
            MalformedAnswerError: it is not an answer, or the model failed.
        """
        status, output = answer.get("status"), answer.get("output")
        if answer.get("error") or status in ("failed", "cancelled") or (not output and error_text(answer)):
            raise sent_error(answer)
        if not isinstance(output, list) and not self._items:
            raise MalformedAnswerError(f"the server sent an answer without output: {CHECK}")
        streamed = frozenset(self._seen)
        for index, item in enumerate(map(dict_or_empty, output if isinstance(output, list) else ())):
            if index not in self._at and not streamed & _ids(item):
                yield from self._ended(self._place({"output_index": index}), item)
        self.usage = token_counts(answer.get("usage"), "input_tokens", "output_tokens") or self.usage
        if status in (None, "completed"):
            self._reason = "stop"
        elif status == "incomplete":
            why = dict_or_empty(answer.get("incomplete_details")).get("reason")
            self._reason = REASONS.get(str(why), str(why or "length"))
        elif isinstance(status, str) and status not in ("in_progress", "queued"):
            self._reason = status

    def _place(self, chunk: ParsedObject) -> _Item:
        index = _index(chunk)
        found = self._at.get(index)
        if found is None:
            found = self._at[index] = _Item(len(self._items))
            self._items.append(found)
        return found

    def _text_piece(self, place: _Item, text: JSONValue, logprobs: JSONValue = None) -> Iterator[Delta]:
        if isinstance(text, str) and text:
            self._spoken = True
            place.came.append(text)
            if piece := self._letters.whole(text):
                yield piece
        if logprobs and (tokens := logprobs_of(logprobs)) is not None:
            yield tokens

    def _thought_piece(self, place: _Item, text: JSONValue, part: JSONValue) -> Iterator[Delta]:
        if isinstance(text, str) and text:
            is_next = place.part is not None and place.part != part  # each part is a paragraph of its own
            place.part, self._thought = part, True
            place.came.append(text)
            yield Reasoning(replace_surrogates(f"\n\n{text}" if is_next else text))

    def _call_piece(self, place: _Item, piece: ParsedObject) -> Iterator[Delta]:
        part = self._calls.read({"index": place.number, **piece})
        place.id, place.named = part.id or place.id, place.named or part.name is not None
        place.came.append(part.arguments)
        yield part

    def _begun(self, place: _Item, item: ParsedObject) -> Iterator[Delta]:
        self._seen |= _ids(item)
        if item.get("type") == "function_call":
            yield from self._call_piece(place, {"id": item.get("call_id"), **_named(item), "arguments": ""})

    def _ended(self, place: _Item, item: ParsedObject) -> Iterator[Delta]:
        """Yield the rest of an item that is complete now."""
        self._seen |= _ids(item)
        kind, came = item.get("type"), "".join(place.came)
        if kind == "function_call":
            rest = _rest(item.get("arguments"), came)
            if rest or not place.named:
                name = {} if place.named else _named(item)
                begins = {} if place.id else {"id": item.get("call_id")}
                yield from self._call_piece(place, {**begins, **name, "arguments": rest})
            place.kept = {"type": "function_call", "call_id": place.id}
        elif kind == "custom_tool_call":
            raise custom_call(item)
        elif kind == "message":
            yield from self._message(place, item, came)
        elif kind is not None:
            if kind != "reasoning":
                place.kept = item
            elif item.get("encrypted_content") or item.get("content"):  # else nothing is in it
                place.kept = {key: value for key, value in item.items() if value is not None and key != "status"}
            if kind == "reasoning" and not came:
                for part, said in enumerate(parts_of(item.get("summary") or item.get("content") or [])):
                    yield from self._thought_piece(place, said.get("text"), part)

    def _message(self, place: _Item, item: ParsedObject, came: str) -> Iterator[Delta]:
        parts = [part for part in parts_of(item.get("content") or []) if part.get("type") != "text" or part.get("text")]
        self._refused = self._refused or any(part.get("refusal") for part in parts)
        said = "".join(str(part.get("text") or part.get("refusal") or "") for part in parts)
        logprobs = [token for part in parts for token in part.get("logprobs") or ()] if not came else None
        yield from self._text_piece(place, _rest(said, came), logprobs)
        phase = {"phase": item["phase"]} if item.get("phase") else {}
        if said:
            place.kept = {"role": "assistant", "content": replace_surrogates(said), **phase}

    def end(self, done: bool) -> Iterator[Delta]:
        """Yield reasoning state, usage and finish reason; `done` if the server marked the end.

        Raises:
            MalformedAnswerError: the answer is incomplete, empty, or cut off within a tool call.
        """
        if rest := self._letters.rest():
            yield rest
        kept = tuple(item.kept for item in self._items if item.kept)
        if any(("type" in item and item["type"] != "function_call") or "phase" in item for item in kept):
            yield ReasoningState(FORM, self._model, kept)
        is_any = self._spoken or self._calls.any
        if self._reason is None and not (done and is_any):
            raise unfinished(is_any or self._thought, done)
        if self.usage is not None:
            yield self.usage
        check_answer(self._calls, self._spoken, self._thought, self._reason)
        if self._refused:
            yield Finish("content_filter")
        elif self._reason in (None, "stop"):
            yield Finish("tool_calls" if self._calls.any else "stop")
        else:
            yield Finish(self._reason)


class _Item:
    """An item of an answer as far as it has arrived."""

    __slots__ = ("came", "id", "kept", "named", "number", "part")

    def __init__(self, number: int) -> None:
        self.number = number
        self.came: list[str] = []
        self.id: str | None = None
        self.named = False
        self.part: JSONValue = None
        self.kept: ParsedObject = {}


def _index(chunk: ParsedObject) -> int | str:
    """Return the index or id that all pieces of one item have."""
    index = chunk.get("output_index")
    return index if isinstance(index, int) else str(chunk.get("item_id") or dict_or_empty(chunk.get("item")).get("id"))


def _ids(item: ParsedObject) -> set[str]:
    return {id for id in (item.get("id"), item.get("call_id")) if isinstance(id, str) and id}


def _named(item: ParsedObject) -> ParsedObject:
    return {"name": item.get("name")}


def _rest(whole: JSONValue, came: str) -> JSONValue:
    """Return the part of a text that has not arrived yet; another value if nothing has arrived."""
    if isinstance(whole, str):
        return whole[len(came) :] if whole.startswith(came) else ""
    return None if came else whole


def _text(content: object) -> str:
    return "".join(str(part.get("text") or "") for part in parts_of(content))
