"""Every path that the rules protect, and every spelling that they call ambiguous, needs a decision.

The rules of this installation say what a request without a credential may do; the answer of the
proxy must not be more. attacks: B3
"""

from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.attacks.attack import Attack, NotDone, Target
from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.scopes import Location
from gateway.domain.forward_auth import (
    Allowed,
    AmbiguousTarget,
    Forbidden,
    OriginalRequest,
    Rule,
    Site,
    canonical_host,
)
from gateway.forward_auth.decisions import find_rule
from gateway.forward_auth.site_table import SiteTable

_METHODS: Final = ("GET", "HEAD", "OPTIONS")
"""Methods that change nothing, should one of them pass."""
_SAMPLE: Final = "realmgate-doctor"
_REMEDY: Final = "include realmgate/guard.conf in every location with content, merge_slashes on"


def _run(target: Target) -> Iterator[Finding]:
    sites = target.sites
    try:
        host = canonical_host(target.edge.authority, target.edge.scheme)
    except AmbiguousTarget as failure:
        raise NotDone(f"{failure}.") from failure
    if sites is None or sites.site(host) is None:
        raise NotDone(f"no site has the host {host}.")
    for path, location in _paths(target, sites, host):
        for method, spelling in _spellings(path):
            request = OriginalRequest(method, target.edge.scheme, target.edge.authority, spelling)
            found = find_rule(sites, request)
            if isinstance(found, Allowed):
                continue  # anonymous by a rule
            if target.edge.ask(spelling, method=method).allowed:
                yield Finding(
                    f"{target.edge.url}: {method} {spelling} is answered without a credential"
                    f" ({_rule(found)})",
                    _REMEDY,
                    target.place(location),
                )


def _rule(found: Forbidden | tuple[Site, Rule]) -> str:
    if isinstance(found, Forbidden):
        return found.explanation
    return f"the rule {found[1].name} requires one"


def _paths(target: Target, sites: SiteTable, host: str) -> Iterator[tuple[str, Location | None]]:
    """Yield the paths of nginx's locations and of the rules."""
    yield from target.locations
    site = sites.site(host)
    known = {path for path, _ in target.locations}
    for rule in () if site is None else site.rules:
        for pattern in rule.paths:
            path = f"{pattern.path}/{_SAMPLE}" if pattern.covers_below else pattern.path
            if path not in known:
                known.add(path)
                yield path, None


def _spellings(path: str) -> Iterator[tuple[str, str]]:
    """Yield methods and spellings of a path, those that a proxy could read differently included."""
    yield from ((method, path) for method in _METHODS)
    head, _, last = path.rpartition("/")
    encoded = f"{head}/%{ord(last[0]):02x}{last[1:]}" if last else f"{head}/%2e"
    for spelling in (
        f"/{path}",
        f"/.{path}",
        f"/{_SAMPLE}/..{path}",
        f"/{_SAMPLE}/%2e%2e{path}",
        f"/{_SAMPLE}/..;{path}",
        f"/%2e{path}",
        f"{path}%2f",
        f"{path}%00",
        f"{path};{_SAMPLE}",
        f"{path}%3b{_SAMPLE}.css",
        f"{path}%252f",
        f"{path}\\",
        f"{path}..%5c",
        f"{path}#",
        f"{path}/{_SAMPLE}.css",
        f"{path}.png",
        encoded,
    ):
        yield "GET", spelling


ATTACK = Attack("paths", "No path passes that the rules refuse, in no spelling.", _run)
