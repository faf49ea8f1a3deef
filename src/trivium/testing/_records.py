"""The text form of a journal's records: a file that is committed with tests, and whose changes can be read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, cast

from trivium.exceptions import CassetteError

FORMAT: Final = 1
_WIDTH: Final = 100
_FORMS: Final = ("trivium_records", "trivium_cassette", "trivium_run")
_OLD_LISTS: Final = frozenset(("interactions", "answers"))
_OLD_KEYS: Final = {"request": "asked", "response": "body", "answer": "body", "caller": "parent"}
"""The names in files from before cassettes of HTTP and of runs had one form, and the names now."""


def read_records(path: Path, name: str) -> list[Mapping[str, Any]]:
    """Read the records of effects of a name, such as "http" or "model".

    Each has the `name`, the `kind` ("outcome" or "error"), the `body` (what was answered), and what was `asked`, or the
    `digest` of that.

    Raises:
        FileNotFoundError: there is no file.
        OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError: it holds no such records.
    """
    stored = json.loads(path.read_text(encoding="utf-8"))
    form = next((stored[key] for key in _FORMS if key in stored), None)
    if form != FORMAT:
        raise ValueError(f"its form is {form!r}, not {FORMAT}")
    for old in _OLD_LISTS & stored.keys():
        records: list[dict[str, Any]] = stored[old]
        return [{"name": name} | {_OLD_KEYS.get(key, key): value for key, value in each.items()} for each in records]
    others = {each["name"] for each in stored["records"]} - {name}
    if others:
        raise ValueError(f"it holds records of {', '.join(sorted(others))}, not of {name}")
    return stored["records"]


def write_records(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Write records atomically, so that the file is always complete, also with several writers.

    Raises:
        CassetteError: it cannot be written.
    """
    text = layout({"trivium_records": FORMAT, "records": records}, name="file") + "\n"
    part = path.with_name(f".{path.name}.{token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            part.write_text(text, encoding="utf-8", newline="\n")
            os.replace(part, path)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise
    except OSError as error:
        text = f"cannot write {path}: {error.strerror or error}; choose another place"
        raise CassetteError(text, str(path)) from error


def layout(value: object, indent: int = 0, name: str = "") -> str:
    """Render readable JSON: short values on one line, and each event of a stream on its own line."""
    line = _line(value)
    if not value or not isinstance(value, dict | list) or name == "event" or indent + len(line) <= _WIDTH:
        return line
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        parts = [f"{inner}{_line(key)}: {layout(each, indent + 2, key)}" for key, each in items]
    else:
        below = "event" if name == "events" else ""
        parts = [inner + layout(each, indent + 2, below) for each in cast("list[Any]", value)]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return begin + "\n" + ",\n".join(parts) + "\n" + " " * indent + end


def _line(value: object) -> str:
    line = json.dumps(value, ensure_ascii=False)
    try:
        line.encode()
    except UnicodeEncodeError:  # an unpaired surrogate, which UTF-8 cannot encode
        return json.dumps(value)
    return line
