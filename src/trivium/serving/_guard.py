"""The guard in front of the routes: it admits requests or refuses them."""

from __future__ import annotations

import hmac
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from trivium.exceptions import ConfigurationError
from trivium.serving._error_response import error_response, path_of
from trivium.serving._wire import Failure, too_large

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
"""The names of the own machine."""
_OPEN = re.compile(r"/?|/ui/(files|report)/.*|/health_check|(/a2a/.+)?/\.well-known/agent-card\.json")
"""The paths that need no token: the UI's page asks for it, paths of reports are secret, and clients of A2A read in a
card that they need one."""
_PORT = re.compile(r":\d+$")
_OTHER_HOST: Final = (
    "the server does not go by that Host: call it by the address that it shows when it starts, or start it with"
    " public_url=, or --public-url, that has the name by which a proxy passes requests on"
)
_OTHER_ORIGIN: Final = "pages of that origin may not call the server: start it with origins=, or --origin, that name it"

_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#@\sA-Z]+")
_NAME: Final = re.compile(r"[a-z0-9._-]+|\[.+\]")
_WEB: Final = {"http": 80, "https": 443}
"""The schemes of the web, and the ports that addresses leave out."""

Application = Callable[[Any, Any, Any], Awaitable[None]]


def check_tokens(token: str | Mapping[str, str]) -> dict[str, str]:
    """Return the tokens by user; the one user of a server with one token has no name.

    Raises:
        ConfigurationError: a token cannot stand in a header, or a user's name cannot be told from a session.
    """
    tokens = {"": token} if isinstance(token, str) else dict(token)
    for user, each in tokens.items():
        if not isinstance(user, str) or not isinstance(each, str):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError("tokens are texts, by the users' names")
        if not each.isascii() or (each and not each.isprintable()) or " " in each:
            raise ConfigurationError("a token is made of ASCII letters, digits and signs, without spaces")
        if not isinstance(token, str) and (not user or not each or ":" in user):
            raise ConfigurationError("each user has a name without ':' and a token that is not empty")
    first = {each: user for user, each in reversed(tokens.items())}
    if alike := [f"{first[each]} and {user}" for user, each in tokens.items() if first[each] != user]:
        raise ConfigurationError(f"{alike[0]} have the same token: give each user a token of their own")
    if not tokens:
        raise ConfigurationError("there is no user: give each one a token")
    return tokens


def check_origin(origin: str) -> str:
    """Return a web origin as it is.

    Raises:
        ConfigurationError: it is none.
    """
    if not _ORIGIN.fullmatch(origin):
        text = "write it as https://app.example, in lower case and without a path"
        raise ConfigurationError(f"{origin!r} is no origin: {text}")
    return origin


def public_address(url: str) -> str:
    """Return the origin of a server's public address, as browsers write it.

    Raises:
        ConfigurationError: it is no address of a server.

    Example:
        >>> public_address("https://Agents.example.org:443/"), public_address("http://é.example:8090")
        ('https://agents.example.org', 'http://xn--9ca.example:8090')
    """
    try:
        parts = urlsplit(url.lower().removesuffix("/"))
        name, port = parts.hostname or "", parts.port
        name = f"[{ip_address(name)}]" if ":" in name else name.encode("idna").decode()
    except ValueError:
        parts, name, port = urlsplit(""), "", None
    has_more = parts.path or parts.query or parts.fragment or "@" in parts.netloc
    if parts.scheme not in _WEB or has_more or not _NAME.fullmatch(name):
        text = "write it as https://agents.example.org, without a path"
        raise ConfigurationError(f"{url!r} is no origin: {text}")
    return f"{parts.scheme}://{name}" + ("" if port in (None, _WEB[parts.scheme]) else f":{port}")


class Guard:
    """Refuses requests of other hosts and origins, without the token, or too large; notes the user (`trivium.user`).

    Args:
        app: the application behind it.
        tokens: the tokens by user.
        hosts: the names that a request's Host may have; None: any.
        origins: the web origins whose pages may call; pages of the Host always may.
        max_bytes: the largest body of a request.
        public_url: the `public_address` by which others know the server, whose name is a Host too; "": none.
    """

    def __init__(
        self,
        app: Application,
        tokens: Mapping[str, str],
        hosts: Collection[str] | None,
        origins: Collection[str],
        max_bytes: int,
        public_url: str = "",
    ) -> None:
        self._app, self._origins, self._max_bytes = app, {*origins, public_url}, max_bytes
        public = _PORT.sub("", urlsplit(public_url).netloc)
        self._hosts = None if hosts is None else {host.lower() for host in (*hosts, public) if host}
        self._tokens = {user: f"bearer {token}".encode() if token else b"" for user, token in tokens.items()}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {name.lower(): value for name, value in scope["headers"]}
            try:
                self.check(headers)
                scope["trivium.user"] = "" if _OPEN.fullmatch(path_of(scope)) else self.find_user(headers)
            except Failure as failure:
                status, told, body = error_response(path_of(scope), failure)
                pairs = [(name.encode(), value.encode()) for name, value in told.items()]
                await send({"type": "http.response.start", "status": status, "headers": pairs})
                await send({"type": "http.response.body", "body": body})
                return
        await self._app(scope, receive, send)

    def check(self, headers: Mapping[bytes, bytes]) -> None:
        """Raise a Failure for a Host or an Origin that is not allowed, and for a body that is too large."""
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self._hosts is not None and _PORT.sub("", host) not in self._hosts:
            raise Failure(403, "Forbidden", _OTHER_HOST)  # a page whose name was re-bound
        origin = headers.get(b"origin", b"").decode("latin-1")
        if origin and origin not in self._origins and origin.partition("://")[2].lower() != host:
            raise Failure(403, "Forbidden", _OTHER_ORIGIN)
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and (len(length) > 18 or int(length) > self._max_bytes):
            raise too_large(self._max_bytes)

    def find_user(self, headers: Mapping[bytes, bytes]) -> str:
        """Return the user whose token the request has; raise a Failure if there is none."""
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        given = scheme.lower() + b" " + token.strip()
        # Every token is compared, each in constant time: how long it takes tells nothing.
        found = [user for user, expected in self._tokens.items() if hmac.compare_digest(expected, given)]
        if not found and b"" not in self._tokens.values():
            raise Failure(401, "Unauthorized", "send the token: Authorization: Bearer …")
        return found[0] if found else ""
