"""The program of the process that reads one file: its order and its bytes on stdin, what it holds on stdout."""

from __future__ import annotations

import faulthandler
import json
import sys

from trivium.exceptions import DocumentError, MissingExtraError
from trivium.parsing.formats._apart import OUT_OF_MEMORY, PAGE, limit_process
from trivium.parsing.formats._formats import Original, Scanning
from trivium.parsing.formats._parsers import parse_original


def answer() -> None:
    """Read the file, and write one line of JSON, and behind it the text, its boxes and the files attached to it."""
    order = json.loads(sys.stdin.buffer.readline())
    memory = order.pop("memory")
    languages, seconds, pages, *_ = order.pop("scanning")

    def begin(for_cleanup: float = 0) -> None:
        limit_process(memory, seconds)
        faulthandler.dump_traceback_later(seconds + for_cleanup, exit=True)  # also where a library does not come back

    def report(page: int, count: int) -> None:
        begin(for_cleanup=1)
        sys.stdout.buffer.write(PAGE + f"{page} {count}\n".encode())
        sys.stdout.buffer.flush()

    begin()
    order["scanning"] = Scanning(tuple(languages), seconds, pages, report, begin)
    parts: list[bytes] = []
    try:
        kind, parsed = parse_original(Original(sys.stdin.buffer.read(), **order))
        boxes = parsed.layout.to_bytes() if parsed.layout else b""
        parts = [parsed.text.encode(), boxes, *(each.data for each in parsed.attached)]
        about = {"kind": kind, "sizes": [*map(len, parts)], **parsed._asdict()}
        about["attached"] = [each[:-1] for each in parsed.attached]
        del about["text"], about["layout"]
        head = json.dumps(about).encode()
    except DocumentError as error:
        about = {name: value for name, value in vars(error).items() if name in {"limit", "value", "package"}}
        head = json.dumps({"error": type(error).__name__, "text": str(error), **about}).encode()
    except MissingExtraError as error:
        head = json.dumps({"package": error.package, "extra": error.extra}).encode()
    except MemoryError:
        head, parts = OUT_OF_MEMORY, []
    for part in (head, b"\n", *parts):
        sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    answer()
