"""The program of the process that reads one file: its order and its bytes on stdin, its text on stdout."""

from __future__ import annotations

import json
import sys
from typing import Any

from trivium.exceptions import DocumentError, MissingExtraError
from trivium.parsing.formats._apart import OUT_OF_MEMORY, limit_process
from trivium.parsing.formats._formats import Original
from trivium.parsing.formats._parsers import parse_original

__all__: list[str] = []


def answer() -> None:
    """Read the file, and write one line of JSON, and behind it the text."""
    order = json.loads(sys.stdin.buffer.readline())
    limit_process(order.pop("memory"), order.pop("seconds"))
    about: dict[str, Any]
    text = ""
    try:
        kind, parsed = parse_original(Original(sys.stdin.buffer.read(), **order))
        about, text = {"kind": kind, **parsed._asdict()}, parsed.text
        del about["text"]
        head = json.dumps(about).encode()
    except DocumentError as error:
        head = json.dumps({"error": type(error).__name__, "text": str(error)}).encode()
    except MissingExtraError as error:
        head = json.dumps({"package": error.package, "extra": error.extra}).encode()
    except MemoryError:
        head, text = OUT_OF_MEMORY, ""
    sys.stdout.buffer.write(head + b"\n")
    for start in range(0, len(text), 1 << 20):
        sys.stdout.buffer.write(text[start : start + (1 << 20)].encode())
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    answer()
