"""Examines a configuration of nginx by all checks."""

import ipaddress
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gateway.cli.output import counted
from gateway.doctor import nginx_certificates, nginx_decisions, nginx_headers, nginx_servers
from gateway.doctor.findings import Examination, ExaminationOutcome, Finding
from gateway.doctor.installation import NginxUnreadable, installed_configuration
from gateway.doctor.nginx_scopes import GatewayFacts, NginxCheck, NginxConfiguration, Proxy
from gateway.doctor.nginx_syntax import Directive, SyntaxProblem, read_configuration, read_dump
from gateway.http.certificate_lookup import NginxLookup
from gateway.settings import TcpAddress

if TYPE_CHECKING:
    from gateway.settings import Settings


CHECKS: Final[tuple[NginxCheck, ...]] = (
    nginx_certificates.CERTIFICATE_HEADER,
    nginx_certificates.CERTIFICATE_VARIABLE,
    nginx_certificates.VERIFY_RESULT,
    nginx_certificates.VERIFY_MODE,
    nginx_certificates.SESSION_RESUMPTION,
    nginx_servers.SHARED_SOCKET,
    nginx_certificates.REVOCATION_LIST,
    nginx_certificates.CLIENT_AUTHORITIES,
    nginx_certificates.EARLY_DATA,
    nginx_headers.HEADER_SPELLING,
    nginx_headers.PROXY_SECRET,
    nginx_servers.GATEWAY_ADDRESS,
    nginx_certificates.GATEWAY_CERTIFICATE,
    nginx_headers.FORWARDED_HEADERS,
    nginx_headers.REAL_ADDRESS,
    nginx_decisions.INTERCEPTED_ERRORS,
    nginx_decisions.UNPROTECTED_LOCATION,
    nginx_servers.REGULAR_EXPRESSION,
    nginx_decisions.AUTH_REQUEST_OFF,
    nginx_decisions.SATISFY_ANY,
    nginx_servers.MERGE_SLASHES,
    nginx_decisions.CHANGED_PATH,
    nginx_servers.SERVER_NAME,
    nginx_headers.IDENTITY_HEADERS_CHECK,
    nginx_headers.AUTHORIZATION_HEADER,
    nginx_decisions.DECISION_INTERNAL,
    nginx_decisions.DECISION_REQUEST,
    nginx_decisions.DECISION_BODY,
    nginx_decisions.DECISION_ANSWER,
    nginx_decisions.DECISION_BUFFER,
    nginx_decisions.DECISION_CACHE,
    nginx_decisions.ERROR_PAGE,
    nginx_servers.CONDITION,
    nginx_servers.ALIAS_TRAVERSAL,
    nginx_servers.SECURITY_HEADERS,
    nginx_servers.LOGGED_SECRETS,
)


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
        return Examination(_READ, ExaminationOutcome.WRONG, findings=(finding,))
    except OSError as failure:
        finding = Finding(f"{failure.filename or source.name}: {failure.strerror}", "")
        return Examination(_READ, ExaminationOutcome.WRONG, findings=(finding,))
    proxy = Proxy(NginxConfiguration(directives), gateway_facts(settings))
    if not proxy.configuration.servers:
        finding = Finding(f"{source.name} has no server of http: name nginx's main file", "")
        return Examination(_READ, ExaminationOutcome.WRONG, findings=(finding,))
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
    """Return the settings that the gateway expects of its proxy."""
    listen = settings.listen
    return GatewayFacts(
        certificate_header=settings.certificate_header,
        proxy_secret=settings.proxy_secret,
        listen=str(listen),
        certificate_lookup=settings.certificate_lookup,
        is_local=not isinstance(listen, TcpAddress) or _is_loopback(listen.host),
    )


def examine_nginx(proxy: Proxy) -> Iterator[Examination]:
    """Yield the extent of the examination, then the findings of each check."""
    servers = counted(len(proxy.configuration.servers), "server")
    locations = counted(len(tuple(proxy.configuration.locations)), "location")
    text = f"nginx: {servers} with {locations} examined by {len(CHECKS)} checks."
    yield Examination(_READ, ExaminationOutcome.OK, text)
    for check in CHECKS:
        findings = tuple(check.find(proxy))
        outcome = ExaminationOutcome.WRONG if findings else ExaminationOutcome.OK
        yield Examination(check.name, outcome, "", findings, check.sources)


def _not_examined(settings: "Settings", reason: str) -> Examination:
    """Return the facts about nginx that are known without its configuration."""
    header, remedy = settings.certificate_header, "run doctor with --nginx CONF"
    if settings.certificate_lookup == NginxLookup.name and header != NginxLookup.default_header:
        problem = (
            f"The gateway reads certificates from {header}, and it is not known whether nginx sends"
            f" that: {reason}."
        )
        return Examination(_READ, ExaminationOutcome.WRONG, findings=(Finding(problem, remedy),))
    return Examination(_READ, ExaminationOutcome.NOT_DONE, f"{reason}: {remedy}.")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
