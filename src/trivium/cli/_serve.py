"""`trivium serve`: an agent of your own, over HTTP."""

from __future__ import annotations

from trivium.cli._objects_at import import_agent
from trivium.cli._screen import one_line, write_line
from trivium.serving import AgentServer, ServeOptions
from trivium.serving.lowlevel import HTTPServing, is_loopback

__all__ = ["report_ready", "serve_agent"]


def serve_agent(reference: str, host: str, port: int, token: str | None, options: ServeOptions) -> None:
    """Serve the agent at `module:object` (or one that the function there makes) until a signal comes."""
    agent = import_agent(reference)
    name, server = agent.name, AgentServer(agent, host, port, token=token, **options)
    server.serve(lambda: report_ready(server, name, server.url, host))


def report_ready(server: HTTPServing, what: str, where: str, host: str) -> None:
    """Report that a server listens, and who may call it."""
    write_line(f"serving {one_line(what)} at {where}; Ctrl-C ends it")
    if server.token_is_made:
        write_line(f"token: {server.token} (for this run; TRIVIUM_SERVE_TOKEN sets one)")
    if not server.token:
        write_line("warning: no token: every program on this machine may call it")
    if not is_loopback(host):
        write_line("warning: reached from other machines, unencrypted: put a proxy with TLS before it")
