"""What an attack is, and what it works with."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from gateway.cli.doctor.attacks.certificates import ClientCertificate, impostor_of
from gateway.cli.doctor.attacks.edge import Edge, Headers
from gateway.cli.doctor.findings import Finding, Place
from gateway.cli.doctor.nginx.proxy import GatewayFacts, Proxy
from gateway.cli.doctor.nginx.scopes import Location, Server
from gateway.domain.secrets import Secret
from gateway.forward_auth.site_table import SiteTable


class NotDone(Exception):
    """The attack cannot be tried; `str()` says what it needs."""


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack; `run` yields what succeeded, and raises NotDone or Unreachable."""

    name: str
    repelled: str
    """The sentence of the report where nothing succeeded."""
    run: Callable[["Target"], Iterator[Finding]]


@dataclass(frozen=True)
class Target:
    """A URL of the proxy, with everything that is known about it."""

    edge: Edge
    gateway: GatewayFacts
    now: datetime
    proxy: Proxy | None = None
    sites: SiteTable | None = None
    certificate: ClientCertificate | None = None
    bad_certificates: tuple[ClientCertificate, ...] = ()
    token: Secret | None = field(default=None, repr=False)

    def make_impostor(self) -> ClientCertificate:
        """Make a certificate of another authority, with the names of the good one."""
        return impostor_of(self.certificate, self.now)

    @property
    def authorization(self) -> Headers:
        """Return the header with the token, none without one."""
        if self.token is None:
            return ()
        return (("Authorization", f"Bearer {self.token.reveal()}"),)

    @property
    def locations(self) -> tuple[tuple[str, Location | None], ...]:
        """Return paths to attack: that of the URL, and one of each location of its listeners."""
        paths: dict[str, Location | None] = {self.edge.path: None}
        for server in self._servers():
            for location in server.locations:
                if not (location.is_pattern or location.is_internal or location.is_condition):
                    paths.setdefault(location.path, location)
        return tuple(paths.items())

    def _servers(self) -> list[Server]:
        """Return the servers that name the host, or else all that listen on the port."""
        if self.proxy is None:
            return []
        listening = [
            server
            for server in self.proxy.configuration.servers
            if str(self.edge.port) in {each.rpartition(":")[2] for each, _, _ in server.sockets}
        ]
        named = [server for server in listening if self.edge.host in server.names]
        return named or listening

    def place(self, location: Location | None) -> Place | None:
        """Return the line at fault."""
        return None if location is None else location.place
