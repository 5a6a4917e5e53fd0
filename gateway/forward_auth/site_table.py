"""The protected sites by the proxy's server and host, and the rules of a site by path.

The name of the proxy's server chooses the site, since it also chooses the service. The request's
host has to agree: a caller sends any host to any server.

A trie of path segments finds the patterns that match a path, and each pattern knows its first rule
for a method: the cost depends on the length of the path and not on the number of rules. Of the
rules that match path and method the first in the order of the file decides.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Protocol

from gateway.domain.forward_auth import (
    GATEWAY,
    ReservedNames,
    Rule,
    Site,
    Target,
    host_of_url,
    share_cookies,
)
from gateway.domain.hosts import (
    RULES_FILE,
    WILDCARD,
    HostOwners,
    ProxyServer,
    wildcards_of,
    with_port,
    without_port,
)


class Sites(Protocol):
    """The sites that are protected now."""

    async def table(self) -> "SiteTable":
        """Return the current table; raises StoreUnavailable."""


_Places = dict[str | None, int]
"""The place of the first rule for each method; None is the key of rules for every method."""


@dataclass(slots=True)
class _Node:
    """One path: rules that match it alone, and rules that match it and everything below."""

    exact: _Places = field(default_factory=dict)
    below: _Places = field(default_factory=dict)
    children: dict[str, "_Node"] = field(default_factory=dict)


class _RuleTrie:
    """The rules of one site."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._rules = rules
        self._root = _Node()
        for place, rule in enumerate(rules):
            for pattern in rule.paths:
                node = self._root
                for segment in _segments(pattern.path):
                    node = node.children.setdefault(segment, _Node())
                places = node.below if pattern.covers_below else node.exact
                methods = rule.decided_methods
                for method in (None,) if methods is None else methods:
                    places.setdefault(method, place)

    def find_rule(self, path: str, method: str) -> Rule | None:
        """Return the first rule that matches."""
        after = first = len(self._rules)
        for places in self._matching(path):
            if places:
                first = min(first, places.get(method, after), places.get(None, after))
        return None if first == after else self._rules[first]

    def _matching(self, path: str) -> Iterator[_Places]:
        node = self._root
        yield node.below
        for segment in _segments(path):
            child = node.children.get(segment)
            if child is None:
                return
            node = child
            yield node.below
        yield node.exact


class UnknownServer(Exception):
    """No site has the request's host, or the proxy's server is not the site's; `str()` says why.

    `is_unclaimed`: no site at all has the host, also none whose claim is contested.
    """

    def __init__(self, explanation: str, *, is_unclaimed: bool = False) -> None:
        super().__init__(explanation)
        self.is_unclaimed = is_unclaimed


class ProtectedSite:
    """A site with its rules; one object for all its hosts."""

    __slots__ = ("_rules", "site")

    def __init__(self, site: Site) -> None:
        self.site = site
        self._rules = _RuleTrie(site.rules)

    def find_rule(self, target: Target) -> Rule | None:
        """Return the rule that decides about the target; None where no rule matches."""
        return self._rules.find_rule(target.path, target.method)


class SiteTable:
    """An immutable table of sites."""

    def __init__(self, sites: Iterable[Site], contested: Mapping[str, str] | None = None) -> None:
        """Take sites whose hosts are all different, and sentences about contested names."""
        protected = tuple(map(ProtectedSite, sites))
        self.sites = tuple(each.site for each in protected)
        self.contested: Mapping[str, str] = contested or {}
        """Why requests are refused that name one of these hosts, by host name without port."""
        self._by_host = {host: each for each in protected for host in each.site.hosts}
        by_name: defaultdict[str, list[ProtectedSite]] = defaultdict(list)
        for host, each in self._by_host.items():
            of_name = by_name[without_port(host)]
            if each not in of_name:
                of_name.append(each)
        self._by_name: Mapping[str, Sequence[ProtectedSite]] = dict(by_name)
        self._alone = {name: found[0] for name, found in by_name.items() if len(found) == 1}
        """The sites that share their name with no other one."""
        self._has_wildcards = any(host.startswith(WILDCARD) for host in self._by_host)

    def site(self, host: str) -> Site | None:
        """Return the site of a canonical host."""
        found = self._of_host(host)
        return None if found is None else found.site

    def sites_of_server(self, server: ProxyServer) -> tuple[Site, ...]:
        """Return the sites that the proxy's server may protect: several where ports differ."""
        return tuple(each.site for each in self._named(server.name))

    def find_site(
        self, host: str, server: ProxyServer | None, scheme: str = "https"
    ) -> ProtectedSite:
        """Return the site of the proxy's server; raises UnknownServer for another host.

        Without a server the host alone chooses. Both are in the normal form of the scheme. attacks:
        B4
        """
        found = self._of_host(host, scheme)
        if found is None:
            contest = self._find_contest(host)
            explanation = contest or f"no site has the host {host}"
            raise UnknownServer(explanation, is_unclaimed=contest is None)
        if server is not None:
            of_server = self._alone.get(server.name) or self._of_server(server, scheme)
            if of_server is not found:
                raise UnknownServer(self._why_another(server, of_server, found))
        return found

    def _of_host(self, host: str, scheme: str = "https") -> ProtectedSite | None:
        if scheme == "http":
            return self._of_plain_host(host)
        found = self._by_host.get(host)
        if found is None and self._has_wildcards:
            return next(filter(None, map(self._by_host.get, wildcards_of(host))), None)
        return found

    def _of_plain_host(self, host: str) -> ProtectedSite | None:
        """Return the site of a request without TLS, where port 80 of a host is written."""
        written = with_port(host, "http")
        names = chain((written, host), *zip(wildcards_of(written), wildcards_of(host), strict=True))
        return next(filter(None, map(self._by_host.get, names)), None)

    def _of_server(self, server: ProxyServer, scheme: str) -> ProtectedSite | None:
        """Return the one site of the server; its port only decides between sites of one name."""
        found = self._named(server.name)
        if not found:
            return None
        if len(found) == 1:
            return found[0]
        return self._of_host(server.host, scheme) if server.has_port else None

    def _named(self, name: str) -> Sequence[ProtectedSite]:
        """Return the sites with a host of that name, or else of the narrowest wildcard over it."""
        names = (name, *wildcards_of(name)) if self._has_wildcards else (name,)
        return next(filter(None, map(self._by_name.get, names)), ())

    def _find_contest(self, host: str) -> str | None:
        """Return who claims the host, None where it is not contested."""
        name = without_port(host)
        found = map(self.contested.get, (name, *wildcards_of(name)))
        return next(filter(None, found), None)

    def _why_another(
        self, server: ProxyServer, of_server: ProtectedSite | None, found: ProtectedSite
    ) -> str:
        sharing = self._named(server.name)
        if not sharing:
            return f"no site has the host {server.name}, which is the name of the proxy's server"
        if of_server is None and len(sharing) > 1:
            names = " and ".join(each.site.name for each in sharing)
            asked = f"{server.host} is none of them" if server.has_port else "it reports no port"
            return f"the proxy's server {server.name} may protect the sites {names}, and {asked}"
        return f"the proxy's server {server.name} is not for the site {found.site.name}"


def settled_table(
    of_file: Sequence[Site], of_realms: Iterable[Site], public_urls: Sequence[str] = ()
) -> SiteTable:
    """Return the table of all sites, without hosts that several owners claim. attacks: B4.

    The rules file and `public_urls` own their names for every port. A name of two realms, as in
    older databases, is refused for both.
    """
    every = [(RULES_FILE, site) for site in of_file]
    every += [(f"the realm {site.realms[0]}", site) for site in of_realms]
    of_gateway = [(host_of_url(url), GATEWAY) for url in public_urls]
    owned = [(host, owner) for owner, site in every for host in site.hosts]
    owners = HostOwners([*owned, *of_gateway])
    named = [(host, f"the site {site.name} of {by}") for by, site in every for host in site.hosts]
    claims = HostOwners([*named, *of_gateway])
    domains = ReservedNames.of(of_file, ()).cookie_domains
    contested: dict[str, str] = {}
    sites = []
    for owner, site in every:
        free = tuple(host for host in site.hosts if owners.owners(host) == {owner})
        if owner == RULES_FILE:
            free = site.hosts
        kept = site if free == site.hosts else replace(site, hosts=free)
        if owner != RULES_FILE and _shares_cookies(site, domains):
            # No rule allows a request: a wildcard must not open the hosts either.
            kept = Site(site.name, free, site.realms, rules=())
            reason = f"shares cookies with the rules file by the domain {site.cookie_domain}"
            for host in map(without_port, free):
                contested[host] = f"{host} of the site {site.name} of {owner} {reason}"
        for host in set(site.hosts) - set(free):
            of_all = ", ".join(sorted(claims.owners(host)))
            contested[without_port(host)] = f"{without_port(host)} is a host of {of_all}"
        if free:
            sites.append(kept)
    return SiteTable(sites, contested)


def _shares_cookies(site: Site, reserved: Iterable[tuple[str, str]]) -> bool:
    """Return whether a site of another realm has a cookie domain of the rules file."""
    own, realm = site.cookie_domain, site.realms[0]
    return own is not None and any(
        share_cookies(own, domain) and other != realm for domain, other in reserved
    )


def _segments(path: str) -> list[str]:
    """Return the segments; none for the empty path, one empty one for `/`."""
    return path.split("/")[1:]
