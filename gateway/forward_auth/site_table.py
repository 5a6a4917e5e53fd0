"""The protected sites by host, and the rules of a site by path.

A trie of path segments finds the patterns that match a path, and each pattern knows its first rule
for a method: the cost depends on the length of the path and not on the number of rules. Of the
rules that match path and method the first in the order of the file decides.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from gateway.domain.forward_auth import Rule, Site, Target, without_port


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

    def find(self, path: str, method: str) -> Rule | None:
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


@dataclass(frozen=True, slots=True)
class _ProtectedHost:
    """What is known of a host; `names` are those of all hosts of its site, without ports."""

    site: Site
    rules: _RuleTrie
    names: frozenset[str]


class SiteTable:
    """An immutable table of sites."""

    def __init__(self, sites: Iterable[Site]) -> None:
        """Take sites whose hosts are all different."""
        self.sites = tuple(sites)
        self._by_host = {
            host: protected
            for site in self.sites
            for protected in (_ProtectedHost(site, _RuleTrie(site.rules), _names(site)),)
            for host in site.hosts
        }

    def site(self, host: str) -> Site | None:
        """Return the site of a canonical host."""
        found = self._by_host.get(host)
        return None if found is None else found.site

    def is_server_of(self, server: str, host: str) -> bool:
        """Tell whether the proxy's server leads to the services of the host's site.

        A caller may send the host of one site to the server of another, to be judged by other
        rules. `*.example.org` is the server of every host below example.org. attacks: B4
        """
        if server.startswith("*."):
            return without_port(host).endswith(server[1:])
        found = self._by_host.get(host)
        return found is not None and server in found.names

    def rule(self, target: Target) -> Rule | None:
        """Return the rule that decides about the target; None where no rule matches."""
        found = self._by_host.get(target.host)
        return None if found is None else found.rules.find(target.path, target.method)


def _names(site: Site) -> frozenset[str]:
    return frozenset(map(without_port, site.hosts))


def _segments(path: str) -> list[str]:
    """Return the segments; none for the empty path, one empty one for `/`."""
    return path.split("/")[1:]
