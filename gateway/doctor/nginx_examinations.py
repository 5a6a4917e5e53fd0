"""Examines a configuration of nginx by all checks."""

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gateway.cli.output import counted
from gateway.doctor import nginx_certificates, nginx_decisions, nginx_headers, nginx_servers
from gateway.doctor.findings import Examination, ExaminationOutcome, Finding
from gateway.doctor.installation import NginxUnreadable, installed_configuration
from gateway.doctor.nginx_scopes import GatewayFacts, NginxCheck, NginxConfiguration, Proxy
from gateway.doctor.nginx_syntax import (
    Directive,
    SyntaxProblem,
    is_dump,
    main_file_of,
    main_file_of_dump,
    read_configuration,
    read_dump,
)
from gateway.doctor.processes import RunningNginx, examine_nginx_process, running_nginx
from gateway.domain.tables import read_table
from gateway.http.certificate_lookup import NginxLookup
from gateway.settings import TcpAddress

if TYPE_CHECKING:
    from gateway.settings import Settings


_SOURCES: Final = read_table("gateway.doctor", "nginx_checks.toml")
CHECKS: Final = tuple(
    NginxCheck(name, tuple(_SOURCES[name]), find)
    for find in (
        nginx_certificates.find_certificate_header,
        nginx_certificates.find_certificate_variable,
        nginx_certificates.find_verify_result,
        nginx_certificates.find_verify_mode,
        nginx_certificates.find_session_resumption,
        nginx_servers.find_shared_socket,
        nginx_certificates.find_revocation_list,
        nginx_certificates.find_client_authorities,
        nginx_certificates.find_early_data,
        nginx_headers.find_header_spelling,
        nginx_headers.find_proxy_secret,
        nginx_servers.find_gateway_address,
        nginx_certificates.find_gateway_certificate,
        nginx_headers.find_forwarded_headers,
        nginx_headers.find_real_address,
        nginx_decisions.find_intercepted_errors,
        nginx_decisions.find_unprotected_location,
        nginx_servers.find_regular_expression,
        nginx_decisions.find_auth_request_off,
        nginx_decisions.find_satisfy_any,
        nginx_servers.find_merge_slashes,
        nginx_decisions.find_changed_path,
        nginx_servers.find_server_name,
        nginx_headers.find_identity_headers,
        nginx_headers.find_authorization_header,
        nginx_decisions.find_decision_internal,
        nginx_decisions.find_decision_request,
        nginx_decisions.find_decision_body,
        nginx_decisions.find_decision_answer,
        nginx_decisions.find_decision_buffer,
        nginx_decisions.find_decision_cache,
        nginx_decisions.find_error_page,
        nginx_servers.find_condition,
        nginx_servers.find_alias_traversal,
        nginx_servers.find_security_headers,
        nginx_servers.find_logged_secrets,
    )
    for name in (find.__name__.removeprefix("find_").replace("_", "-"),)
)
"""Every check, named as its function."""


_READ = "nginx-configuration"


@dataclass(frozen=True, slots=True)
class NginxSource:
    """Where a configuration of nginx comes from; `read` raises SyntaxProblem and OSError.

    `main_file` is None where it may be of another machine.
    """

    name: str
    read: Callable[[], tuple[Directive, ...]]
    main_file: Path | None = None


def source_at(path: Path) -> NginxSource:
    """Return the source of a main file, a folder, or a saved output of `nginx -T`."""
    try:
        main = main_file_of(path)
        here = None if is_dump(main) else main
    except (OSError, SyntaxProblem):
        here = None  # reading it reports the same
    return NginxSource(str(path), partial(read_configuration, path), here)


def source_of_dump(text: str, name: str, *, is_local: bool = False) -> NginxSource:
    """Return the source of an output of `nginx -T`."""
    main = main_file_of_dump(text) if is_local else None
    return NginxSource(name, partial(read_dump, text), None if main is None else Path(main))


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
    configuration = NginxConfiguration(directives)
    proxy = Proxy(configuration, gateway_facts(settings), main_file=source.main_file)
    if not proxy.configuration.servers:
        finding = Finding(f"{source.name} has no server of http: name nginx's main file", "")
        return Examination(_READ, ExaminationOutcome.WRONG, findings=(finding,))
    return proxy


def read_installed_proxy(settings: "Settings") -> Proxy | Examination:
    """Return the configuration that the installed nginx reports, or that of one that runs.

    An nginx that is not in front of the gateway is not examined.
    """
    try:
        text = installed_configuration()
    except NginxUnreadable as failure:
        reason = str(failure)
    else:
        proxy = read_proxy(source_of_dump(text, "nginx -T", is_local=True), settings)
        if not isinstance(proxy, Proxy) or proxy.sensitive:
            return proxy
        reason = "no server of the installed nginx leads to the gateway"
    for nginx in nginx_in_front(settings):
        running = read_proxy(source_at(nginx.main_file), settings)
        if isinstance(running, Proxy):
            return running
    return _not_examined(settings, reason)


def nginx_in_front(settings: "Settings") -> Iterator[RunningNginx]:
    """Yield every nginx that runs here with a configuration that leads to this gateway."""
    for nginx in running_nginx():
        proxy = read_proxy(source_at(nginx.main_file), settings)
        if isinstance(proxy, Proxy) and proxy.reaches_listener:
            yield nginx


def gateway_facts(settings: "Settings") -> GatewayFacts:
    """Return the settings that the gateway expects of its proxy."""
    from gateway.bootstrap.services import public_urls

    listen = settings.listen
    return GatewayFacts(
        certificate_header=settings.certificate_header,
        proxy_secret=settings.proxy_secret,
        listen=str(listen),
        certificate_lookup=settings.certificate_lookup,
        is_local=not isinstance(listen, TcpAddress) or _is_loopback(listen.host),
        trusted_files=(settings.client_ca_file, settings.client_crl_file),
        public_urls=public_urls(settings),
    )


def examine_nginx(proxy: Proxy, others: Iterable[RunningNginx] = ()) -> Iterator[Examination]:
    """Yield the extent of the examination, then the findings of each check.

    `others` run with another configuration that leads to the gateway.
    """
    servers = counted(len(proxy.configuration.servers), "server")
    locations = counted(len(tuple(proxy.configuration.locations)), "location")
    text = f"nginx: {servers} with {locations} examined by {len(CHECKS)} checks."
    yield Examination(_READ, ExaminationOutcome.OK, text)
    if proxy.main_file is not None:
        yield from examine_nginx_process(proxy.main_file, proxy.configuration, others)
    names = {str(location) for location in proxy.configuration.locations}
    for check in CHECKS:
        findings = tuple(_each_once(check.find(proxy), names))
        outcome = ExaminationOutcome.WRONG if findings else ExaminationOutcome.OK
        yield Examination(check.name, outcome, "", findings, check.sources)


def _each_once(findings: Iterable[Finding], locations: Iterable[str]) -> Iterator[Finding]:
    """Yield each mistake once: a line of an included file is in force in many locations.

    It is the same mistake where problems of the same line differ in the name of the location alone.
    """
    longest_first = sorted(locations, key=len, reverse=True)
    names = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
    together: dict[Finding, list[Finding]] = {}
    for finding in findings:
        problem = finding.problem if finding.place is None else names.sub("", finding.problem)
        together.setdefault(replace(finding, problem=problem), []).append(finding)
    for first, *others in together.values():
        same = {other.problem for other in others} - {first.problem}
        more = f" (and in {counted(len(same), 'more place')} of nginx)" if same else ""
        yield replace(first, problem=f"{first.problem}{more}")


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
