"""`trivium serve`: agents of your own, over HTTP."""

from __future__ import annotations

import secrets
import signal
import webbrowser
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from trivium.cli._objects_at import import_agents
from trivium.cli._screen import write_line
from trivium.events import safe_line
from trivium.exceptions import ConfigurationError, MissingExtraError
from trivium.http.lowlevel import is_loopback
from trivium.journal import Journal
from trivium.mcp import MCPEndpoint
from trivium.serving import AgentServer, ConnectionLimits, ServeOptions
from trivium.serving.lowlevel import HTTPServing


class ServedAt(NamedTuple):
    """Where a server listens, for whom, how long runs have to end when it stops, and how many may connect."""

    host: str
    port: int
    token: str | Mapping[str, str] | None
    grace: float
    connections: ConnectionLimits


def serve_agents(references: list[str], address: ServedAt, options: ServeOptions) -> None:
    """Serve the agents at `[name=]module:object` (or those that the functions there make) until a signal comes.

    Raises:
        ConfigurationError: there is no such agent, or two have one name.
    """
    served = import_agents(references)
    host, port, token, grace, connections = address
    place = str(options.get("journal", ""))
    is_new = place != "" and "://" not in place and not Path(place).exists()
    with suppress(MissingExtraError):
        options = {**options, "endpoints": [MCPEndpoint()]}
    server = AgentServer(served, host, port, token=token, grace=grace, connections=connections, **options)

    def ready() -> None:
        report_ready(server, ", ".join(served), host)
        if isinstance(token, Mapping) and not options.get("approvers"):
            write_line("warning: users approve the calls of their own runs: --approver NAME names who does instead")
        if is_new:
            write_line(f"the journal {safe_line(place)} is new: it has no runs yet")
        shown = f"#token={server.token}" if server.token_is_made else ""  # a browser sends no fragment
        write_line(f"open {server.public_url or server.url}/{shown} to look at runs, talk and approve")

    serve_until_signal(server, ready)


def serve_until_signal(server: HTTPServing, ready: Callable[[], object]) -> None:
    """Serve until SIGTERM, after which the command ends with status 0, or until Ctrl-C."""
    before = signal.signal(signal.SIGTERM, lambda number, frame: server.stop())  # which the server raises at its end
    try:
        server.serve(ready)
    finally:
        signal.signal(signal.SIGTERM, before)


def read_tokens(token: str | None, users: Path | None) -> str | Mapping[str, str] | None:
    """Return the one token, or those of the users in a file, whose lines are NAME=TOKEN.

    Raises:
        ConfigurationError: both are given, or the file cannot be used.
    """
    if users is None:
        return token
    if token is not None:
        raise ConfigurationError("give --token, one for all, or --users, one for each")
    try:
        lines = users.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError(f"{safe_line(str(users))} cannot be read: {why}") from None
    found = dict[str, str]()
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line or line.startswith("#"):
            continue
        name, is_pair, secret = map(str.strip, line.partition("="))
        place = f"line {number} of {safe_line(str(users))}"
        if not is_pair:  # the line is not shown: it may be a token
            raise ConfigurationError(f"{place} has no '=': it is NAME=TOKEN")
        if name in found:
            raise ConfigurationError(f"{place} names {safe_line(name)} again: each user has one line")
        found[name] = secret
    if not found:
        raise ConfigurationError(f"{safe_line(str(users))} names no user: it has a line NAME=TOKEN for each")
    return found


def browse_runs(journal: Journal, port: int, reports: Collection[Path]) -> None:
    """Show the runs of a journal in a browser, and pages of `trivium extract`, until a signal comes.

    Raises:
        ConfigurationError: the port cannot be used, or there is no such page.
    """
    for each in reports:
        if not each.is_file():
            raise ConfigurationError(f"there is no report {safe_line(each)}: `trivium extract --report` writes one")
    server = AgentServer({}, port=port, token=secrets.token_urlsafe(32), journal=journal, reports=reports)

    def ready() -> None:
        address = f"{server.url}/#token={server.token}"
        write_line(f"open {address}")
        write_line("Ctrl-C ends it")
        with suppress(webbrowser.Error):
            found = webbrowser.get()
            if type(found) is not webbrowser.GenericBrowser:  # which takes the terminal
                found.open(address)

    serve_until_signal(server, ready)


def report_ready(server: HTTPServing, what: str, host: str, path: str = "") -> None:
    """Report that a server listens, where it is called, and who may call it."""
    public = f"{server.public_url}{path} (it listens at {server.url})" if server.public_url else ""
    write_line(f"serving {safe_line(what)} at {public or server.url + path}; Ctrl-C ends it")
    if server.token_is_made:
        write_line(f"token: {server.token} (for this run; TRIVIUM_SERVE_TOKEN sets one)")
    if server.is_open:
        write_line("warning: no token: every program on this machine may call it")
    if not is_loopback(host):
        write_line("warning: reached from other machines, unencrypted: put a proxy with TLS before it")
