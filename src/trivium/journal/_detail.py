"""A node of a recorded run with what it was told and what it answered, for people to read."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, cast

from trivium.events import JSONObject
from trivium.journal._codec import Codec, notes_in, without_notes
from trivium.journal._store import Entry, Part
from trivium.journal._tree import RunNode

MOST_BEFORE: Final = 400
"""The records before a node that tell what it knew."""


def entries_near(entries: Sequence[Entry], key: str, most: int = MOST_BEFORE) -> list[Entry]:
    """Return the records of a node, of the one above it, and those before it; see `Store.near`.

    Args:
        entries: the records of a run.
        key: the key of the node.
        most: how many of those before it.
    """
    own = next((each for each in entries if each.node == key), None)
    if own is None:
        return []
    return [each for each in entries if each.node in (key, own.parent) or own.seq - most <= each.seq <= own.seq]


def plain(value: Any) -> Any:
    """Return recorded JSON values without the names of their classes.

    Example:
        >>> plain({"$": "ToolCall", "v": {"name": "pay", "tags": {"$": "tuple", "v": [1]}}})
        {'name': 'pay', 'tags': [1]}
    """
    if isinstance(value, list):
        return [plain(each) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    found = cast("dict[str, Any]", value)
    return plain(found["v"]) if "$" in found and "v" in found else {key: plain(each) for key, each in found.items()}


def describe_node(key: str, entries: Sequence[Entry], codec: Codec, parts: Callable[[str], list[Part]]) -> JSONObject:
    """Return a node as JSON values.

    Args:
        key: its key.
        entries: the records near it, as `entries_near` returns them.
        codec: reads what they hold.
        parts: returns what is stored under a digest.

    Returns:
        `name`, `asked`, `outcome`, `error`, `usage`; `input`: what the module above was asked, where it is recorded;
        `before`: what the nodes beside it had answered; `agent`: what the agent was made of that asked.
    """
    own = next(each for each in entries if each.node == key)
    node, above = RunNode(key, own.name), RunNode(own.parent, own.parent)
    agents: dict[str, str] = {}
    before, earlier = list[JSONObject](), list[JSONObject]()
    for entry in entries:
        if entry.kind == "outcome":
            agents |= notes_in(entry.body).agents
        if entry.node == key:
            node.read(entry, codec)
        elif entry.node == own.parent:
            above.name = entry.name
            if entry.kind == "call":
                above.read(entry, codec)
        elif entry.kind in ("outcome", "error") and entry.seq < own.seq:
            earlier.append({"key": entry.node, **_answer(entry)})
            before += earlier[-1:] if entry.parent == own.parent else ()
    asked, agent = plain(node.asked), agents.get(above.name, "")
    if node.name.startswith("tool:"):
        asked = _arguments(node.name, earlier) if asked is None else _parsed(asked[-1])
    return {
        "key": key, "name": node.name, "asked": asked, "outcome": plain(node.outcome), "error": node.error,
        "input": plain(above.asked), "before": before,
        "usage": [node.usage.input_tokens, node.usage.output_tokens, node.usage.usd],
        "agent": json.loads(parts(agent)[-1].body) if agent and node.name == "model" else None,
    }  # fmt: skip


def _answer(entry: Entry) -> JSONObject:
    found = without_notes(entry.body)
    if entry.kind == "error":
        return {"name": entry.name, "error": f"{found['kind']}: {found['text']}"}
    return {"name": entry.name, "outcome": plain(found)}


def _arguments(name: str, before: Sequence[JSONObject]) -> Any:
    """Return the arguments with which the last model has called a tool: of its calls the first without an answer."""
    since = next((at for at in range(len(before) - 1, -1, -1) if before[at]["name"] == "model"), -1)
    if since < 0 or not isinstance(before[since].get("outcome"), dict):
        return None
    calls = [each for each in before[since]["outcome"].get("tool_calls") or () if f"tool:{each['name']}" == name]
    number = sum(each["name"] == name for each in before[since + 1 :])
    return _parsed(calls[number]["arguments"]) if number < len(calls) else None


def _parsed(arguments: Any) -> Any:
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return arguments


def read_input(body: object) -> JSONObject:
    """Return the text of the first message and the session that the first record of a run tells; of a damaged one no
    text, so that it hides no other run."""
    with suppress(ValueError, TypeError, AttributeError, LookupError, RecursionError):
        begun = cast("JSONObject", plain(json.loads(cast("str", body))))
        asked: list[JSONObject] = begun.get("asked") or []
        content = asked[0].get("content") if asked else ""
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        return {"text": text[:1000], "session": begun.get("session"), "fork": begun.get("fork")}
    return {"text": "", "session": None, "fork": None}
