"""A stand-in for the command `lmdeploy`, run as a real process: `lmdeploy serve api_server FOLDER …`.

It takes the options that the real one has, as they were read from its wheel, and answers as its server does; no model
is behind it. What stands in FOLDER says how it behaves: `not-ready` counts the health checks that fail, with `stubborn`
it does not end when asked, with `broken` it does not start. It keeps FOLDER/alive, a pipe, open in itself and in a
child, so that its reader sees when both are gone, and writes what it was asked to FOLDER/asked.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FACTS = json.loads((Path(__file__).parent / "engine_signatures.json").read_text())["lmdeploy"]
MODES: dict[str, dict[str, Any]] = {"one": {}, "none": {"action": "store_true"}, "many": {"nargs": "*"}}


def options(arguments: list[str]) -> argparse.Namespace:
    """The options of a command line; it exits where they are not those of the real one."""
    parser = argparse.ArgumentParser(prog="lmdeploy", allow_abbrev=False)
    api_server = parser.add_subparsers(required=True).add_parser("serve").add_subparsers(required=True)
    command = api_server.add_parser("api_server", allow_abbrev=False)
    for name, takes in FACTS["api_server"].items():
        command.add_argument(name, **MODES[takes])
    return parser.parse_args(arguments)


def answer_of(route: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The chunks of an answer, as LMDeploy writes them."""
    kind, wanted = (("completions", "CompletionRequest"), ("chat", "ChatCompletionRequest"))["chat" in route]
    unknown = body.keys() - FACTS["classes"][wanted]["fields"].keys()
    assert not unknown, f"{wanted} has no {unknown}"
    prompt = body["prompt"] if kind == "completions" else body["messages"][-1]["content"]
    head = {"id": "1", "object": "text_completion", "created": 1, "model": body["model"]}
    choices: list[dict[str, Any]] = []
    for text in [*str(prompt).upper().split(" "), None]:
        piece = {"text": f"{text or ''} "} if kind == "completions" else {"delta": {"content": f"{text or ''} "}}
        choices.append({"index": 0, **piece, **({"finish_reason": "stop"} if text is None else {})})
    usage = {"prompt_tokens": 3, "completion_tokens": len(choices), "total_tokens": 3 + len(choices)}
    return [
        *({**head, "choices": [choice], "usage": None} for choice in choices),
        {**head, "choices": [], "usage": usage},
    ]


class Handler(BaseHTTPRequestHandler):
    """The routes of the server that our code asks."""

    folder: Path

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""

    def do_GET(self) -> None:
        assert f"GET {self.path}" in FACTS["routes"]
        counter = self.folder / "not-ready"
        left = int(counter.read_text()) if counter.exists() else 0
        counter.write_text(str(max(0, left - 1)))
        self.send_response(503 if left else 200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        assert f"POST {self.path}" in FACTS["routes"]
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with (self.folder / "asked").open("a") as asked:
            asked.write(json.dumps([self.path, body]) + "\n")
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.end_headers()
        for chunk in answer_of(self.path, body):
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")


def main() -> None:
    """Serve until a signal ends this."""
    chosen = options(sys.argv[1:])
    Handler.folder = Path(chosen.model_path)
    if (Handler.folder / "broken").exists():
        sys.exit("CUDA driver not found")
    (Handler.folder / "command").write_text(json.dumps(sys.argv[1:]))
    if (Handler.folder / "stubborn").exists():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with (Handler.folder / "alive").open("wb") as alive:
        worker = "import signal; signal.pause()"
        subprocess.Popen([sys.executable, "-c", worker], pass_fds=[alive.fileno()])
        server = ThreadingHTTPServer((chosen.server_name, int(chosen.server_port)), Handler)
        server.serve_forever()


if __name__ == "__main__":
    main()
