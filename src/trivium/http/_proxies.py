"""The proxy for an address: one that was given, or that of the environment."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from urllib.parse import unquote
from urllib.request import proxy_bypass

from trivium.exceptions import ConfigurationError
from trivium.http._messages import InvalidRequestError
from trivium.http._urls import URL


def proxy_for(url: URL, known: Mapping[str, str]) -> URL | None:
    """Return the address of the proxy for an address; None for a direct connection.

    Args:
        url: the address that is asked.
        known: the proxy for each scheme, or for "all". With the key "no", which those of the environment have, the
            hosts that `NO_PROXY` names need none.

    Raises:
        ConfigurationError: the proxy is no HTTP proxy.
    """
    if "no" in known and proxy_bypass(url.authority):
        return None
    names = (url.scheme, f"{url.scheme}://", "all", "all://")
    name = next((name for name in names if known.get(name)), None)
    if name is None:
        return None
    found = known[name]
    try:
        return URL.parse(found if "://" in found else f"http://{found}")
    except InvalidRequestError:
        scheme = found.partition("://")[0] if "://" in found else "http"
        variable = f"{name.removesuffix('://').upper()}_PROXY"
        raise ConfigurationError(
            f"a proxy begins with http:// or https:// and a host, not {scheme}://: change {variable}, or what "
            f"proxies= has for {name!r}"
        ) from None


def login_of(userinfo: str) -> str | None:
    """Return the value of the header that logs in with the user and the password of an address; None without them."""
    if not userinfo:
        return None
    user, _, password = userinfo.partition(":")
    login = f"{unquote(user)}:{unquote(password)}"
    return f"Basic {base64.b64encode(login.encode()).decode()}"
