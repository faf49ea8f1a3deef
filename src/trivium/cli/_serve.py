"""`trivium serve`: an agent of your own, over HTTP."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from trivium.cli._screen import one_line, say
from trivium.distributed import AgentServer, ServeOptions
from trivium.distributed.http_serve._guard import is_loopback
from trivium.exceptions import ConfigurationError
from trivium.module import Module

__all__ = ["serve"]


def serve(reference: str, host: str, port: int, token: str | None, options: ServeOptions) -> None:
    """Serve what stands at `module:object` until a signal comes."""
    agent = _module_at(reference)
    server = AgentServer(agent, host, port, token=token, **options)

    def ready() -> None:
        say(f"serving {one_line(agent.name)} at {server.url}; Ctrl-C ends it")
        if server.token_is_made:
            say(f"token: {server.token} (for this run; TRIVIUM_SERVE_TOKEN sets one)")
        if not server.token:
            say("warning: no token: every program on this machine may call it")
        if not is_loopback(host):
            say("warning: reached from other machines, unencrypted: put a proxy with TLS before it")

    server.serve(ready)


def _module_at(reference: str) -> Module:
    path, _, name = reference.partition(":")
    if not name or not all(part.isidentifier() for part in [*path.split("."), *name.split(".")]):
        raise ConfigurationError(f"'{one_line(reference)}' names no agent; write it as module:object, as agents:writer")
    found = _object_at(path, name)
    if not isinstance(found, Module) and callable(found):
        try:
            found = found()
        except Exception as error:
            raise ConfigurationError(f"{reference}() failed: {type(error).__name__}: {one_line(error)}") from error
    if not isinstance(found, Module):
        raise ConfigurationError(
            f"{reference} is a {type(found).__name__}; name an agent, or a function that makes one"
        )
    return found


def _object_at(path: str, name: str) -> Any:
    sys.path.insert(0, str(Path.cwd()))  # as `python -m` does: the command lies in a folder of its own
    try:
        found: Any = import_module(path)
    except Exception as error:
        missing = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{path}.".startswith(f"{missing}."):
            raise ConfigurationError(f"there is no module {missing!r} in this folder, and none is installed") from None
        raise ConfigurationError(f"importing {path} failed: {type(error).__name__}: {one_line(error)}") from error
    for part in name.split("."):
        if not hasattr(found, part):
            agents = [key for key, value in cast("dict[str, Any]", vars(found)).items() if isinstance(value, Module)]
            known = f"; there are {', '.join(agents)}" if agents else ""
            raise ConfigurationError(f"{path} has no {name!r}{known}")
        found = getattr(found, part)
    return found
