"""What a task's log says of one response, as a page for the browser.

The page is one file that needs nothing else, and it only ever grows at its end: each entry is whole in itself, so
that a page that was cut off, or is read while the run goes on, is a page all the same. Its own script sorts the
entries into their runs when it is opened; without it they stand one below the other. Nothing that was said can
become a part of the page: all of it is escaped, and the page's policy lets only its own script and style run.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from datetime import datetime
from hashlib import sha256
from html import escape
from typing import Any, Final

from trivium.schema import Message, ToolCall
from trivium.tasks._log_text import Entry

__all__ = ["entry_html", "note_html", "page_head"]

_PREVIEW = 200
_DEEPEST = 6
_KINDS: Final = {"LLM": "llm", "User": "user", "Agent": "agent", "System": "system"}
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_STYLE: Final = """
:root { color-scheme: light dark; --page: #f6f7f9; --card: #fff; --text: #1c2230; --quiet: #5a6273; --line: #d9dde5;
  --code: #f0f2f6; --llm: #1d4fb8; --user: #17653a; --agent: #8a4b08; --system: #7a2b8f; --task: #0b6470;
  --bad: #a3211c; }
@media (prefers-color-scheme: dark) { :root { --page: #12151c; --card: #1b202a; --text: #e4e8f0; --quiet: #a3acbd;
  --line: #333b4a; --code: #131820; --llm: #8fb5ff; --user: #7fd6a2; --agent: #f0b26b; --system: #dba1ee;
  --task: #74d3de; --bad: #ff9a94; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 0 1rem 4rem; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; }
header { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; align-items: center; gap: .4rem .8rem;
  padding: .7rem 0; background: var(--page); border-bottom: 1px solid var(--line); margin-bottom: 1rem; }
h1 { font-size: 1.15rem; margin: 0 auto 0 0; overflow-wrap: anywhere; }
input[type=search] { font: inherit; width: 15rem; max-width: 100%; padding: .25rem .6rem; color: inherit;
  background: var(--card); border: 1px solid var(--quiet); border-radius: .4rem; }
button { font: inherit; padding: .2rem .6rem; color: inherit; background: var(--card); border: 1px solid var(--quiet);
  border-radius: .4rem; cursor: pointer; }
label, output { color: var(--quiet); white-space: nowrap; }
:focus-visible { outline: 2px solid var(--llm); outline-offset: 2px; }
summary { cursor: pointer; }
.run { margin: .8rem 0; }
.run .run { margin: .5rem 0 .5rem 1.2rem; padding-left: .8rem; border-left: 3px solid var(--task); }
.run > summary .begin b { margin-right: .4rem; }
.run > summary, .begin, .end { color: var(--quiet); font-size: .88rem; overflow-wrap: anywhere; }
.run > summary { padding: .15rem 0; }
.run > summary b { color: var(--text); font-size: 1rem; }
.run > summary .end::before { content: "· "; } .run > summary .end b { display: none; }
.entry { margin: .35rem 0; background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--task);
  border-radius: .5rem; }
.entry.llm { border-left-color: var(--llm); } .entry.user { border-left-color: var(--user); }
.entry.agent { border-left-color: var(--agent); } .entry.system { border-left-color: var(--system); }
.entry > summary { display: flex; gap: .6rem; align-items: baseline; padding: .35rem .7rem; }
.entry > summary::-webkit-details-marker { display: none; }
.who { font-weight: 600; white-space: nowrap; color: var(--task); }
.llm .who { color: var(--llm); } .user .who { color: var(--user); }
.agent .who { color: var(--agent); } .system .who { color: var(--system); }
.to, time { color: var(--quiet); white-space: nowrap; font-size: .88rem; }
time { margin-left: auto; font-variant-numeric: tabular-nums; }
.tool { white-space: nowrap; font-size: .82rem; padding: 0 .45rem; border: 1px solid var(--agent); color: var(--agent);
  border-radius: 1rem; }
.line { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; min-width: 0; flex: 0 1 auto; }
details[open] > summary > .line { display: none; }
.try { opacity: .82; border-style: dashed; border-left-style: solid; }
.try .line.none { color: var(--quiet); font-style: italic; }
pre { margin: 0; padding: .55rem .8rem; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 32rem;
  overflow: auto; font: 13.5px/1.5 ui-monospace, monospace; unicode-bidi: isolate; border-top: 1px solid var(--line); }
.part { border-top: 1px solid var(--line); }
.part > summary { padding: .2rem .8rem; color: var(--quiet); font-size: .88rem; }
.part > pre { background: var(--code); }
.d1 { margin-left: 1.5rem; } .d2 { margin-left: 3rem; } .d3 { margin-left: 4.5rem; } .d4 { margin-left: 6rem; }
.d5, .d6 { margin-left: 7.5rem; }
.run > .entry { margin-left: 0; }
[hidden] { display: none !important; }
body:has(#tries:not(:checked)) .try { display: none; }
@media (max-width: 40rem) { .entry > summary { flex-wrap: wrap; } .line { white-space: normal; flex-basis: 100%; } }
@media print { header { position: static; } pre { max-height: none; } }
"""

_SCRIPT: Final = """
document.addEventListener("DOMContentLoaded", () => {
  const find = (selector) => [...document.querySelectorAll(selector)];
  const main = document.createElement("main"), runs = new Map();
  function run(at) {
    if (!runs.has(at)) {
      const box = document.createElement("details"), cut = at.lastIndexOf("/");
      box.className = "run";
      box.open = true;
      box.append(document.createElement("summary"));
      (cut < 0 ? main : run(at.slice(0, cut))).append(box);
      runs.set(at, box);
    }
    return runs.get(at);
  }
  for (const each of find("body > [data-at]")) {
    const box = run(each.dataset.at);
    if (each.matches(".entry")) box.append(each);
    else {
      const text = document.createElement("span");
      text.className = each.classList[0];
      text.append(...each.childNodes);
      box.firstChild.append(text, " ");
      each.remove();
    }
  }
  for (const box of runs.values()) if (!box.firstChild.hasChildNodes()) box.firstChild.append("outside a run");
  document.body.append(main);

  const entries = find(".entry"), said = new Map(entries.map((each) => [each, each.textContent.toLowerCase()]));
  const box = document.getElementById("filter"), tries = document.getElementById("tries");
  function filter() {
    const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
    let shown = 0, all = 0;
    for (const each of entries) {
      const counts = tries.checked || !each.matches(".try");
      each.hidden = !words.every((word) => said.get(each).includes(word));
      all += counts;
      shown += counts && !each.hidden;
    }
    const kept = tries.checked ? ".entry:not([hidden])" : ".entry:not([hidden], .try)";
    for (const each of runs.values()) each.hidden = words.length > 0 && !each.querySelector(kept);
    document.getElementById("count").textContent = words.length ? `${shown} of ${all} entries` : `${all} entries`;
  }
  const fold = (open) => () => find(".entry").forEach((each) => { each.open = open; });
  box.addEventListener("input", filter);
  tries.addEventListener("change", filter);
  document.getElementById("unfold").addEventListener("click", fold(true));
  document.getElementById("fold").addEventListener("click", fold(false));
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== box) { event.preventDefault(); box.focus(); }
  });
  filter();
});
"""


def page_head(task: str) -> str:
    """The page of a task, before anything was said; entries are added at its end."""
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
    """One response, folded away where it is not what a step came to."""
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
    """Text that is nothing but text wherever it stands in the page."""
    shown = _CONTROLS.sub(lambda sign: repr(sign[0])[1:-1], text.replace("\r\n", "\n"))
    return escape(shown, quote=True)
