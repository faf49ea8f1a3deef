"""Who is measured: the interpreter of each peer, and a child process of it that answers JSON lines."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PEERS = ROOT / "benchmarks" / "peers"
FLOOR, OURS = "by_hand", "trivium"
OTHERS = "agno lagent langgraph langroid openai_agents pydantic_ai smolagents dspy agere"
NAMES = (FLOOR, OURS, *OTHERS.split())
# Nothing is sent anywhere, and nothing is fetched.
QUIET = {
    "AGNO_TELEMETRY": "false",
    "ANONYMIZED_TELEMETRY": "false",
    "DSPY_CACHEDIR": "",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "NO_PROXY": "127.0.0.1",
    "no_proxy": "127.0.0.1",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OPENAI_API_KEY": "none",
}
LIMIT = 120.0


class Hung(Exception):
    """A child did not answer in time; it was killed."""


def interpreter(name: str) -> Path:
    """The Python of a subject: trivium and the floor share ours."""
    return Path(sys.executable) if name in (FLOOR, OURS) else ROOT / ".peers" / name / "bin" / "python"


def environment(name: str, folder: str) -> dict[str, str]:
    """What a child's process is told; Langroid's import needs a vocabulary that a package of its environment brings."""
    mine = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}  # as DONTWRITEBYTECODE
    found = {**mine, **QUIET, "DSPY_CACHEDIR": folder, "HOME": folder}
    if name == OURS:
        found["PYTHONPATH"] = str(ROOT / "src")
    if name == "langroid":
        vocabulary = (
            interpreter(name).parents[1].glob("lib/python*/site-packages/llama_index/core/_static/tiktoken_cache")
        )
        found["TIKTOKEN_CACHE_DIR"] = str(next(vocabulary, ""))
    return found


class Ended(Exception):
    """A child was asked after the benchmark was done with it."""


class Child:
    """A subject's process: started when it is first asked, and again after it hung, until `end`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.process: subprocess.Popen[bytes] | None = None
        self.lock, self.ended = threading.Lock(), False
        self.folder = tempfile.TemporaryDirectory(prefix=f"bench-{name}-")

    def start(self) -> subprocess.Popen[bytes]:
        """The process, which is begun.

        Raises:
            Ended: there shall be no more.
        """
        with self.lock:
            if self.ended:
                raise Ended(self.name)
            return self._begun()

    def _begun(self) -> subprocess.Popen[bytes]:
        command = [str(interpreter(self.name)), "-W", "ignore", str(PEERS / "driver.py"), self.name]
        errors = (Path(self.folder.name) / "stderr").open("ab")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=self.folder.name,
            env=environment(self.name, self.folder.name),
        )
        errors.close()
        return self.process

    def ask(self, request: Mapping[str, Any], limit: float = LIMIT) -> dict[str, Any]:
        """The answer to a request.

        Raises:
            Hung: there was none within so many seconds.
            Ended: `end` was called.
        """
        process = self.process or self.start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return self._failed()
        deadline, line = time.monotonic() + limit, b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                self.close()
                raise Hung(f"no answer within {limit:.0f} s")
            piece = os.read(process.stdout.fileno(), 1 << 16)
            if not piece:
                return self._failed()
            line += piece
        return json.loads(line)

    def _failed(self) -> dict[str, Any]:
        self.close()
        said = (Path(self.folder.name) / "stderr").read_text(errors="replace")[-2000:]
        return {"failed": "its process ended", "traceback": said}

    def close(self) -> None:
        """End the process; the next question begins another."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()

    def end(self) -> None:
        """End the process for good, though another thread may be asking it."""
        with self.lock:
            self.ended = True
            self.close()
