"""The proxy for an address: one that was given, or that of the environment."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import proxy_bypass

from trivium.exceptions import ConfigurationError

__all__ = ["login_of", "proxy_for"]


def proxy_for(parts: SplitResult, known: Mapping[str, str]) -> SplitResult | None:
    """Return the address of the proxy for an address; None for a direct connection.

    Args:
        parts: the address that is asked.
        known: the proxy for each scheme, or for "all". With the key "no", which those of the environment have, the
            hosts that `NO_PROXY` names need none.

    Raises:
        ConfigurationError: the proxy is no HTTP proxy.
    """
    if "no" in known and proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    names = (parts.scheme, f"{parts.scheme}://", "all", "all://")
    found = next((known[name] for name in names if known.get(name)), None)
    if found is None:
        return None
    proxy = urlsplit(found if "://" in found else f"http://{found}")
    if proxy.scheme not in ("http", "https") or not proxy.hostname:
        raise ConfigurationError(f"a proxy begins with http:// or https://, not {proxy.scheme}://")
    return proxy


def login_of(parts: SplitResult) -> str | None:
    """Return the value of the header that logs in with the user and the password in an address; None without them."""
    if parts.username is None and parts.password is None:
        return None
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(login.encode()).decode()}"
