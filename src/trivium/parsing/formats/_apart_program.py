"""The program of the process that reads one file: its order and its bytes on stdin, its text and boxes on stdout."""

from __future__ import annotations

import json
import sys

from trivium.exceptions import DocumentError, MissingExtraError
from trivium.parsing.formats._apart import OUT_OF_MEMORY, limit_process
from trivium.parsing.formats._formats import Original
from trivium.parsing.formats._parsers import parse_original

__all__: list[str] = []


def answer() -> None:
    """Read the file, and write one line of JSON, and behind it the text and its boxes."""
    order = json.loads(sys.stdin.buffer.readline())
    limit_process(order.pop("memory"), order.pop("seconds"))
    text = boxes = b""
    try:
        kind, parsed = parse_original(Original(sys.stdin.buffer.read(), **order))
        text, boxes = parsed.text.encode(), parsed.layout.to_bytes() if parsed.layout else b""
        about = {"kind": kind, "text_bytes": len(text), **parsed._asdict()}
        del about["text"], about["layout"]
        head = json.dumps(about).encode()
    except DocumentError as error:
        head = json.dumps({"error": type(error).__name__, "text": str(error)}).encode()
    except MissingExtraError as error:
        head = json.dumps({"package": error.package, "extra": error.extra}).encode()
    except MemoryError:
        head, text, boxes = OUT_OF_MEMORY, b"", b""
    for part in (head, b"\n", text, boxes):
        sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    answer()
