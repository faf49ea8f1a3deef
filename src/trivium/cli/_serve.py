"""`trivium serve`: an agent of your own, over HTTP."""

from __future__ import annotations

from trivium.cli._objects_at import object_at
from trivium.cli._screen import one_line, say
from trivium.distributed import AgentServer, ServeOptions
from trivium.distributed.lowlevel import HTTPServing, is_loopback
from trivium.exceptions import ConfigurationError
from trivium.module import Module

__all__ = ["say_ready", "serve"]


def serve(reference: str, host: str, port: int, token: str | None, options: ServeOptions) -> None:
    """Serve what stands at `module:object` until a signal comes."""
    agent = _module_at(reference)
    server = AgentServer(agent, host, port, token=token, **options)

    server.serve(lambda: say_ready(server, agent.name, server.url, host))


def say_ready(server: HTTPServing, what: str, where: str, host: str) -> None:
    """Say that a server listens, and who may come in."""
    say(f"serving {one_line(what)} at {where}; Ctrl-C ends it")
    if server.token_is_made:
        say(f"token: {server.token} (for this run; TRIVIUM_SERVE_TOKEN sets one)")
    if not server.token:
        say("warning: no token: every program on this machine may call it")
    if not is_loopback(host):
        say("warning: reached from other machines, unencrypted: put a proxy with TLS before it")


def _module_at(reference: str) -> Module:
    found = object_at(reference, "agent", "agents:writer", (Module,))
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
