"""Write docs/limits.md: every limit of what comes from outside, with its default and how to raise it.

    .venv/bin/python scripts/limits.py            writes the file
    .venv/bin/python scripts/limits.py --check    says what differs, and exits with 1

The names and defaults are those of the classes of limits, the texts those of their docstrings.
"""

from __future__ import annotations

import re
import sys
from dataclasses import fields
from inspect import getdoc, signature
from pathlib import Path
from typing import Any

from page_script import write_or_check

from trivium.actions import SandboxLimits
from trivium.actions.web import Fetcher
from trivium.agents.special.sql import ReadOnlyDatabase
from trivium.agents.special.table import ReadOnlyTables, TableLimits
from trivium.distributed import ConnectionLimits, ServeOptions
from trivium.knowledge import IngestLimits
from trivium.mcp import MCPServer
from trivium.parsing import ReadLimits, read
from trivium.serving._app import Chosen

PAGE = Path(__file__).resolve().parents[1] / "docs/limits.md"
HEAD = """# Limits

Everything that comes from outside (files, tables, requests, queries) is read within limits of size, memory, time and
depth. Input that reaches a limit is never truncated silently: you get a `LimitError`. Its `limit` is the name of the
limit, its `value` the value, and its text says how to raise it. A server answers with both in the JSON of its error
(status 413 or 429). `except DocumentLimitError` catches the errors of documents.

```python
import tempfile
from pathlib import Path

from trivium.exceptions import DocumentLimitError
from trivium.parsing import ReadLimits, read

with tempfile.TemporaryDirectory() as folder:
    page = Path(folder, "page.html")
    page.write_text("<p>Fish and chips" * 100)
    try:
        read(page, max_bytes=1000)
    except DocumentLimitError as error:
        print(error.limit, error.value)
    print(len(read(page, max_bytes=10_000, limits=ReadLimits(seconds=60, memory=1 << 30)).content))
```

```text
max_bytes 1000
1599
```

A separate process reads PDF, images, Office and compressed files, and other files of more than 1 MiB that are not read
in parts. It ends when its time is over, and on Linux the kernel bounds its memory. Each page of a scan has the time and
the memory for itself. The unpacked content of an archive is measured, whatever size the archive states; archives within
archives are not opened. The files attached to an e-mail are read one by one, each within these limits; what reaches one
is left out, and named by a warning in the log.

The program's own data has no limit: prompts and templates, settings, caches, cassettes, stored sessions, and the
catalogue of models.

On the command line, `--max-megabytes` (with which the memory grows) and `--max-seconds` of `trivium extract` and
`trivium ask` raise the limits of documents, `--max-scans` that of scanned pages, `--max-runs` and `--max-sessions` of
`trivium serve` those of a server.

This page is written by `scripts/limits.py`.
"""
_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def argument_texts(doc: str | None, heading: str = "Args") -> dict[str, str]:
    """What a docstring says of each argument."""
    part = re.search(rf"^{heading}:\n(.*?)(?=^\S|\Z)", doc or "", re.MULTILINE | re.DOTALL)
    found = re.findall(r"^    (\w+): (.*?)(?=^    \w+: |\Z)", part[1] if part else "", re.MULTILINE | re.DOTALL)
    return {
        name: re.sub(r"[;.,]? \(?[Dd]efault [^()]*\)?$", "", " ".join(text.split()).rstrip(".")) for name, text in found
    }


def shown(name: str, value: object) -> str:
    """A default as people write it."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return "none" if value is None else f"`{value}`"
    is_size = isinstance(value, int) and value >= 1024 and ("bytes" in name or name in {"memory", "size"})
    for unit, sign in _UNITS if is_size else ():
        if value % unit == 0:
            return f"{value // unit:,} {sign}"
    return f"{value:,g}" if isinstance(value, float) else f"{value:,}"


def table(title: str, how: str, rows: dict[str, Any], texts: dict[str, str]) -> str:
    """A part of the page."""
    lines = [f"| `{name}` | {shown(name, value)} | {texts[name]} |" for name, value in rows.items()]
    head = f"\n## {title}\n\n{how}\n\n| limit | default | of what |\n| --- | --- | --- |\n"
    return head + "\n".join(lines) + "\n"


def of_class(kind: type[Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The limits of a dataclass."""
    made = kind()
    found = {each.name: getattr(made, each.name) for each in fields(kind)}
    return {name: value for name, value in found.items() if isinstance(value, int | float)}, argument_texts(
        getdoc(kind)
    )


def of_call(call: Any, *names: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The limits among the arguments of a function."""
    parameters = signature(call).parameters
    return {name: parameters[name].default for name in names}, argument_texts(getdoc(call))


def page() -> str:
    """The page."""
    names = ("max_bytes", "max_runs", "max_sessions", "timeout", "approval_seconds", "keep_days")
    served = {name: getattr(Chosen(), name) for name in names}
    parts = [
        table("Documents: size", "Raise with `read(path, max_bytes=…)`.", *of_call(read, "max_bytes")),
        table("Documents: time and memory", "Raise with `read(path, limits=ReadLimits(…))`.", *of_class(ReadLimits)),
        table("Ingests", "Raise with `Library(store, limits=IngestLimits(…))`.", *of_class(IngestLimits)),
        table("Tables: loading", "Raise with `ReadOnlyTables(data, limits=TableLimits(…))`.", *of_class(TableLimits)),
        table(
            "Tables: queries",
            "Raise with `ReadOnlyTables(data, timeout=…)`.",
            *of_call(ReadOnlyTables, "max_rows", "timeout", "memory"),
        ),
        table(
            "Databases",
            "Raise with `ReadOnlyDatabase(source, timeout=…)`.",
            *of_call(ReadOnlyDatabase, "max_rows", "timeout"),
        ),
        table("Pages of the web", "Raise with `Fetcher(max_bytes=…)`.", *of_call(Fetcher, "max_bytes", "timeout")),
        table(
            "Servers: connections",
            "Raise with `AgentServer(agent, connections=ConnectionLimits(…))`, also of `ToolServer`.\n"
            "One fault is logged once a second at most.",
            *of_class(ConnectionLimits),
        ),
        table(
            "Servers: requests",
            "Raise with `AgentServer(agent, max_bytes=…)`. A body has 100 levels of objects and lists at most.",
            served,
            argument_texts(getdoc(ServeOptions), "Attributes"),
        ),
        table(
            "MCP servers that are used",
            "Raise with `MCPServer(server, max_bytes=…)`.",
            *of_call(MCPServer, "max_bytes", "timeout", "start_seconds"),
        ),
        table("The sandbox of Python code", "Raise with `limits=SandboxLimits(…)`.", *of_class(SandboxLimits)),
    ]
    return HEAD + "".join(parts)


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page, "the limits", __doc__))
