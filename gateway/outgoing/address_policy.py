"""Which IP addresses the gateway connects to for others: public ones, and networks of the operator.

Spec: RFC 6890 §2.2.2 (special-purpose addresses); attacks C21
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final

_TRANSLATED: Final = tuple(map(ip_network, ("64:ff9b::/96", "::/96")))
"""IPv6 networks that contain an IPv4 address in their last 32 bits. Spec: RFC 6052 §2.1."""
_NOT_PUBLIC: Final = tuple(map(ip_network, ("192.88.99.0/24", "64:ff9b:1::/48", "fec0::/10")))
"""Relays, local translation and site-local addresses, which `is_global` counts as public."""


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """`networks` are allowed beside public addresses."""

    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    def permits(self, text: str) -> bool:
        """Return whether the address may be connected to."""
        try:
            address = ip_address(text)
        except ValueError:
            return False
        return all(self._permits(each) for each in _with_contained(address))

    def _permits(self, address: IPv4Address | IPv6Address) -> bool:
        if _is_in(address, self.networks):
            return True
        unusual = address.is_multicast or address.is_reserved or _is_in(address, _NOT_PUBLIC)
        return address.is_global and not unusual


def _with_contained(
    address: IPv4Address | IPv6Address,
) -> tuple[IPv4Address | IPv6Address, ...]:
    """Return the address, or the ones that count where it stands for IPv4 addresses."""
    if isinstance(address, IPv4Address):
        return (address,)
    if address.scope_id is not None:
        return (IPv6Address("fe80::"),)
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address, address.sixtofour)
    if address.teredo is not None:
        return (address, *address.teredo)
    if int(address) > 1 and _is_in(address, _TRANSLATED):
        return (IPv4Address(int(address) & 0xFFFF_FFFF),)
    return (address,)


def _is_in(
    address: IPv4Address | IPv6Address, networks: Iterable[IPv4Network | IPv6Network]
) -> bool:
    return any(address in network for network in networks)
