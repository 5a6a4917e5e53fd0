"""Servers and locations of a configuration, and which directives are in force in them.

nginx inherits a directive from the block around only where the block has none of that name: one
`proxy_set_header` in a location replaces all of its server. Source:
https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_set_header
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from gateway.doctor.findings import FilePlace, Finding
from gateway.doctor.nginx_syntax import Directive
from gateway.domain.secrets import Secret
from gateway.forward_auth.site_table import SiteTable
from gateway.http.certificate_lookup import NginxLookup

HANDLERS: Final = (
    *("proxy_pass", "fastcgi_pass", "uwsgi_pass", "scgi_pass", "grpc_pass", "memcached_pass"),
)
"""Directives that pass a request on."""
_ADDRESS: Final = re.compile(
    r"(?P<scheme>[a-z]+)://(?:unix:(?P<socket>[^:]+):?|(?P<host>[^/?]+))(?P<uri>.*)", re.DOTALL
)
_DEFAULT_PORTS: Final = {"http": "80", "https": "443", "grpc": "80", "grpcs": "443"}


@dataclass(frozen=True, eq=False)
class Scope:
    """A block, and the blocks around it."""

    directive: Directive
    parent: "Scope | None" = field(repr=False)

    @property
    def place(self) -> FilePlace:
        """Return where the block begins."""
        return self.directive.place

    @cached_property
    def scopes(self) -> tuple["Scope", ...]:
        """Return the blocks in it."""
        inside = self.directive.block or ()
        return tuple(Scope(child, self) for child in inside if child.block is not None)

    def own(self, *names: str) -> tuple[Directive, ...]:
        """Return the directives of these names in the block itself."""
        return tuple(child for child in self.directive.block or () if child.name in names)

    def in_force(self, name: str) -> tuple[Directive, ...]:
        """Return the directives of this name that apply here, inherited or not."""
        return next(filter(None, (scope.own(name) for scope in self.outwards())), ())

    def value(self, name: str, default: str) -> str:
        """Return the first argument of a directive that applies here."""
        found = self.in_force(name)
        return found[-1].arguments[0] if found and found[-1].arguments else default

    def outwards(self) -> Iterator["Scope"]:
        """Yield the block, the one around it, and so on."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def inwards(self) -> Iterator["Scope"]:
        """Yield the blocks below, depth first."""
        for scope in self.scopes:
            yield scope
            yield from scope.inwards()

    def headers(self, directive: str = "proxy_set_header") -> dict[str, Directive]:
        """Return the headers in force by lower-case name.

        Of several lines nginx sends all values that are not empty; the last one is returned.
        """
        lines = [line for line in self.in_force(directive) if len(line.arguments) > 1]
        lines.sort(key=lambda line: bool(line.arguments[1]))
        return {line.arguments[0].lower(): line for line in lines}


@dataclass(frozen=True, eq=False)
class Server:
    """A `server` block of `http`."""

    scope: Scope

    @property
    def place(self) -> FilePlace:
        """Return where the block begins."""
        return self.scope.place

    @cached_property
    def locations(self) -> tuple["Location", ...]:
        """Return the locations, nested ones and `if` blocks that pass requests on included."""
        return tuple(
            Location(scope, self)
            for scope in self.scope.inwards()
            if scope.directive.name == "location"
            or (scope.directive.name == "if" and scope.own(*HANDLERS))
        )

    @property
    def sockets(self) -> tuple[tuple[str, bool, FilePlace], ...]:
        """Return address and port of each `listen`, whether it is the default, and its line."""
        lines = self.scope.own("listen")
        return tuple(
            (_socket(line.arguments[0]), "default_server" in line.arguments, line.place)
            for line in lines
            if line.arguments
        )

    @property
    def listed_names(self) -> tuple[str, ...]:
        """Return the names of `server_name` in lower case; the first one is `$server_name`."""
        lines = self.scope.own("server_name")
        return tuple(name.lower() for line in lines for name in line.arguments)

    @property
    def server_names(self) -> frozenset[str]:
        return frozenset(self.listed_names)

    @property
    def asks_for_certificates(self) -> bool:
        """Tell whether callers are asked for a client certificate."""
        return self.scope.value("ssl_verify_client", "off") != "off"


@dataclass(frozen=True)
class Address:
    """Where a request is passed on to; `path` is None where nginx passes the path on unchanged."""

    scheme: str
    hosts: frozenset[str]
    path: str | None
    unix: bool


@dataclass(frozen=True, eq=False)
class Location:
    """A `location`, or an `if` in one."""

    scope: Scope
    server: Server

    @property
    def place(self) -> FilePlace:
        """Return where the block begins."""
        return self.scope.place

    @property
    def is_condition(self) -> bool:
        return self.scope.directive.name == "if"

    @property
    def modifier(self) -> str:
        """Return `=`, `~`, `~*`, `^~`, or nothing."""
        arguments = self.scope.directive.arguments
        return arguments[0] if len(arguments) > 1 and not self.is_condition else ""

    @property
    def path(self) -> str:
        """Return the path or pattern; for an `if`, of its location."""
        if self.is_condition:
            around = (scope for scope in self.scope.outwards() if scope.directive.name != "if")
            return Location(next(around), self.server).path
        arguments = self.scope.directive.arguments
        return arguments[-1] if arguments else ""

    @property
    def is_pattern(self) -> bool:
        """Tell whether the path is a regular expression."""
        return self.modifier in {"~", "~*"}

    @property
    def is_named(self) -> bool:
        """Tell whether only other locations lead here."""
        return self.path.startswith("@")

    @property
    def is_internal(self) -> bool:
        """Tell whether callers cannot request it."""
        return self.is_named or any(scope.own("internal") for scope in self.scope.outwards())

    @property
    def handler(self) -> Directive | None:
        """Return the directive that passes requests on."""
        found = self.scope.own(*HANDLERS)
        return found[-1] if found else None

    @property
    def answers_itself(self) -> bool:
        """Tell whether nginx answers every request by a `return`."""
        return bool(self.scope.own("return"))

    @property
    def explains_refusals(self) -> bool:
        """Tell whether it is one of error-pages.conf, where the gateway explains a refusal."""
        return str(self).startswith("location @realmgate_")

    @property
    def serves_files(self) -> bool:
        """Tell whether requests are answered with files."""
        inner = any(Location(scope, self.server).handler for scope in self.scope.scopes)
        return self.handler is None and not self.answers_itself and not inner

    def __str__(self) -> str:
        words = " ".join(self.scope.directive.arguments)
        return f"{self.scope.directive.name} {words}".strip()


class NginxConfiguration:
    """The `http` blocks of a configuration."""

    def __init__(self, directives: Iterable[Directive]) -> None:
        main = Scope(Directive("main", (), FilePlace("", 0), tuple(directives)), None)
        self.http = tuple(scope for scope in main.scopes if scope.directive.name == "http")
        self.servers = tuple(
            Server(scope)
            for http in self.http
            for scope in http.scopes
            if scope.directive.name == "server"
        )
        self.upstreams = {
            scope.directive.arguments[0]: scope
            for http in self.http
            for scope in http.scopes
            if scope.directive.name == "upstream" and scope.directive.arguments
        }

    @property
    def locations(self) -> Iterator[Location]:
        """Yield the locations of all servers."""
        return (location for server in self.servers for location in server.locations)

    def address(self, location: Location) -> Address | None:
        """Return where a location passes requests on to, its upstream's servers looked up."""
        handler = location.handler
        if handler is None or not handler.arguments:
            return None
        text = handler.arguments[0]
        match = _ADDRESS.fullmatch(text if "://" in text else f"{handler.name}://{text}")
        if match is None:
            return Address("", frozenset({text}), None, unix=False)
        scheme, path = match["scheme"], match["uri"] or None
        if match["socket"] is not None:
            return Address(scheme, frozenset({f"unix:{match['socket']}"}), path, unix=True)
        upstream = self.upstreams.get(match["host"])
        if upstream is None:
            hosts = frozenset({match["host"], _with_port(match["host"], scheme)})
            return Address(scheme, hosts, path, unix=False)
        hosts = frozenset(
            _with_port(line.arguments[0], scheme)
            for line in upstream.own("server")
            if line.arguments
        )
        unix = all(host.startswith("unix:") for host in hosts)
        return Address(scheme, hosts | {match["host"]}, path, unix=unix)


def _socket(listen: str) -> str:
    """Return address and port of a `listen`, in one spelling."""
    if listen.startswith("unix:"):
        return listen
    if listen.isdigit():
        return f"*:{listen}"
    if re.search(r":\d+\Z", listen):
        return listen.replace("0.0.0.0:", "*:")
    return f"{listen}:80"


def _with_port(host: str, scheme: str) -> str:
    if host.startswith(("unix:", "$")) or re.search(r":\d+\Z", host):
        return host.replace("localhost:", "127.0.0.1:")
    return f"{host}:{_DEFAULT_PORTS.get(scheme, '80')}".replace("localhost:", "127.0.0.1:")


def where_lost(scope: Scope, name: str, directive: str = "proxy_set_header") -> str:
    """Return the end of a sentence that names both lines, empty where nothing was inherited."""
    levels = [each for each in scope.outwards() if each.own(directive)]
    if not levels:
        return ""
    nearest, *outer = levels
    lines = (line for level in outer for line in level.own(directive))
    inherited = next((line for line in lines if line.arguments[0].lower() == name), None)
    if inherited is None:
        return ""
    return (
        f": the {directive} on {nearest.own(directive)[0].place} drops the one on {inherited.place}"
    )


SECRET_HEADER: Final = "x-realmgate-proxy-secret"  # noqa: S105 - the name of a header
_UPSTREAM: Final = "realmgate"
"""The name of the gateways in the shipped files."""
DECISIONS: Final = "/.realmgate/guard/"
"""Where the gateway answers decision requests."""


@dataclass(frozen=True, slots=True)
class GatewayFacts:
    """Settings that the gateway expects of its proxy; `listen` is `HOST:PORT` or `unix:PATH`."""

    certificate_header: str
    proxy_secret: Secret | None = field(repr=False)
    listen: str
    is_local: bool
    """Whether only programs of the same machine can connect."""
    certificate_lookup: str = NginxLookup.name
    """How the gateway reads the header of the certificate."""
    trusts_certificates: bool = True
    """Whether the settings or a realm name any authority; True where that is not known."""
    trusted_files: tuple[Path | None, Path | None] = (None, None)
    """The authorities and the revocation lists of the settings."""
    public_urls: tuple[str, ...] = ()


class Proxy:
    """A configuration of nginx, in front of a gateway."""

    def __init__(
        self,
        configuration: NginxConfiguration,
        gateway: GatewayFacts,
        sites: SiteTable | None = None,
        *,
        main_file: Path | None = None,
    ) -> None:
        """Take the protected sites, None where they are not known.

        `main_file` is None for a configuration that may be of another machine.
        """
        self.configuration = configuration
        self.gateway = gateway
        self.sites = sites
        self.main_file = main_file

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

    @property
    def reaches_listener(self) -> bool:
        """Tell whether a location passes requests to the address that the gateway listens on."""
        listen = self.gateway.listen
        return any(listen in self._hosts(each) for each in self.configuration.locations)

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
        """Tell whether the location sends headers for the gateway."""
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
