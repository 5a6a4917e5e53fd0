"""Examines a configuration of nginx by all checks."""

import ipaddress
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.cli.doctor.findings import Examination, Finding, Outcome
from gateway.cli.doctor.nginx.checks import CHECKS
from gateway.cli.doctor.nginx.files import read_configuration
from gateway.cli.doctor.nginx.proxy import GatewayFacts, Proxy
from gateway.cli.doctor.nginx.scopes import Configuration
from gateway.cli.doctor.nginx.syntax import SyntaxProblem
from gateway.cli.output import counted
from gateway.http.edge.certificate_lookup import NginxLookup
from gateway.settings import TcpAddress

if TYPE_CHECKING:
    from gateway.settings import Settings

_READ = "nginx-configuration"


def read_proxy(path: Path, settings: "Settings") -> Proxy | Examination:
    """Return the configuration of nginx, or why it cannot be read."""
    try:
        directives = read_configuration(path)
    except SyntaxProblem as problem:
        finding = Finding(str(problem), "nginx -t shows whether nginx accepts it", problem.place)
        return Examination(_READ, Outcome.WRONG, findings=(finding,))
    except OSError as failure:
        finding = Finding(f"{failure.filename or path}: {failure.strerror}", "")
        return Examination(_READ, Outcome.WRONG, findings=(finding,))
    proxy = Proxy(Configuration(directives), gateway_facts(settings))
    if not proxy.configuration.servers:
        finding = Finding(f"{path} has no server of http: name nginx's main file", "")
        return Examination(_READ, Outcome.WRONG, findings=(finding,))
    return proxy


def gateway_facts(settings: "Settings") -> GatewayFacts:
    """Return what the gateway expects of its proxy."""
    listen = settings.listen
    return GatewayFacts(
        certificate_header=settings.certificate_header,
        proxy_secret=settings.proxy_secret,
        listen=str(listen),
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


def without_configuration(settings: "Settings") -> Examination:
    """Examine what is known of nginx where its configuration was not given."""
    header = settings.certificate_header
    if header != NginxLookup.default_header:
        problem = (
            f"The gateway reads certificates from {header}, and it is not known whether nginx sends"
            " that: run doctor with --nginx CONF."
        )
        return Examination(_READ, Outcome.WRONG, findings=(Finding(problem, ""),))
    return Examination(_READ, Outcome.NOT_DONE, "run doctor with --nginx CONF.")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
