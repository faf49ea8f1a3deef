"""A server of uvicorn in this process, which prints its port when it listens and ends with its standard input."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import uvicorn

__all__ = ["end_with_input", "serve"]


def end_with_input() -> None:
    """End this process when whoever started it is gone."""

    def wait() -> None:
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


def serve(app: Any) -> None:
    """Serve an application at a free port."""

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            print(self.servers[0].sockets[0].getsockname()[1], flush=True)

    end_with_input()
    Server(uvicorn.Config(app, port=0, log_level="error", access_log=False, backlog=2048)).run()
