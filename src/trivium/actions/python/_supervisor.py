"""The program inside the sandbox: it starts the Jupyter kernel, watches it, and answers requests of trivium.

It is process 1 of the sandbox, so nothing inside can stop it, and when it ends everything inside ends. It reads
one JSON request a line from its input and answers each with one line; when its input closes, it ends. Between
two requests all other processes are stopped. The sandbox runs this file by its path, so it imports nothing of
trivium.
"""

from __future__ import annotations

import json
import os
import re
import resource
import secrets
import select
import signal
import sys
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

FOLDERS = ("/sandbox/work", "/tmp", "/run", "/dev/shm")  # noqa: S108 - inside, each its own file system
CONNECTION = "/run/connection.json"
LOG = "/run/kernel.log"
TICK = 0.05
GRACE = 1.0
"""Seconds between the first interrupt and the second, and between the second and the kill."""
INTERRUPTS = 2
BEGIN = 5.0
"""Seconds beyond the time limit within which a kernel must begin with the code; before that it ignores interrupts."""
QUIET = 1.0
"""Seconds to wait for the last output, which the kernel may have dropped."""
IMAGE_BYTES = 6_000_000
IMAGES = 16
SET_DUMPABLE, DROP_CAPABILITY = 4, 24
CODES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]|\r(?=\n)")

# As `ipykernel_launcher` does, but without its debugger, which would take a fifth of the time to start; code may still
# import it. Nobody debugs, so `breakpoint()` goes on.
LAUNCH = """
import sys
sys.modules["debugpy"] = None
import ipykernel.debugger
from ipykernel.kernelapp import launch_new_instance
del sys.modules["debugpy"]
sys.breakpointhook = lambda *args, **options: None
launch_new_instance()
"""

# Run in the kernel before any other code: a program that prints faster than can be sent waits, so memory stays bounded.
FLUSH_OFTEN = """
def _flush_often(stream, most=20_000):
    write, waiting = stream.write, [0]
    def write_and_flush(text):
        waiting[0] += len(text)
        if waiting[0] > most:
            waiting[0] = 0
            stream.flush()
        return write(text)
    stream.write = write_and_flush
_flush_often(__import__("sys").stdout)
_flush_often(__import__("sys").stderr)
del _flush_often
"""


class Ended(Exception):
    """The kernel has ended, and its variables are lost; `reason` is one word."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Output:
    """The output of an execution: items in order; the middle of too much text is left out.

    Args:
        limit: the most characters of text, half from the beginning and half from the end.
    """

    def __init__(self, limit: int) -> None:
        self._half = max(1, limit // 2)
        self._head: list[tuple[str, str]] = []
        self._tail: deque[tuple[str, str]] = deque()
        self._room = self._half
        self._tail_size = self._left_out = self._images = 0

    def text(self, text: str) -> None:
        """Add text without its terminal escape codes."""
        text = CODES.sub("", text)
        if self._room:
            self._head.append(("text", text[: self._room]))
            text, self._room = text[self._room :], max(0, self._room - len(text))
        if text:
            self._left_out += max(0, len(text) - self._half)
            self._tail.append(("text", text[-self._half :]))
            self._tail_size += len(self._tail[-1][1])
        while self._tail_size > self._half:
            place = next(place for place, (kind, _) in enumerate(self._tail) if kind == "text")
            kept = self._tail[place][1]
            cut = min(self._tail_size - self._half, len(kept))
            self._tail_size, self._left_out = self._tail_size - cut, self._left_out + cut
            if cut < len(kept):
                self._tail[place] = ("text", kept[cut:])
            else:
                del self._tail[place]

    def image(self, base64: str) -> None:
        """Add a PNG image."""
        self._images += 1
        if self._images > IMAGES or len(base64) > IMAGE_BYTES:
            self.text("[an image is left out: too many, or too large]\n")
        else:
            (self._head if self._room else self._tail).append(("image", base64))

    def items(self) -> list[tuple[str, str]]:
        """All items, with adjacent texts joined."""
        gap = [("text", f"\n… {self._left_out:,} characters are left out here …\n")] if self._left_out else []
        joined: list[tuple[str, str]] = []
        for kind, content in (*self._head, *gap, *self._tail):
            if kind == "text" and joined and joined[-1][0] == "text":
                joined[-1] = ("text", joined[-1][1] + content)
            else:
                joined.append((kind, content))
        return joined


class Progress:
    """The state of one execution. Either sign of its end may be lost if messages are dropped."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self.error: str | None = None
        self.reply: dict[str, Any] | None = None
        self.begun = self.idle = False

    @property
    def has_end(self) -> bool:
        """True if the kernel has reported the end."""
        return self.idle or self.reply is not None

    def event(self, kind: str, content: dict[str, Any]) -> None:
        """Process a broadcast of the kernel: text, an image, an error, or its state."""
        if kind == "status":
            self.idle = self.idle or content["execution_state"] == "idle"
        elif kind == "execute_input":  # from here on an interrupt has an effect
            self.begun = True
        elif kind == "stream":
            self.output.text(str(content["text"]))
        elif kind in ("display_data", "execute_result"):
            data = content["data"]
            if isinstance(data.get("image/png"), str):
                self.output.image("".join(data["image/png"].split()))
            elif isinstance(data.get("text/plain"), str):
                self.output.text(data["text/plain"] + "\n")
        elif kind == "error":
            self.error = "\n".join(map(str, content["traceback"]))


class Kernel:
    """A Jupyter kernel in its own process, reached over sockets in a folder of the sandbox."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        write_connection_file()
        self.pid = start_kernel(settings["limits"])
        from jupyter_client.blocking.client import BlockingKernelClient  # while the kernel starts
        from jupyter_client.session import Session

        plain = Session(packer="json", unpacker="json")  # as in the kernel, see `start_kernel`
        self._client = cast("Any", BlockingKernelClient(connection_file=CONNECTION, session=plain))
        self._client.load_connection_file()
        self._client.start_channels(stdin=False, hb=False, control=False)
        self._events: Any = self._client.iopub_channel.socket

    def wait_until_ready(self) -> None:
        """Wait until it answers and its broadcasts arrive; otherwise the first output would be lost."""
        answered = False
        while not (answered and self._events.poll(100)):
            self._client.kernel_info()
            answered = bool(self._client.shell_channel.socket.poll(100)) or answered
            self._check()
        while self._events.poll(100) or self._client.shell_channel.socket.poll(0):
            self._messages(self._client.iopub_channel)
            self._messages(self._client.shell_channel)
        self.execute(FLUSH_OFTEN, GRACE)

    def execute(self, code: str, seconds: float) -> dict[str, Any]:
        """Run code within a time limit and return the result; afterwards the kernel is stopped or has ended."""
        os.kill(self.pid, signal.SIGCONT)
        request_id: str = self._client.execute(
            code, allow_stdin=False, store_history=code is not FLUSH_OFTEN, stop_on_error=False
        )
        progress = Progress(Output(self._settings["output"]))
        stop_at, interrupts = time.monotonic() + seconds, 0
        try:
            while not (progress.reply and progress.idle):
                had_end = progress.has_end
                self._events.poll(TICK * 1000)
                self._receive(request_id, progress)
                self._check(over=progress.has_end)
                now = time.monotonic()
                if progress.has_end and not had_end:
                    stop_at = now + QUIET
                elif now > stop_at and progress.has_end:
                    break
                elif now > stop_at + (0 if progress.begun else BEGIN):
                    if interrupts == INTERRUPTS:
                        raise Ended("timeout")
                    interrupts, stop_at = interrupts + 1, now + GRACE
                    os.kill(self.pid, signal.SIGINT)
            return self._outcome(progress, interrupts > 0)
        except Ended as ended:
            reason = "timeout" if interrupts and ended.reason == "exit" else ended.reason
            return {"state": "ended", "reason": reason, "items": progress.output.items()}

    def _receive(self, request_id: str, progress: Progress) -> None:
        """Process the messages that have arrived in answer to one request."""
        for message in self._messages(self._client.iopub_channel):
            with suppress(AttributeError, KeyError, TypeError):  # code can send malformed messages
                if message["parent_header"]["msg_id"] == request_id:
                    progress.event(message["msg_type"], message["content"])
        for message in self._messages(self._client.shell_channel):
            if message["parent_header"].get("msg_id") == request_id:
                progress.reply = message["content"]

    def _messages(self, channel: Any) -> list[dict[str, Any]]:
        """The messages that have arrived at a channel, 50 at most."""
        found: list[dict[str, Any]] = []
        for _ in range(50):
            if not channel.socket.poll(0):
                break
            with suppress(Exception):  # not a message at all
                found.append(channel.get_msg(timeout=0))
        return found

    def _outcome(self, progress: Progress, interrupted: bool) -> dict[str, Any]:
        is_good = progress.error is None and not interrupted  # an interrupt may hit the kernel between code and reply
        reply = progress.reply or {"status": "ok" if is_good else "error", "ename": "KeyboardInterrupt"}
        if any(each.get("source") == "ask_exit" for each in reply.get("payload", ())):
            raise Ended("exit")
        self.rest()
        items = progress.output.items()
        if reply["status"] == "ok":
            return {"state": "ok", "items": items}
        rendered = Output(self._settings["output"])
        rendered.text(progress.error or ": ".join(filter(None, (reply.get("ename", "Error"), reply.get("evalue")))))
        error = "".join(content for _, content in rendered.items())
        return {"state": "timeout" if interrupted else "error", "error": error, "items": items}

    def _check(self, over: bool = False) -> None:
        """Check that the kernel runs within its limits, and exit if the input is closed.

        Raises:
            Ended: the kernel exited, or exceeds a limit.
        """
        if select.select([0], [], [], 0)[0] and not over:
            os._exit(0)
        if reap(self.pid):
            raise Ended("exit")
        if memory_used(self._settings["memory"]) > self._settings["memory"]:
            raise Ended("memory")
        if files_used() > self._settings["file_count"]:
            raise Ended("files")

    def rest(self) -> None:
        """Stop the kernel until the next request and kill every other process, so that nothing runs in between."""
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGSTOP)  # all at once: a process that multiplies cannot outrun it
        until = time.monotonic() + GRACE
        ended, stopped = "XZ", "TtXZ"  # the kernel is stopped, all others have ended
        while moving := {
            pid for pid, state in states().items() if state not in (stopped if pid == self.pid else ended)
        }:
            for pid in moving - {self.pid}:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > until:
                raise Ended("exit")
            time.sleep(0.001)
        reap(self.pid)


def write_connection_file() -> None:
    """Write the addresses and the key that connect the kernel and its client."""
    ports = {f"{name}_port": n for n, name in enumerate(("shell", "iopub", "stdin", "control", "hb"), start=1)}
    connection = {"transport": "ipc", "ip": "/run/kernel", "key": secrets.token_hex(16), **ports}
    Path(CONNECTION).write_text(json.dumps({**connection, "signature_scheme": "hmac-sha256"}), encoding="utf-8")


def start_kernel(limits: dict[str, int]) -> int:
    """Start the kernel with limits that neither it nor its children can raise; return its process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        log = os.open(LOG, os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.closerange(3, 4096)
        set_dumpable(True)
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
        for name, value in limits.items():
            limit(getattr(resource, name), value)
        options = ["--HistoryManager.enabled=False", "--InteractiveShell.colors=NoColor"]
        options += ["--Session.packer=json", "--Session.unpacker=json"]  # orjson aborts when memory runs out
        program = [sys.executable, "-I", "-c", LAUNCH, "-f", CONNECTION, *options]
        os.execv(sys.executable, program)  # noqa: S606 - no shell is needed
    except Exception as error:
        os.write(2, repr(error).encode())
    finally:
        os._exit(127)


def limit(kind: int, value: int) -> None:
    """Limit this process and all that it starts; the limit cannot be raised again."""
    most = resource.getrlimit(kind)[1]
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(kind, (value, value))


def processes() -> list[int]:
    """The processes of the sandbox."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def states() -> dict[int, str]:
    """The state of each other process of the sandbox: R runs, S sleeps, T is stopped, Z has ended."""
    found: dict[int, str] = {}
    for pid in processes():
        with suppress(OSError, IndexError):  # it has ended
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
            found[pid] = text.rpartition(")")[2].split()[0]
    found.pop(1, None)
    return found


def reap(kernel: int) -> bool:
    """Reap the processes that have ended; return True if the kernel is one of them."""
    ended = False
    with suppress(ChildProcessError):
        while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
            ended = ended or pid == kernel
    return ended


def memory_used(limit: int) -> int:
    """The memory of all other processes in bytes; shared pages count once if the sum is near the limit."""
    others = [pid for pid in processes() if pid != 1]
    total = sum(map(resident_memory, others))
    return total if total <= limit else sum(map(proportional_memory, others))


def resident_memory(pid: int) -> int:
    """The memory of a process in bytes, shared pages included; 0 once it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):  # it has ended
        return 0


def proportional_memory(pid: int) -> int:
    """The memory of a process in bytes, with its part of the shared pages."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:  # it has ended, or may not be read
        return resident_memory(pid)
    found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def files_used() -> int:
    """The number of files and folders in all writable folders."""
    return sum(state.f_files - state.f_ffree for state in map(os.statvfs, FOLDERS))


def protect(settings: dict[str, Any]) -> None:
    """Drop all privileges, and deny other processes access to the memory and files of this one."""
    if settings["user"] is not None:
        drop_bounding_set()
        os.setgroups([])
        os.setresgid(*[settings["user"]] * 3)
        os.setresuid(*[settings["user"]] * 3)
    set_dumpable(False)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # process 1 ignores it
    os.closerange(3, 4096)


def drop_bounding_set() -> None:
    """Give up all capabilities that a program could bring, for this process and all that it starts."""
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    for capability in range(64):
        if prctl(DROP_CAPABILITY, capability, 0, 0, 0) != 0:  # the last one is passed
            return


def set_dumpable(value: bool) -> None:
    """Allow or forbid that processes of the same user read this one's memory."""
    import ctypes

    ctypes.CDLL(None).prctl(SET_DUMPABLE, int(value), 0, 0, 0)


def link_data() -> None:
    """Link the user's files into the working folder."""
    if os.path.isdir("/sandbox/data"):
        for name in os.listdir("/sandbox/data"):
            os.symlink(f"/sandbox/data/{name}", f"/sandbox/work/{name}")


def send(answer: dict[str, object]) -> None:
    """Send an answer to trivium, as one line."""
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
    sys.stdout.buffer.flush()


def serve_requests() -> None:
    """Serve requests until the input closes or the kernel ends."""
    settings = json.loads(sys.argv[1])
    protect(settings)
    link_data()
    kernel = Kernel(settings)
    limit(resource.RLIMIT_AS, settings["own_memory"])
    try:
        kernel.wait_until_ready()
    except Ended as ended:
        log = Path(LOG).read_text(encoding="utf-8", errors="replace")[-2000:]
        sys.exit(f"the kernel ended ({ended.reason}) {log}")
    send({"state": "ready"})
    for line in sys.stdin.buffer:
        answer = kernel.execute(**json.loads(line))
        send(answer)
        if answer["state"] == "ended":
            break
    os._exit(0)


if __name__ == "__main__":
    serve_requests()
