"""What all tests share."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from _forked import forking
from _postgres import postgres_server

# How long an example takes says more about what else the machine does than about the code.
settings.register_profile("trivium", deadline=None)
settings.load_profile("trivium")
_MEMORY, _ROOM = Path("/dev/shm"), 4 << 30


def pytest_configure() -> None:
    """Let Ctrl-C be tested where the tests were started in the background, by a shell that ignores it there."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # The embedded model's threads do not spin for each other: beside other tests that is a third of what they cost.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    # A client that may speak TLS reads all certificates of that file, for 30 ms; their folder is read as it is needed.
    os.environ["SSL_CERT_FILE"] = str(Path(__file__).with_name("nobody.pem"))
    # What tests write nobody keeps: where a disk that is memory has room, none waits for another one.
    if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))
    gc.disable()  # while tests are collected: nothing of that is garbage


def pytest_collection_finish() -> None:
    """Let the collector pass over what all tests share: many tests collect, and there are a million such objects."""
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def frozen() -> None:
    """The same for what tests before these have loaded, for tests that collect hundreds of times."""
    pytest_collection_finish()


@pytest.fixture
def without_the_collector() -> Generator[None]:
    """For tests that make a million objects and no garbage: to go over them again and again takes longer than that."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def forked_processes() -> Generator[None]:
    """For tests that read one file each: the processes for that would have nothing to do but to start."""
    with forking():
        yield


@pytest.fixture(scope="session")
def server_url() -> Generator[str]:
    """The URL of a real PostgreSQL server: each test makes a database or a schema of its own there."""
    with postgres_server() as server:
        yield server.get_uri()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which tests cannot run here: those of public documents that are not part of the project."""
    if not (Path(__file__).parents[2] / "shared/reference").is_dir():
        terminalreporter.write_line("tests/reference was left out: there is no folder ../shared/reference here")
