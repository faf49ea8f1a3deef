"""`trivium serve`: agents of your own, over HTTP."""

from __future__ import annotations

from trivium.cli._objects_at import import_agent
from trivium.cli._screen import one_line, write_line
from trivium.exceptions import ConfigurationError
from trivium.module import Module
from trivium.serving import AgentServer, ServeOptions
from trivium.serving.lowlevel import HTTPServing, is_loopback

__all__ = ["report_ready", "serve_agents"]


def serve_agents(references: list[str], host: str, port: int, token: str | None, options: ServeOptions) -> None:
    """Serve the agents at `[name=]module:object` (or those that the functions there make) until a signal comes.

    Raises:
        ConfigurationError: there is no such agent, or two have one name.
    """
    served: dict[str, Module] = {}
    for each in references:
        given, _, reference = each.rpartition("=")
        agent = import_agent(reference)
        name = given or agent.name
        if name in served:
            raise ConfigurationError(f"two agents would be served as {name!r}: name one, as other={reference}")
        served[name] = agent
    server = AgentServer(served, host, port, token=token, **options)
    server.serve(lambda: report_ready(server, ", ".join(served), server.url, host))


def report_ready(server: HTTPServing, what: str, where: str, host: str) -> None:
    """Report that a server listens, and who may call it."""
    write_line(f"serving {one_line(what)} at {where}; Ctrl-C ends it")
    if server.token_is_made:
        write_line(f"token: {server.token} (for this run; TRIVIUM_SERVE_TOKEN sets one)")
    if not server.token:
        write_line("warning: no token: every program on this machine may call it")
    if not is_loopback(host):
        write_line("warning: reached from other machines, unencrypted: put a proxy with TLS before it")
