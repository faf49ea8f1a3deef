"""The embedded engine: llama.cpp in this process, loaded once for each model file and settings."""

from __future__ import annotations

import importlib.util
import os
import secrets
import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple, cast

from trivium.commander.lowlevel import get_item
from trivium.exceptions import EngineError, MissingExtraError, ModelNotFoundError
from trivium.llms._control_tokens import ControlTokens
from trivium.llms.local._gguf import control_tokens

PROMPT_CACHE_MIB = 512
# The share of a prompt that a slot must have read before, to be chosen for that: more than the tokens of any prompt.
SHARED = 0.03
# Tokens of a prompt that are read before the other requests get their turn, and before a stop is noticed.
# Larger ones are no faster on two cores (128 to 1024 were tried).
BATCH = 256
_THREAD = "trivium-engine"
Meanwhile = Callable[[], AbstractContextManager[object]]


class EngineSettings(NamedTuple):
    """The settings that distinguish loaded engines.

    Args:
        path: the GGUF file.
        context: tokens of prompt and answer together, for each request.
        parallel: requests that are worked on at the same time; more wait.
        threads: threads of computation.
        repack: arrange the weights for this processor.
    """

    path: Path
    context: int
    parallel: int
    threads: int
    repack: bool = True


class Engine:
    """A loaded model that answers chat completions; safe to use from many threads."""

    def __init__(self, server: Any, control: ControlTokens) -> None:
        self.process = os.getpid()
        self._server, self._control = server, control
        self._ahead: threading.Thread | None = None

    def complete(self, body: dict[str, Any]) -> Generator[dict[str, Any]]:
        """Stream the chunks of one chat completion.

        Closing the generator stops the generation at the next token; so does an exception in the caller. It begins
        behind what is read ahead.
        """
        if (ahead := self._ahead) not in (None, threading.current_thread()):
            ahead.join()
        chunks: SimpleQueue[dict[str, Any] | Exception | None] = SimpleQueue()
        stop = threading.Event()
        said = self._control.broken_in(body["messages"])

        def receive(chunk: dict[str, Any]) -> bool:
            chunks.put(chunk)
            return stop.is_set()

        def work() -> None:
            try:
                self._server.handle_chat_completions({**body, "messages": said, "stream": True}, receive)
            except Exception as error:  # whatever the engine raises belongs to the caller's thread
                chunks.put(error)
            chunks.put(None)

        # Not a daemon, as it would be where a worker starts it: one that calls back into a finished interpreter
        # would bring the process down.
        thread = threading.Thread(target=work, name=_THREAD, daemon=False)
        thread.start()
        patience = 1.0  # it ends at its next token, which may have to wait for another request's prompt
        try:
            while (chunk := get_item(chunks)) is not None:
                if isinstance(chunk, Exception):
                    raise EngineError(f"the embedded engine failed: {chunk}") from chunk
                yield chunk
        except KeyboardInterrupt:
            patience = 0.0
            raise
        finally:
            stop.set()
            thread.join(patience)

    def read_ahead(self, body: dict[str, Any]) -> None:
        """Read a prompt in the background, until it is read or the program ends: later requests take what was read."""

        def work() -> None:
            with suppress(EngineError):  # the request that it is for will say so
                for _ in self.complete(body):
                    if not threading.main_thread().is_alive():
                        return

        self._ahead = threading.Thread(target=work, name=f"{_THREAD}-ahead", daemon=False)
        self._ahead.start()


class _Engines:
    """The engines of this process: the one piece of state that outlives a run, for a load costs seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: weakref.WeakValueDictionary[tuple[int, EngineSettings], Engine]
        self._loaded = weakref.WeakValueDictionary()
        self._kept: list[Engine] = []

    def get(self, settings: EngineSettings, while_loading: Meanwhile) -> Engine:
        process = os.getpid()
        key = process, settings
        with nullcontext() if key in self._loaded else while_loading(), self._lock:
            engine = self._loaded.get(key)
            if engine is None:
                engine = self._loaded[key] = Engine(_start(settings), control_tokens(settings.path))
            # After a fork, the parent's engines have no threads here: they are not used, and never freed.
            self._kept = [*(kept for kept in self._kept if kept.process != process), engine]
            return engine


_engines = _Engines()


def load_engine(settings: EngineSettings, while_loading: Meanwhile = nullcontext) -> Engine:
    """Return the engine for these settings: loaded at the first call, shared by all later ones of the process.

    An engine lives as long as a model uses it. The engine that was used last also stays loaded, so that programs
    that make a new model for each request do not load a gigabyte each time.

    Args:
        settings: the file and how it is loaded.
        while_loading: a context manager for the load, by this call or another; unused if it is loaded already.

    Raises:
        MissingExtraError: the engine's package is not installed.
        ModelNotFoundError: there is no such file.
        EngineError: the engine does not start with it.
    """
    return _engines.get(settings, while_loading)


def is_busy() -> bool:
    """Tell whether an engine of this process loads a model, or still writes an answer that was cancelled."""
    return any(each.name.startswith(_THREAD) for each in threading.enumerate())


def _start(settings: EngineSettings) -> Any:
    check_file(settings.path)
    library = load_library()
    params = library.CommonParams()
    params.model.path = str(settings.path)
    params.n_ctx, params.n_parallel = settings.context * settings.parallel, settings.parallel
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.threads
    params.n_batch = params.n_ubatch = BATCH
    params.cache_ram_mib, params.slot_prompt_similarity = PROMPT_CACHE_MIB, SHARED
    params.verbosity = -1
    params.no_extra_bufts = not settings.repack
    params.warmup = False
    params.fit_params = False
    # The engine cannot be had without its HTTP port on the loopback interface: nobody knows this key.
    params.api_keys = [secrets.token_urlsafe(32)]
    params.ui = params.endpoint_slots = False
    params.endpoint_metrics = True
    try:
        return _build(library, params)
    except Exception as error:
        reason = str(error).rstrip(".") or "no reason given"
        raise EngineError(
            f"the embedded engine does not start with {settings.path}: {reason}. Is the file "
            "complete and of a kind that llama.cpp reads, and is there memory for it?"
        ) from error


def _build(library: Any, params: Any) -> Any:
    """Load the server in a thread of its own, out of reach of Ctrl-C.

    A server that is freed before its loop runs never stops waiting; its metrics are answered by that loop.
    """
    outcome: list[Any] = []

    def work() -> None:
        try:
            server = library.Server(params)
            server.handle_metrics()
            outcome.append(server)
        except Exception as error:  # it belongs to the caller's thread
            outcome.append(error)

    thread = threading.Thread(target=work, name=f"{_THREAD}-load", daemon=False)
    thread.start()
    thread.join()
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


def check_file(path: Path) -> None:
    """Check that a file is a readable GGUF file.

    Raises:
        ModelNotFoundError: there is no such file.
        EngineError: it cannot be read, or is another kind of file.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except FileNotFoundError:
        raise ModelNotFoundError(
            f"there is no model file {path}: check the path, or fetch a model with `trivium models fetch`"
        ) from None
    except OSError as error:
        raise EngineError(f"the model file {path} cannot be read: {error.strerror or error}") from error
    if magic != b"GGUF":
        raise EngineError(f"{path} is not a GGUF file; fetch one with `trivium models fetch NAME`")


def load_library() -> Any:
    """Import the engine.

    Raises:
        MissingExtraError: it is not installed.
        EngineError: it cannot be loaded.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtraError("xllamacpp", "local")
    # Threads that spin for each other without a limit halve the speed as soon as another thread wants a core; not to
    # spin at all costs a third of it on an idle machine. A thousand turns cost next to nothing in both cases.
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    try:
        import xllamacpp  # pyright: ignore[reportMissingTypeStubs] - it ships none
    except ImportError as error:
        raise EngineError(
            f"the embedded engine cannot be loaded: {error}. It needs the GNU OpenMP library "
            "(Debian and Ubuntu: apt-get install libgomp1)"
        ) from error
    return cast("Any", xllamacpp)


def physical_cores(read: Callable[[Path], str] = Path.read_text) -> int:
    """Cores this process may use, hyper-threads of one core counted once, within the container's share."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    siblings: set[str] = set()
    for cpu in allowed:
        try:
            siblings.add(read(Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")))
        except OSError:
            siblings.add(str(cpu))
    try:
        quota, period = read(Path("/sys/fs/cgroup/cpu.max")).split()
        share = max(1, int(quota) // int(period))
    except (OSError, ValueError):  # no limit, or no such file
        share = len(siblings)
    return max(1, min(len(siblings), share))
