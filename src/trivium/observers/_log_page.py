"""The log of a task as a page for the browser.

The page is one file without dependencies, and it only grows at its end: each entry is complete in itself, so that
a page that was cut off, or is read during the run, is valid. Its script groups the entries by run when it is opened;
without it they are listed one below the other. No message can become a part of the page: all text is escaped, and
the page's policy allows only its own script and style.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template
from typing import Any, Final

from trivium.observers._log_text import Entry
from trivium.schema import Message, ToolCall

_PREVIEW = 200
_DEEPEST = 6
_KINDS: Final = {"LLM": "llm", "User": "user", "Agent": "agent", "System": "system"}
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_HEAD, _STYLE, _SCRIPT = (
    files("trivium.observers").joinpath(f"_log_page.{kind}").read_text("utf-8") for kind in ("html", "css", "js")
)


def page_head(task: str) -> str:
    """Return the beginning of a task's page; entries are added at its end."""
    sources = {"style_source": _source(_STYLE), "script_source": _source(_SCRIPT)}
    return Template(_HEAD).substitute(sources, name=_text(task), style=_STYLE, script=_SCRIPT)


def _source(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def render_html(entry: Entry) -> str:
    """Return the entry for the page: a response folded unless it is the outcome of a step, or a note."""
    depth, at = f"d{min(entry.at.count('/'), _DEEPEST)}", _text(entry.at)
    task, responder, message, _, is_result = entry.response
    if entry.note is not None:
        return f'<div class="{responder} {depth}" data-at="{at}"><b>{_text(task)}</b> {_text(entry.note)}</div>'
    kind = _KINDS.get(responder, "task")
    counts = is_result or entry.is_given
    name = "" if message is None or kind == "task" else message.sender
    who = f"{responder} · {name}" if name and name.lower() != responder.lower() else responder
    body = "".join(_parts(entry.content, message)) if message else ""
    head = [
        f'<span class="who">{_text(who)}</span>',
        f'<span class="to">→ {_text(str(message.receiver))}</span>' if message and message.receiver else "",
        *(f'<span class="tool">{_text(call.name)}</span>' for call in (message.tool_calls if message else ())),
        _preview(entry),
        f'<time datetime="{entry.when.isoformat(timespec="seconds")}">{entry.when:%H:%M:%S}</time>',
    ]
    start = f'<details class="entry {kind} {depth}{"" if counts else " try"}" data-at="{at}"'
    return f"{start}{' open' if counts and body else ''}><summary>{''.join(head)}</summary>{body}</details>"


def _preview(entry: Entry) -> str:
    _, _, message, could_respond, _ = entry.response
    if entry.content and message is not None:
        line = " ".join(entry.content[: 2 * _PREVIEW].split())[:_PREVIEW]
        return f'<span class="line">{_text(line)}</span>'
    if message is not None and message.tool_calls:
        return ""
    return f'<span class="line none">{"no response" if could_respond else "not addressed"}</span>'


def _parts(content: str, message: Message) -> Iterator[str]:
    if message.reasoning:
        yield _part("reasoning", message.reasoning)
    if content:
        yield f"<pre>{_text(content)}</pre>"
    for call in message.tool_calls:
        yield _part(f"call {call.name}{f' · {call.id}' if call.id else ''}", _arguments(call), True)
    for each in message.attachments:
        yield _part(f"value {type(each).__name__}", _value(each))


def _part(title: str, text: str, opened: bool = False) -> str:
    start = f'<details class="part"{" open" if opened else ""}>'
    return f"{start}<summary>{_text(title)}</summary><pre>{_text(text)}</pre></details>"


def _arguments(call: ToolCall) -> str:
    try:
        return json.dumps(json.loads(call.arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return call.arguments


def _value(value: Any) -> str:
    try:
        return str(value.to_json()) if hasattr(value, "to_json") else repr(value)
    except Exception:  # an object of a user's that cannot be shown
        return ""


def _text(text: str) -> str:
    """Escape a text, so that it is text everywhere in the page."""
    visible_text = _CONTROLS.sub(lambda sign: repr(sign[0])[1:-1], text.replace("\r\n", "\n"))
    return escape(visible_text, quote=True)
