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
from datetime import datetime
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any, Final

from trivium.schema import Message, ToolCall
from trivium.tasks._log_text import Entry

__all__ = ["entry_html", "note_html", "page_head"]

_PREVIEW = 200
_DEEPEST = 6
_KINDS: Final = {"LLM": "llm", "User": "user", "Agent": "agent", "System": "system"}
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_STYLE, _SCRIPT = (files("trivium.tasks").joinpath(f"_log_page.{kind}").read_text("utf-8") for kind in ("css", "js"))


def page_head(task: str) -> str:
    """Return the beginning of a task's page; entries are added at its end."""
    name = _text(task)
    policy = (
        f"default-src 'none'; style-src {_source(_STYLE)}; script-src {_source(_SCRIPT)}; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{name} · log</title>\n<style>{_STYLE}</style>\n<script>{_SCRIPT}</script>\n<body>\n<header>\n"
        f"<h1>{name}</h1>\n"
        '<input type="search" id="filter" placeholder="Filter (press /)" aria-label="Filter">\n'
        '<label><input type="checkbox" id="tries"> all who were asked</label>\n'
        '<button type="button" id="unfold">Unfold</button>\n<button type="button" id="fold">Fold</button>\n'
        '<output id="count"></output>\n</header>\n'
    )


def _source(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def note_html(at: str, when: datetime, kind: str, task: str, text: str) -> str:
    """Return the entry for the beginning or the end of a task, or for a warning at a node."""
    return f'<div class="{kind} {_depth(at)}" data-at="{_text(at)}"><b>{_text(task)}</b> {_text(text)}</div>\n'


def entry_html(entry: Entry) -> str:
    """Return the entry for a response, folded unless it is the outcome of a step."""
    message = entry.message
    kind = _KINDS.get(entry.responder, "task")
    counts = entry.is_result or entry.is_given
    classes = f"entry {kind} {_depth(entry.at)}{'' if counts else ' try'}"
    name = "" if message is None or kind == "task" else message.sender
    who = f"{entry.responder} · {name}" if name and name.lower() != entry.responder.lower() else entry.responder
    recipient = "" if message is None else str(message.receiver or "")
    calls = message.tool_calls if message else ()
    body = "".join(_parts(entry.content, message))
    head = [
        f'<span class="who">{_text(who)}</span>',
        f'<span class="to">→ {_text(recipient)}</span>' if recipient else "",
        *(f'<span class="tool">{_text(call.name)}</span>' for call in calls),
        _preview(entry),
        f'<time datetime="{entry.when.isoformat(timespec="seconds")}">{entry.when:%H:%M:%S}</time>',
    ]
    opened = " open" if counts and body else ""
    start = f'<details class="{classes}" data-at="{_text(entry.at)}"{opened}>'
    return f"{start}<summary>{''.join(head)}</summary>{body}</details>\n"


def _preview(entry: Entry) -> str:
    if entry.content and entry.message is not None:
        line = " ".join(entry.content[: 2 * _PREVIEW].split())[:_PREVIEW]
        return f'<span class="line">{_text(line)}</span>'
    if entry.message is not None and entry.message.tool_calls:
        return ""
    return f'<span class="line none">{"no response" if entry.could_respond else "not addressed"}</span>'


def _parts(content: str, message: Message | None) -> list[str]:
    if message is None:
        return []
    thought = [_part("reasoning", message.reasoning)] if message.reasoning else []
    said = [f"<pre>{_text(content)}</pre>"] if content else []
    calls = [
        _part(f"call {call.name}{f' · {call.id}' if call.id else ''}", _arguments(call), True)
        for call in message.tool_calls
    ]
    values = [_part(f"value {type(each).__name__}", _value(each)) for each in message.attachments]
    return [*thought, *said, *calls, *values]


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


def _depth(at: str) -> str:
    return f"d{min(at.count('/'), _DEEPEST)}"


def _text(text: str) -> str:
    """Escape a text, so that it is text everywhere in the page."""
    visible_text = _CONTROLS.sub(lambda sign: repr(sign[0])[1:-1], text.replace("\r\n", "\n"))
    return escape(visible_text, quote=True)
