"""Hosts of sites and requests in their one normal form, owners of host names, the public address.

Site tables, uniqueness, redirects and cookies compare hosts in this form alone: lower case, and a
port only where it is not the scheme's own. Every other spelling of a host (a trailing dot, Unicode
instead of punycode, another notation of an address, a zone, an empty port, a port with leading
zeros) is refused, never repaired, because a proxy and a service could read it differently.

Every issuer and every link begins with the public address: an absolute http or https URL of host,
port and path alone, in the characters of RFC 3986 and no others, so that nothing written into a
token or a header can break out.
Source: attacks B1, B4; RFC 3986 §3, §3.2.2; RFC 9110 §7.2
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from gateway.domain.limits.caches import cached

WILDCARD: Final = "*."
"""Begins a host of a site that covers every host below; no request has such a host."""
RULES_FILE: Final = "the rules file"
"""The owner of the hosts that the operator protects."""
_LEAST_LABELS: Final = 2
"""Of the name below which a wildcard covers every host: `*.example.org`, and not `*.org`."""
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_LARGEST_PORT: Final = 65535
_HOST: Final = re.compile(
    r"(?P<name>[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(:(?P<port>[0-9]{1,5}))?"
)
_LABEL: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")


class AmbiguousTarget(Exception):
    """The request cannot be read in one way; `str()` is the reason, free of the request's text."""


@dataclass(frozen=True, slots=True)
class ProxyServer:
    """The proxy's server that received a request, as the proxy reports it.

    `name` may begin with `*.`. `host` is the name, with the port where it is not the scheme's own.
    `has_port` is False where the proxy reports the name alone, as nginx on a unix socket does.
    """

    name: str
    host: str
    has_port: bool


# Called for every request.
@cached(256 * 1024)
def canonical_host(text: str, scheme: str = "https") -> str:
    """Return the normal form of a request's host; raises AmbiguousTarget."""
    match = _HOST.fullmatch(text.lower()) if text.isascii() else None
    if match is None or not _names_a_host(match["name"]):
        raise AmbiguousTarget("the host is neither a host name nor an address")
    port = match["port"]
    if port is None or port == _DEFAULT_PORTS[scheme]:
        return match["name"]
    if port.startswith("0") or int(port) > _LARGEST_PORT:
        raise AmbiguousTarget("the port is not one of 1 to 65535")
    return match[0]


def canonical_site_host(text: str) -> str:
    """Return the normal form of a host of a site, maybe with a wildcard; raises AmbiguousTarget."""
    if not text.startswith(WILDCARD):
        return canonical_host(text)
    below = canonical_host(text.removeprefix(WILDCARD))
    name = without_port(below)
    if name.startswith("[") or name.count(".") + 1 < _LEAST_LABELS or _is_number(name):
        raise AmbiguousTarget("a wildcard stands below a name of two labels: *.example.org")
    return f"{WILDCARD}{below}"


# Called for every request.
@cached(256 * 1024)
def proxy_server(text: str, scheme: str) -> ProxyServer:
    """Return the server that the proxy reports as `name:port`; raises AmbiguousTarget."""
    wildcard = WILDCARD if text.startswith(WILDCARD) else ""
    # nginx has no port on a unix socket, and the name alone is what older configurations send.
    address = text.removeprefix(wildcard).removesuffix(":")
    try:
        host = canonical_host(address, scheme)
    except AmbiguousTarget:
        raise AmbiguousTarget(
            "the proxy's server has no name that a site could have: name it by a host of the site"
        ) from None
    name = without_port(host)
    has_port = without_port(address) != address
    return ProxyServer(f"{wildcard}{name}", f"{wildcard}{host}", has_port)


def without_port(host: str) -> str:
    """Return the name or address of a host in normal form."""
    return host if host.endswith("]") else host.rpartition(":")[0] or host


def with_port(host: str, scheme: str) -> str:
    """Return the host of a request in normal form, with its port where that is the scheme's own."""
    return host if without_port(host) != host else f"{host}:{_DEFAULT_PORTS[scheme]}"


def wildcards_of(host: str) -> Iterator[str]:
    """Yield the wildcards that cover a host or wildcard, the narrowest first, with its port."""
    name = without_port(host)
    if name.startswith("["):
        return
    labels, port = name.removeprefix(WILDCARD).split("."), host[len(name) :]
    for place in range(1, len(labels)):
        yield f"{WILDCARD}{'.'.join(labels[place:])}{port}"


def is_host_of(hosts: Collection[str], host: str) -> bool:
    """Tell whether a request's host is one of these hosts of a site."""
    return host in hosts or any(wildcard in hosts for wildcard in wildcards_of(host))


def is_below(host: str, domain: str) -> bool:
    """Tell whether every host that this host of a site covers is in the domain."""
    name = without_port(host).removeprefix(WILDCARD)
    return name == domain or name.endswith(f".{domain}")


class HostOwners:
    """Which owners have a host name, without its port: each name ought to have one.

    An owner is a realm, or the rules file. Two hosts have a name in common where the ports alone
    differ, or where one is a wildcard that covers the other.
    """

    def __init__(self, owned: Iterable[tuple[str, str]]) -> None:
        self._owners: defaultdict[str, set[str]] = defaultdict(set)
        """By name."""
        below: defaultdict[str, set[str]] = defaultdict(set)
        for host, owner in owned:
            self._owners[without_port(host)].add(owner)
        for name, owners in self._owners.items():
            for wildcard in wildcards_of(name):
                below[wildcard] |= owners
        self._below: Mapping[str, set[str]] = below
        """Owners of the names that each wildcard covers."""

    def owners(self, host: str) -> frozenset[str]:
        """Return the owners of all names that the host has in common with others."""
        name = without_port(host)
        found = set(self._owners.get(name, ()))
        for wildcard in wildcards_of(name):
            found |= self._owners.get(wildcard, set())
        if name.startswith(WILDCARD):
            found |= self._below.get(name, set())
        return frozenset(found)


def _names_a_host(name: str) -> bool:
    if name.startswith("["):
        return _is_address(name[1:-1], IPv6Address)
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _is_address(name, IPv4Address)
    return all(map(_LABEL.fullmatch, labels))


def _is_number(name: str) -> bool:
    return _NUMBER.fullmatch(name.rpartition(".")[2]) is not None


def _is_address(text: str, kind: type[IPv4Address | IPv6Address]) -> bool:
    try:
        return str(kind(text)) == text
    except ValueError:
        return False


_PUBLIC_LABEL: Final = r"[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?"
_PUBLIC_HOST: Final = rf"({_PUBLIC_LABEL}(\.{_PUBLIC_LABEL})*\.?|\[[0-9A-Fa-f:.]+\])"
_PATH: Final = r"(/([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+)*"
_PUBLIC_URL: Final = re.compile(rf"https?://{_PUBLIC_HOST}(:(?P<port>\d{{1,5}}))?{_PATH}/?")
_PORTS: Final = range(1, 1 << 16)


def public_url(text: str) -> str:
    """Return the URL without a slash at its end; raises ValueError, which quotes nothing of it."""
    match = _PUBLIC_URL.fullmatch(text)
    if match is None:
        raise ValueError(
            "an absolute http or https address of host, port and path, without user, query,"
            " fragment, quotes and white space,"
        )
    port = match.group("port")
    if port is not None and int(port) not in _PORTS:
        raise ValueError("a port from 1 to 65535")
    return text.rstrip("/")
