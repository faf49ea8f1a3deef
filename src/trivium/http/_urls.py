"""Addresses: parsed and checked once, and written as they are sent."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Final, NamedTuple
from unicodedata import normalize
from urllib.parse import quote, urljoin, urlsplit

from trivium.http._messages import InvalidRequestError

_PORTS: Final = {"http": 80, "https": 443}
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_JOINERS: Final = re.compile("[\u200c\u200d]")  # parts of names in Python from 3.13 on, and of no host's
_SAFE: Final = "/%:@!$&'()*+,;=~-._[]?"


class URL(NamedTuple):
    """An address of HTTP, without a fragment; its `repr` has no user and no password.

    Attributes:
        scheme: "http" or "https".
        host: the name or the IP address, in ASCII, in lower case and without brackets.
        port: the port, that of the scheme if the address has none.
        path: the path, escaped.
        query: the query, escaped; empty without one.
        userinfo: the user and the password, as they were written; empty without them.
    """

    scheme: str
    host: str
    port: int
    path: str
    query: str
    userinfo: str

    @classmethod
    def parse(cls, text: str) -> URL:
        """Parse an address.

        Raises:
            InvalidRequestError: it is none of HTTP.
        """
        try:
            parts = urlsplit(text)
            host, port = _ascii(parts.hostname or ""), parts.port
        except ValueError:  # its text may have the password
            host = port = parts = None
        if parts is None or parts.scheme not in _PORTS or not host or _CONTROL.search(text):
            raise InvalidRequestError("an address begins with http:// or https:// and a host, maybe with a port")
        path, query = quote(parts.path, safe=_SAFE) or "/", quote(parts.query, safe=_SAFE)
        own = _PORTS[parts.scheme] if port is None else port
        return cls(parts.scheme, host, own, path, query, parts.netloc.rpartition("@")[0])

    def join(self, location: str) -> URL:
        """Return the address to which a response of this one redirects; the user and the password stay at their host.

        Args:
            location: the header, in which each character is a byte.

        Raises:
            InvalidRequestError: it is no address of HTTP.
        """
        try:
            location = location.encode("latin-1").decode()
        except UnicodeError:  # no UTF-8: the bytes as they are
            location = quote(location, safe=f"{_SAFE}#", encoding="latin-1")
        try:
            return self.parse(urljoin(str(self), location))
        except ValueError:
            raise InvalidRequestError("the server redirects to what is no address") from None

    @property
    def authority(self) -> str:
        """The host, and the port if it is not that of the scheme."""
        return self.host_and_port if self.port != _PORTS[self.scheme] else self.host_and_port.rpartition(":")[0]

    @property
    def host_and_port(self) -> str:
        """The host and the port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def target(self) -> str:
        """The path and the query."""
        return f"{self.path}?{self.query}" if self.query else self.path

    def __str__(self) -> str:
        return f"{self.scheme}://{self.userinfo}@{self.authority}{self.target}" if self.userinfo else repr(self)

    def __repr__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def is_loopback(host: str) -> bool:
    """Return True if a host is this machine, which no other one reaches by this address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _ascii(host: str) -> str:
    """Return the name of a host as it is looked up, as browsers do: "ß" is a letter of its own."""
    if host.isascii():
        return host
    folded = normalize("NFKC", normalize("NFKC", host).lower()).replace("。", ".")
    return ".".join(map(_ascii_label, folded.split(".")))


def _ascii_label(label: str) -> str:
    if label.isascii():
        return label
    if not f"_{label.replace('-', '_')}".isidentifier() or label.isdecimal() or _JOINERS.search(label):
        raise ValueError("its host is not a valid host name")
    return f"xn--{label.encode('punycode').decode()}"
