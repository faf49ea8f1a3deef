"""No spelling of an address that is not public gets past the check; public ones do."""

from __future__ import annotations

import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.actions.web import Fetcher
from trivium.actions.web._addresses import allowed, host_problem, is_public
from trivium.exceptions import FetchAddressError

CLOSED_4 = [
    IPv4Network(each)
    for each in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32",
    )
]  # fmt: skip
CLOSED_6 = [
    IPv6Network(each)
    for each in (
        "::/128", "::1/128", "::/96", "64:ff9b:1::/48", "100::/64", "2001::/32", "2001:2::/48", "2001:10::/28",
        "2001:20::/28", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10",
        "ff00::/8",
    )
]  # fmt: skip
closed_4 = st.sampled_from(CLOSED_4).flatmap(lambda network: st.ip_addresses(network=network))
closed_6 = st.sampled_from(CLOSED_6).flatmap(lambda network: st.ip_addresses(network=network))


def parts_of(address: IPv4Address) -> list[int]:
    return list(address.packed)


SPELLINGS_4: dict[str, Callable[[IPv4Address], str]] = {
    "plain": str,
    "with a dot at the end": "{}.".format,
    "one decimal number": lambda each: str(int(each)),
    "one hexadecimal number": lambda each: hex(int(each)),
    "one hexadecimal number in capitals": lambda each: f"0X{int(each):X}",
    "one octal number": lambda each: f"0{int(each):o}",
    "a number that overflows": lambda each: str(int(each) + (1 << 32)),
    "octal parts": lambda each: ".".join(f"0{part:o}" for part in parts_of(each)),
    "hexadecimal parts": lambda each: ".".join(map(hex, parts_of(each))),
    "zeros before": lambda each: ".".join(f"{part:04}" for part in parts_of(each)),
    "mixed parts": lambda each: "{}.{:#x}.0{:o}.{}".format(*parts_of(each)),
    "two parts": lambda each: f"{each.packed[0]}.{int(each) & 0xFFFFFF}",
    "three parts": lambda each: f"{each.packed[0]}.{each.packed[1]}.{int(each) & 0xFFFF}",
    "wide digits": lambda each: str(each).translate({48 + n: 0xFF10 + n for n in range(10)}),
    "digits of another script": lambda each: str(each).translate({48 + n: 0x0660 + n for n in range(10)}),
    "wide dots": lambda each: str(each).replace(".", "。"),
    "percent signs": lambda each: "".join(f"%{ord(letter):02x}" for letter in str(each)),
    "mapped to IPv6": "[::ffff:{}]".format,
    "mapped to IPv6 in hexadecimal": lambda each: f"[::ffff:{int(each) >> 16:x}:{int(each) & 0xFFFF:x}]",
    "mapped to IPv6 in full": lambda each: f"[{IPv6Address((0xFFFF << 32) | int(each)).exploded}]",
    "compatible with IPv6": "[::{}]".format,
    "behind NAT64": "[64:ff9b::{}]".format,
    "behind 6to4": lambda each: f"[2002:{int(each) >> 16:x}:{int(each) & 0xFFFF:x}::]",
    "behind Teredo": lambda each: f"[2001:0:{int(each) >> 16:x}:{int(each) & 0xFFFF:x}::]",
}
SPELLINGS_6: dict[str, Callable[[IPv6Address], str]] = {
    "plain": "[{}]".format,
    "in full": lambda each: f"[{each.exploded}]",
    "in capitals": lambda each: f"[{each.exploded.upper()}]",
    "with a zone": "[{}%25lo]".format,
}


def as_systems_do(host: str, port: int) -> list[str]:
    """What the C library makes of a number: the most lenient reading that there is."""
    try:
        return [socket.inet_ntoa(socket.inet_aton(host))]
    except OSError:
        return []


@pytest.mark.parametrize("spelling", SPELLINGS_4.values(), ids=SPELLINGS_4)
@given(scheme=st.sampled_from(["http", "https"]), address=closed_4)
def test_no_spelling_of_a_closed_ipv4_address_is_asked(
    spelling: Callable[[IPv4Address], str], scheme: str, address: IPv4Address
) -> None:
    with pytest.raises(FetchAddressError):
        Fetcher(resolve=as_systems_do, timeout=60).fetch(f"{scheme}://{spelling(address)}/")


@pytest.mark.parametrize("spelling", SPELLINGS_6.values(), ids=SPELLINGS_6)
@given(address=closed_6)
def test_no_spelling_of_a_closed_ipv6_address_is_asked(
    spelling: Callable[[IPv6Address], str], address: IPv6Address
) -> None:
    with pytest.raises(FetchAddressError):
        Fetcher(resolve=as_systems_do, timeout=60).fetch(f"http://{spelling(address)}/")


@given(st.one_of(closed_4, closed_6).map(str))
def test_no_closed_address_is_public(address: str) -> None:
    assert not is_public(address)


@given(st.ip_addresses(network=ip_network("128.0.0.0/3")), st.data())
def test_an_address_wrapped_in_ipv6_is_as_public_as_it_is_plain(address: IPv4Address, data: st.DataObject) -> None:
    wrapped = data.draw(st.sampled_from([f"::ffff:{address}", f"64:ff9b::{address}"]))
    assert is_public(wrapped) == is_public(str(address))


@given(st.ip_addresses(network=IPv6Network("2600::/12")))
def test_addresses_of_the_public_network_are_public(address: IPv6Address) -> None:
    assert is_public(str(address))


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "8.8.8.8", "93.184.216.34", "172.32.0.1", "100.128.0.1", "223.255.255.1"]
)
def test_well_known_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


@given(st.text())
def test_any_text_is_an_address_or_none(text: str) -> None:
    assert not is_public(text) or is_public(text.strip())
    assert isinstance(host_problem(text), str)


@given(st.text(max_size=40))
def test_any_text_is_a_url_or_refused(text: str) -> None:
    with pytest.raises(FetchAddressError):
        Fetcher(resolve=as_systems_do).fetch(f"{text}://127.0.0.1/{text}")


@pytest.mark.parametrize(
    ("entry", "hosts"),
    [
        ("127.0.0.1:8123", {("127.0.0.1", 8123)}),
        ("[::1]:8123", {("::1", 8123)}),
        ("Intranet.example.", {("intranet.example", 80), ("intranet.example", 443)}),
    ],
)
def test_entries_of_allowed_hosts(entry: str, hosts: set[tuple[str, int]]) -> None:
    assert allowed([entry]) == hosts
