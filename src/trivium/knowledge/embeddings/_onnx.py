"""The base of embedding models that run on onnxruntime."""

from __future__ import annotations

import ctypes
import os
from functools import partial
from threading import Lock
from typing import Any, ClassVar, cast
from weakref import ref

from trivium.exceptions import EngineError, MissingExtraError
from trivium.knowledge.embeddings._embedding import EmbeddingModel
from trivium.knowledge.embeddings._packages import version_of
from trivium.llms.lowlevel import physical_cores


class OnnxEmbedding(EmbeddingModel):
    """A model on onnxruntime, which is loaded at its first use; a subclass has `onnx_model` and `compute`.

    Attributes:
        packages: the packages that it needs; the first has the weights.
        extra: the extra that brings them.

    Raises:
        MissingExtraError: a package is not installed.
    """

    packages: ClassVar[tuple[str, ...]]
    extra: ClassVar[str]

    def __init__(self) -> None:
        for package in self.packages:
            if version_of(package) is None:
                raise MissingExtraError(package, self.extra)
        self._session: Any = None
        self._lock, self._pid = Lock(), os.getpid()

    def onnx_model(self) -> str | bytes:
        """Return the path of the model's file, or its bytes."""
        raise NotImplementedError(f"{type(self).__name__} has no onnx_model")

    def session(self) -> Any:
        """Return the session of the model; load it where this process has not.

        Raises:
            EngineError: it cannot be loaded.
        """
        if self._pid != os.getpid():  # a forked child has no engine threads, and the lock may have been held
            self._lock, self._pid, self._session = Lock(), os.getpid(), None
        with self._lock:
            self._session = self._session or self._opened()
            return self._session

    def _opened(self) -> Any:
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # else it reports to its makers as soon as it is imported
        try:
            import onnxruntime  # pyright: ignore[reportMissingTypeStubs] - it has none

            engine = cast("Any", onnxruntime)
            options = engine.SessionOptions()
            options.intra_op_num_threads = physical_cores()
            # Threads that spin while they wait halve the speed as soon as another thread needs a core.
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            session = engine.InferenceSession(self.onnx_model(), options, providers=["CPUExecutionProvider"])
        except EngineError:
            raise
        except Exception as error:  # onnxruntime has a class of its own for each cause
            raise EngineError(f"the embedding model {self.name} cannot be loaded ({error}): reinstall it") from error
        if hasattr(os, "register_at_fork"):  # not on Windows
            os.register_at_fork(after_in_child=partial(_never_close, ref(session)))
        return session


def _never_close(session: ref[Any]) -> None:
    """Keep a session for as long as a forked child lives: to close it, it would wait for threads of its parent."""
    if (held := session()) is not None:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))
