"""Pages and elements that show one run without a server."""

from __future__ import annotations

import html
import json
import re
from typing import Final

from trivium.events import JSONObject
from trivium.ui._files import PACKAGES, read_files

_LOADER: Final = """
const files = JSON.parse(document.getElementById("trivium-files").textContent);
const made = new Map();
const load = (name) => {
  if (!made.has(name)) {
    const text = files[name].replace(/(from\\s*|import\\s*)"([^"]+)"/g, (all, before, wanted) => {
      const path = files.packages[wanted] ?? new URL(wanted, `http://x/${name}`).pathname.slice(1);
      return `${before}"${load(path)}"`;
    });
    made.set(name, URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
  }
  return made.get(name);
};
globalThis.triviumCSS = files["app.css"];
import(load("element.js"));
"""
"""Loads the modules from the page itself: each becomes a file in the browser's memory, after those that it imports."""
_IMPORT: Final = re.compile(r'(?:from\s*|import\s*)"([^"]+)"')
_POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)


def run_element(run: JSONObject) -> str:
    """Return a run as HTML that shows it wherever scripts of a page may run, as in a notebook.

    Args:
        run: the run with its `outline` and its `nodes`, as `RunView.as_json` gives it.
    """
    contents = {name: content.decode() for name, content in read_files().items()}
    wanted, todo = dict[str, str | dict[str, str]](), ["element.js"]
    while todo:
        name = todo.pop()
        if name not in wanted:
            wanted[name] = contents[name]
            todo += [_resolve(each) for each in _IMPORT.findall(contents[name])]
    files = {**wanted, "app.css": contents["app.css"], "packages": PACKAGES}
    about = html.escape(f"The run {run['run']['id']} is {run['run']['state']}")
    return (
        f"<trivium-run><p>{about}. It is shown here where scripts may run: trust the notebook.</p>"
        f'<script type="application/json">{_json(run)}</script></trivium-run>'
        f'<script type="application/json" id="trivium-files">{_json(files)}</script>'
        f'<script type="module">{_LOADER}</script>'
    )


def run_page(run: JSONObject) -> str:
    """Return a page of one run, in one file: it needs no server and no network, and nothing of it runs but our own.

    Args:
        run: as for `run_element`.
    """
    title = html.escape(str(run["run"]["id"]))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta http-equiv="content-security-policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"></head>\n<body>{run_element(run)}</body></html>\n'
    )


def _resolve(name: str) -> str:
    return PACKAGES.get(name) or name.removeprefix("./")


def _json(value: object) -> str:
    """Return JSON that can stand within a script: it has no end of one."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
