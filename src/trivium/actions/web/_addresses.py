"""The hosts and network addresses from which pages may be fetched."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

from trivium.exceptions import ConfigurationError

Host = tuple[str, int]
"""A host's name or address, in lower case and without brackets, and a port."""

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)")
_GLOBAL_IPV6 = ip_network("2000::/3")
_NAT64 = ip_network("64:ff9b::/96")
# Addresses that `is_global` misses, or misses in some versions of Python (IANA's registries of special addresses).
_SPECIAL = tuple(
    ip_network(each)
    for each in (
        "100.64.0.0/10",
        "168.63.129.16/32",  # a public address at which Azure serves the machine's own host
        "192.0.0.0/24",  # with 192.0.0.192, the metadata service of another cloud
        "192.88.99.0/24",
        "224.0.0.0/3",
        "2001::/23",  # with Teredo, which wraps an IPv4 address
        "2001:db8::/32",
        "2002::/16",  # 6to4, which wraps an IPv4 address
        "3fff::/20",
    )
)


def is_public(address: str) -> bool:
    """Return True if an address is public; IPv4 addresses wrapped in IPv6 are unwrapped.

    >>> is_public("8.8.8.8"), is_public("10.0.0.1"), is_public("::ffff:127.0.0.1"), is_public("64:ff9b::a00:1")
    (True, False, False, False)
    """
    try:
        found = ip_address(address)
    except ValueError:
        return False
    if isinstance(found, IPv6Address):
        inner = found.ipv4_mapped or (IPv4Address(int(found) & 0xFFFFFFFF) if found in _NAT64 else None)
        if inner is None and (found.scope_id or found not in _GLOBAL_IPV6):
            return False
        found = inner or found
    return found.is_global and not any(found in network for network in _SPECIAL)


def is_literal(host: str) -> bool:
    """True if a host is an address, not a name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def host_problem(host: str) -> str:
    """Describe what is wrong with a host in a URL; "" if nothing is.

    Some systems read other forms of numbers as addresses; only four decimal numbers are accepted.

    >>> [bool(host_problem(each)) for each in ("a.org", "127.0.0.1", "::1", "0x7f.1", "2130706433", "%31.org")]
    [False, False, False, True, True, True]
    """
    if is_literal(host):
        return "" if "%" not in host else "its address has a zone"
    if len(host) > 253 or not all(map(_LABEL.fullmatch, host.split("."))):
        return "its host is not a valid host name"
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        return "its host is a number, but not an address: write four decimal numbers"
    return ""


def allowed(entries: Iterable[str]) -> frozenset[Host]:
    """Parse allowed hosts, each `host:port`, or `host` for ports 80 and 443.

    Raises:
        ConfigurationError: an entry is not a host.
    """
    return frozenset(host for entry in entries for host in parse_host(entry))


def parse_host(entry: str) -> list[Host]:
    """Parse `host:port`, or `host` for ports 80 and 443; see `allowed`."""
    try:
        parts = urlsplit(f"//{entry}")
        host, port = (parts.hostname or "").removesuffix("."), parts.port
        # Only a host may stand there: "10.0.0.1/8" looks like a network, and would allow one address.
        is_host = parts.netloc == entry and "@" not in entry and not host_problem(host)
    except ValueError:
        host, port, is_host = "", None, False
    if not is_host:
        raise ConfigurationError(
            f"allowed_hosts has {entry!r}: write a host with its port, such as '127.0.0.1:8000' or '[::1]:8000'"
        )
    return [(host, port)] if port is not None else [(host, 80), (host, 443)]
