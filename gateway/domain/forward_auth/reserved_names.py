"""Host names that no realm gets: those of the rules file and of the gateway itself.

A site with the gateway's host would have its pages and cookies beside the sign-in pages, in the
same origin. attacks: B4
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final, Self
from urllib.parse import urlsplit

from gateway.domain.forward_auth.hosts import RULES_FILE, HostOwners, is_below
from gateway.domain.forward_auth.site import Site

GATEWAY: Final = "the gateway"
"""The owner of the hosts of the gateway's public URLs."""


@dataclass(frozen=True, slots=True)
class ReservedNames:
    """Hosts with their owners, RULES_FILE and GATEWAY, and the cookie domains of the rules file.

    `cookie_domains` are pairs of a domain and the name of the realm that signs browsers in.
    """

    hosts: HostOwners
    cookie_domains: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, sites: Iterable[Site], public_urls: Iterable[str]) -> Self:
        """Reserve the names of the sites of the rules file and of the gateway's URLs."""
        listed = tuple(sites)
        owned = [(host, RULES_FILE) for site in listed for host in site.hosts]
        owned += [(host_of_url(url), GATEWAY) for url in public_urls]
        domains = tuple(
            (site.cookie_domain, site.realms[0]) for site in listed if site.cookie_domain
        )
        return cls(HostOwners(owned), domains)


def host_of_url(url: str) -> str:
    """Return the host of a public URL as sites write it, without the port."""
    name = (urlsplit(url).hostname or "").removesuffix(".")
    try:
        address = ip_address(name)
    except ValueError:
        return name
    return str(address) if address.version == 4 else f"[{address}]"  # noqa: PLR2004


def share_cookies(one: str, other: str) -> bool:
    """Tell whether browsers send the cookies of both domains to one host."""
    return is_below(one, other) or is_below(other, one)


def contested_domains(sites: Iterable[Site]) -> Iterator[tuple[Site, Site]]:
    """Yield pairs of sites whose browsers sign in at two realms and share a cookie domain."""
    sharing = [site for site in sites if site.cookie_domain is not None]
    for place, one in enumerate(sharing):
        for other in sharing[:place]:
            domains = (one.cookie_domain or "", other.cookie_domain or "")
            if one.realms[0] != other.realms[0] and share_cookies(*domains):
                yield other, one
