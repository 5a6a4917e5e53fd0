"""The roles of nginx's locations: which lead to the gateway, which ask it, which are protected."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.scopes import Configuration, Location, Server
from gateway.cli.doctor.nginx.syntax import Directive
from gateway.domain.secrets import Secret
from gateway.forward_auth.site_table import SiteTable
from gateway.http.edge.certificate_lookup import NginxLookup

SECRET_HEADER: Final = "x-realmgate-proxy-secret"  # noqa: S105 - the name of a header
_UPSTREAM: Final = "realmgate"
"""The name of the gateways in the shipped files."""
DECISIONS: Final = "/.realmgate/guard/"
"""Where the gateway answers decision requests."""


@dataclass(frozen=True, slots=True)
class GatewayFacts:
    """What the gateway expects of its proxy; `listen` is `HOST:PORT` or `unix:PATH`."""

    certificate_header: str
    proxy_secret: Secret | None = field(repr=False)
    listen: str
    is_local: bool
    """Whether only programs of the same machine can connect."""
    certificate_lookup: str = NginxLookup.name
    """How the gateway reads the header of the certificate."""


class Proxy:
    """A configuration of nginx, in front of a gateway."""

    def __init__(
        self,
        configuration: Configuration,
        gateway: GatewayFacts,
        sites: SiteTable | None = None,
    ) -> None:
        """Take the protected sites, None where they are not known."""
        self.configuration = configuration
        self.gateway = gateway
        self.sites = sites

    @cached_property
    def to_gateway(self) -> tuple[Location, ...]:
        """Return the locations that pass requests to the gateway, decision requests included."""
        return tuple(
            location
            for location in self.configuration.locations
            if self._hosts(location) & self._gateway_hosts
        )

    @cached_property
    def decisions(self) -> tuple[Location, ...]:
        """Return the locations that `auth_request` names."""
        return tuple(
            location
            for server in self.configuration.servers
            for location in server.locations
            if any(_answers(server, location, uri) for uri in _asked(server))
        )

    @cached_property
    def protected(self) -> tuple[Location, ...]:
        """Return the locations with content where every request needs a decision."""
        return tuple(
            location
            for location in self.configuration.locations
            if _asks(location)
            and location not in self.decisions
            and (location.handler or location.serves_files)
        )

    @cached_property
    def protecting(self) -> tuple[Server, ...]:
        """Return the servers with a protected location."""
        return tuple(
            server
            for server in self.configuration.servers
            if any(location.server is server for location in self.protected)
        )

    @cached_property
    def unused_decisions(self) -> tuple[Location, ...]:
        """Return the locations with content in servers that can ask the gateway, and never do.

        Such a server includes guard-server.conf, and no location of it has guard.conf.
        """
        able = {
            id(location.server)
            for location in self.to_gateway
            if location.is_internal and self._leads_to_decisions(location)
        } - {id(server) for server in self.protecting}
        return tuple(
            location
            for location in self.configuration.locations
            if id(location.server) in able
            and location not in self.to_gateway
            and not location.is_internal
            and (location.handler or location.serves_files)
        )

    @cached_property
    def sensitive(self) -> tuple[Server, ...]:
        """Return the servers that lead to the gateway or have a protected location."""
        return tuple(
            server
            for server in self.configuration.servers
            if any(
                location.server is server
                for location in (*self.to_gateway, *self.protected, *self.decisions)
            )
        )

    @property
    def unprotected(self) -> Iterator[Location]:
        """Yield the locations with content, in servers with protected ones, that need no decision.

        Locations of the gateway decide for themselves, and internal ones cannot be requested.
        """
        known = {*self.protected, *self.decisions, *self.to_gateway}
        return (
            location
            for server in self.protecting
            for location in server.locations
            if location not in known
            and not location.is_internal
            and (location.handler or location.serves_files)
        )

    def same_service(self, location: Location) -> bool:
        """Tell whether a protected location passes requests to the same service."""
        hosts = self._hosts(location)
        return any(hosts & self._hosts(other) for other in self.protected)

    def services_of(self, server: Server) -> frozenset[str]:
        """Return where the protected locations of a server pass requests."""
        own = (each for each in self.protected if each.server is server)
        return frozenset(host for location in own for host in self._hosts(location))

    def _hosts(self, location: Location) -> frozenset[str]:
        address = self.configuration.address(location)
        return frozenset() if address is None else address.hosts

    @cached_property
    def _gateway_hosts(self) -> frozenset[str]:
        hosts = {_UPSTREAM, self.gateway.listen}
        for location in self.configuration.locations:
            address = self.configuration.address(location)
            if address is None:
                continue
            if self._leads_to_decisions(location) or (
                self._trusts_proxy(location) and not _asks(location)
            ):
                hosts |= address.hosts
        return frozenset(hosts)

    def _leads_to_decisions(self, location: Location) -> bool:
        address = self.configuration.address(location)
        return address is not None and (address.path or "").startswith(DECISIONS)

    def _trusts_proxy(self, location: Location) -> bool:
        """Tell whether the location sends what is for gateways."""
        headers = location.scope.headers()
        sent = (headers.get(name) for name in (SECRET_HEADER, self.gateway.certificate_header))
        return any(header is not None and header.arguments[1] for header in sent)


@dataclass(frozen=True, slots=True)
class NginxCheck:
    """A mistake that configurations of nginx have; `sources` are public threads about it."""

    name: str
    sources: tuple[str, ...]
    find: Callable[[Proxy], Iterator[Finding]]


def decision_uri(location: Location) -> Directive | None:
    """Return the `auth_request` in force, None without one."""
    found = location.scope.in_force("auth_request")
    return found[-1] if found and found[-1].arguments[:1] != ("off",) else None


def _asks(location: Location) -> bool:
    return decision_uri(location) is not None


def _asked(server: Server) -> set[str]:
    scopes = (server.scope, *server.scope.outwards(), *(each.scope for each in server.locations))
    lines = (line for scope in scopes for line in scope.own("auth_request"))
    return {line.arguments[0] for line in lines if line.arguments} - {"off"}


def _answers(server: Server, location: Location, uri: str) -> bool:
    """Tell whether nginx chooses this location for a URI."""
    exact = [each for each in server.locations if each.modifier == "=" and each.path == uri]
    prefixes = [
        each
        for each in server.locations
        if each.modifier in {"", "^~"} and not each.is_condition and uri.startswith(each.path)
    ]
    chosen = exact or sorted(prefixes, key=lambda each: len(each.path))[-1:]
    return location in chosen
