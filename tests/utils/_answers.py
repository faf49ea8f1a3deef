"""Answers for the tests: whole ones by chance, and the pieces in which they arrive."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st
from openai.types.chat import ChatCompletionChunk

from trivium.llms import Delta, Finish, ToolCallPart

FLAG = "to_user"
Expected = tuple[str, list[dict[str, Any]]]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | st.just(FLAG), inner, max_size=3),
    max_leaves=8,
)
"""Any value; objects inside may have the flag as a key."""

TEXT = st.text(st.characters(codec="utf-8") | st.sampled_from('"\\/\n\t{}[]:,u\U0001f600é'), max_size=24)
"""Any text, with much that JSON escapes."""


class Call(NamedTuple):
    """A tool call, as the model writes it and as it should come out."""

    name: str
    arguments: str

    @property
    def values(self) -> dict[str, Any]:
        return json.loads(self.arguments or "{}")

    @property
    def said(self) -> str:
        value = self.values.get(FLAG)
        return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


@st.composite
def calls(draw: st.DrawFn, said: st.SearchStrategy[Any] = TEXT) -> Call:
    """A call whose arguments have the flag first, last, in the middle, as the only key, or not at all."""
    others = draw(st.dictionaries(st.text(max_size=6).filter(lambda key: key != FLAG), JSON, max_size=3))
    items = list(others.items())
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), (FLAG, draw(said)))
    text = json.dumps(
        dict(items),
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, None, 1])),
        separators=draw(st.sampled_from([None, (",", ":")])),
    )
    return Call(draw(st.sampled_from(["add", "look up", 'a"b'])), "" if not items and draw(st.booleans()) else text)


def cut(text: str, sizes: Sequence[int]) -> Iterator[str]:
    """The text in pieces of these sizes, over and over."""
    at = number = 0
    while at < len(text):
        size = sizes[number % len(sizes)]
        yield text[at : at + size]
        at, number = at + size, number + 1


SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=5) | st.just([1]) | st.just([1_000_000])


def deltas(text: str, calls: Iterable[Call], sizes: Sequence[int]) -> Iterator[Delta]:
    """An answer: text, then one call after the other."""
    yield from cut(text, sizes)
    for index, call in enumerate(calls):
        yield ToolCallPart(index, f"id{index}", call.name)
        for piece in cut(call.arguments, sizes):
            yield ToolCallPart(index, arguments=piece)
    yield Finish("tool_calls")


def expected(text: str, calls: Iterable[Call]) -> Expected:
    """What the user reads, and the calls, found with `json.loads`."""
    calls = list(calls)
    entries = [
        {
            "tool_call_index": index,
            "tool_call_id": f"id{index}",
            "name": call.name,
            "arguments": {key: value for key, value in call.values.items() if key != FLAG},
        }
        for index, call in enumerate(calls)
    ]
    return text + "\n".join(call.said for call in calls if call.said), entries


def as_dict(delta: Delta) -> dict[str, Any]:
    """The chunk of an OpenAI stream that says the same."""
    choice: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": None}
    if isinstance(delta, str):
        choice["delta"]["content"] = delta
    elif isinstance(delta, ToolCallPart):
        function = {"name": delta.name, "arguments": delta.arguments}
        call = {"index": delta.index, "id": delta.id, "type": "function" if delta.id else None, "function": function}
        choice["delta"]["tool_calls"] = [call]
    elif isinstance(delta, Finish):
        choice["finish_reason"] = delta.reason
    return {"id": "1", "created": 1, "model": "m", "object": "chat.completion.chunk", "choices": [choice]}


def as_chunk(delta: Delta) -> ChatCompletionChunk:
    """The same as the object that the package `openai` gives."""
    return ChatCompletionChunk.model_validate(as_dict(delta))


def as_is(delta: Delta) -> Delta:
    """The delta itself."""
    return delta


FORMS: st.SearchStrategy[Callable[[Delta], Any]] = st.sampled_from([as_is, as_dict, as_chunk])
"""The forms in which a source may give its pieces."""
