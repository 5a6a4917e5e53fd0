"""Examines a configuration of nginx by all checks."""

import ipaddress
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.cli.doctor.findings import Examination, Finding, Outcome
from gateway.cli.doctor.nginx.checks import CHECKS
from gateway.cli.doctor.nginx.files import read_configuration, read_dump
from gateway.cli.doctor.nginx.proxy import GatewayFacts, Proxy
from gateway.cli.doctor.nginx.scopes import Configuration
from gateway.cli.doctor.nginx.syntax import Directive, SyntaxProblem
from gateway.cli.doctor.programs import NginxUnreadable, installed_configuration
from gateway.cli.output import counted
from gateway.http.edge.certificate_lookup import NginxLookup
from gateway.settings import TcpAddress

if TYPE_CHECKING:
    from gateway.settings import Settings

_READ = "nginx-configuration"


@dataclass(frozen=True, slots=True)
class NginxSource:
    """Where a configuration of nginx comes from; `read` raises SyntaxProblem and OSError."""

    name: str
    read: Callable[[], tuple[Directive, ...]]


def source_at(path: Path) -> NginxSource:
    """Return the source of a main file, a folder, or a saved output of `nginx -T`."""
    return NginxSource(str(path), partial(read_configuration, path))


def source_of_dump(text: str, name: str) -> NginxSource:
    """Return the source of an output of `nginx -T`."""
    return NginxSource(name, partial(read_dump, text))


def read_proxy(source: NginxSource, settings: "Settings") -> Proxy | Examination:
    """Return the configuration of nginx, or why it cannot be read."""
    try:
        directives = source.read()
    except SyntaxProblem as problem:
        finding = Finding(str(problem), "nginx -t shows whether nginx accepts it", problem.place)
        return Examination(_READ, Outcome.WRONG, findings=(finding,))
    except OSError as failure:
        finding = Finding(f"{failure.filename or source.name}: {failure.strerror}", "")
        return Examination(_READ, Outcome.WRONG, findings=(finding,))
    proxy = Proxy(Configuration(directives), gateway_facts(settings))
    if not proxy.configuration.servers:
        finding = Finding(f"{source.name} has no server of http: name nginx's main file", "")
        return Examination(_READ, Outcome.WRONG, findings=(finding,))
    return proxy


def read_installed_proxy(settings: "Settings") -> Proxy | Examination:
    """Return the configuration that the installed nginx reports, or why it is not examined.

    An nginx that is not in front of the gateway is not examined.
    """
    try:
        text = installed_configuration()
    except NginxUnreadable as failure:
        return _not_examined(settings, str(failure))
    proxy = read_proxy(source_of_dump(text, "nginx -T"), settings)
    if isinstance(proxy, Proxy) and not proxy.sensitive:
        return _not_examined(settings, "no server of the installed nginx leads to the gateway")
    return proxy


def gateway_facts(settings: "Settings") -> GatewayFacts:
    """Return what the gateway expects of its proxy."""
    listen = settings.listen
    return GatewayFacts(
        certificate_header=settings.certificate_header,
        proxy_secret=settings.proxy_secret,
        listen=str(listen),
        certificate_lookup=settings.certificate_lookup,
        is_local=not isinstance(listen, TcpAddress) or _is_loopback(listen.host),
    )


def examine_nginx(proxy: Proxy) -> Iterator[Examination]:
    """Yield what each check found, and first how much was examined."""
    servers = counted(len(proxy.configuration.servers), "server")
    locations = counted(len(tuple(proxy.configuration.locations)), "location")
    text = f"nginx: {servers} with {locations} examined by {len(CHECKS)} checks."
    yield Examination(_READ, Outcome.OK, text)
    for check in CHECKS:
        findings = tuple(check.find(proxy))
        outcome = Outcome.WRONG if findings else Outcome.OK
        yield Examination(check.name, outcome, "", findings, check.sources)


def _not_examined(settings: "Settings", reason: str) -> Examination:
    """Return what is known of nginx where its configuration is not."""
    header, remedy = settings.certificate_header, "run doctor with --nginx CONF"
    if settings.certificate_lookup == NginxLookup.name and header != NginxLookup.default_header:
        problem = (
            f"The gateway reads certificates from {header}, and it is not known whether nginx sends"
            f" that: {reason}."
        )
        return Examination(_READ, Outcome.WRONG, findings=(Finding(problem, remedy),))
    return Examination(_READ, Outcome.NOT_DONE, f"{reason}: {remedy}.")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
