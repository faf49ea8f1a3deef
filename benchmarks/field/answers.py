"""The thirty bad answers of a model server, each sent to each peer's own client, whole and streamed.

The answers are those of `tests/hardening`, in OpenAI's chat format. Only such are sent as every peer can be sent: text,
and calls of the one tool `add`. After the bad answer the server gives good ones.
"""

from __future__ import annotations

import contextlib
import json
import socketserver
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from figures import Cell
from subjects import FLOOR, ROOT, Child, Hung

KINDS = ("bare error", "typed error", "silent empty success", "went on", "hung")
LIMIT = 8.0
OWN_FORM = (
    "not measured here: the good answer that comes after each would have to be in a form of its own, {}, which this "
    "server does not speak"
)
LEFT_OUT = {
    FLOOR: "a hand-written loop checks nothing",
    "smolagents": OWN_FORM.format("a tool call"),
    "dspy": OWN_FORM.format("DSPy's fields"),
    "agere": "it has no client of model servers",
}
TEXT_ONLY = {"lagent"}  # its client sends no tools


def cases() -> list[tuple[str, dict[bool, list[bytes]], bool]]:
    """Each bad answer's name, its bytes by whether it is streamed, and whether it has calls."""
    sys.path.insert(0, str(ROOT))
    from tests.hardening._answers import CASES
    from tests.hardening._trial import script_of
    from tests.hardening._wire_chat import Chat

    found = list[tuple[str, dict[bool, list[bytes]], bool]]()
    for case in CASES:
        if any(call.name in ("half", "now", "say") for call in case.said.calls) or case.next_call:
            continue
        scripts = {streamed: list(script_of(Chat(), case.said, streamed, case)) for streamed in (True, False)}
        found.append((f"{case.number} {case.what}", scripts, bool(case.said.calls)))
    return found


def good() -> dict[bool, list[bytes]]:
    """The answer that comes after."""
    from tests.hardening._said import Said
    from tests.hardening._trial import script_of
    from tests.hardening._wire_chat import Chat

    return {streamed: list(script_of(Chat(), Said(text="all is well"), streamed)) for streamed in (True, False)}


class Server(socketserver.ThreadingTCPServer):
    """Sends the bad answer to the first request, and the good one to all others."""

    daemon_threads, allow_reuse_address = True, True

    def __init__(self, after: dict[bool, list[bytes]]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.after, self.bad = after, after
        self.asked = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def play(self, bad: dict[bool, list[bytes]]) -> None:
        self.bad, self.asked = bad, 0


class Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        server = self.server
        assert isinstance(server, Server)
        length = 0
        while line := self.rfile.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        if not length:
            return
        streamed = bool(json.loads(self.rfile.read(length)).get("stream"))
        script = (server.after if server.asked else server.bad)[streamed]
        server.asked += 1
        with contextlib.suppress(OSError):
            for piece in script:
                self.wfile.write(piece)


@contextlib.contextmanager
def serving(after: dict[bool, list[bytes]]) -> Iterator[Server]:
    with Server(after) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()


def outcomes(name: str, child: Child, note: Callable[[str], None]) -> Cell:
    """What became of each bad answer, counted by kind; whole and streamed where the peer has both."""
    cell = Cell()
    if name in LEFT_OUT:
        cell.stop("cannot", LEFT_OUT[name])
        return cell
    told = dict[str, str]()
    with serving(good()) as server:
        for what, scripts, has_calls in cases():
            for streams in (False, True):
                if has_calls and name in TEXT_ONLY:
                    continue
                server.play(scripts)
                request = {
                    "do": "bad",
                    "url": server.url,
                    "streams": streams,
                    "limit": LIMIT,
                    "tool": name not in TEXT_ONLY,
                }
                try:
                    answer = child.ask(request, 2 * LIMIT)
                except Hung:
                    answer = {"kind": "hung", "words": "its process hung"}
                if "kind" in answer:
                    told[f"{what}, {'streamed' if streams else 'whole'}"] = f"{answer['kind']}: {answer['words']}"
                elif "cannot" not in answer:
                    note(f"answers: {name}: {what}: {answer}")
    kinds = [each.partition(":")[0] for each in told.values()]
    cell.values = {kind: [kinds.count(kind)] for kind in KINDS}
    cell.evidence = told
    note(f"answers: {name}: {len(told)}")
    return cell


def measure_answers(children: dict[str, Child], note: Callable[[str], None]) -> dict[str, Cell]:
    """All subjects, two at a time: nothing is timed. Interrupted, it waits for none of them."""
    cases()
    pool = ThreadPoolExecutor(2)
    try:
        found = {name: pool.submit(outcomes, name, child, note) for name, child in children.items()}
        return {name: each.result() for name, each in found.items()}
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
