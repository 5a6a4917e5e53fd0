"""Mistakes of nginx about client certificates and TLS."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from gateway.crypto.revocation.revocation_decision import RevocationLists
from gateway.crypto.x509.authorities import AuthorityBundle, parse_authorities
from gateway.doctor.findings import Finding
from gateway.doctor.installation import list_finding
from gateway.doctor.nginx_scopes import Location, Proxy, Scope, Server, where_lost
from gateway.domain.clock import SystemClock
from gateway.domain.ports.certificates import MalformedCertificate
from gateway.http.certificate_lookup import NginxLookup

_CERTIFICATE_HEADER_REMEDY: Final = (
    "include realmgate/proxy-headers.conf in the location, as its only proxy_set_header lines"
)


def find_certificate_header(proxy: Proxy) -> Iterator[Finding]:
    """The certificate header: nginx must set it wherever it passes requests to the gateway.

    A header that nginx does not set is passed on as the caller sent it. attacks: A2
    """
    name = proxy.gateway.certificate_header
    lookup = proxy.gateway.certificate_lookup
    for location in proxy.to_gateway:
        header = location.scope.headers().get(name)
        if lookup != NginxLookup.name:
            problem = (
                f"{location} leads to a gateway that reads certificates as {lookup} sends them"
            )
            yield Finding(problem, "set REALMGATE_CERTIFICATE_LOOKUP=nginx", location.place)
            continue
        other = _other_header(location.scope)
        if other is not None and (header is None or not header.arguments[1]):
            problem = (
                f"{location} sends the certificate in {other}, the gateway reads it from {name}"
            )
            remedy = f"send {NginxLookup.variable} in {name}, or set REALMGATE_CERTIFICATE_HEADER"
            yield Finding(problem, remedy, location.place)
        elif header is None:
            lost = where_lost(location.scope, name)
            problem = f"{location} passes a caller's own {name} to the gateway{lost}"
            yield Finding(problem, _CERTIFICATE_HEADER_REMEDY, location.place)
        elif "$http_" in header.arguments[1]:
            problem = f"{location} takes {name} from the caller's request: {header.arguments[1]}"
            yield Finding(problem, _CERTIFICATE_HEADER_REMEDY, header.place)


def _other_header(scope: Scope) -> str | None:
    names = (
        name for name, line in scope.headers().items() if line.arguments[1] == NginxLookup.variable
    )
    return next(names, None)


def find_certificate_variable(proxy: Proxy) -> Iterator[Finding]:
    """The certificate must be sent as `$ssl_client_escaped_cert`.

    `$ssl_client_cert` and `$ssl_client_raw_cert` have line ends, which the gateway refuses or
    which end the header early; names such as `$ssl_client_s_dn` are no certificate.
    """
    name = proxy.gateway.certificate_header
    for location in proxy.to_gateway:
        header = location.scope.headers().get(name)
        if header is None or "$http_" in header.arguments[1]:
            continue
        value = header.arguments[1]
        if value not in {NginxLookup.variable, ""}:
            problem = f"{location} sends {value} as the certificate, which the gateway cannot read"
            remedy = f"proxy_set_header {name} {NginxLookup.variable};"
            yield Finding(problem, remedy, header.place)


_PUBLIC: Final = re.compile(
    r"/etc/ssl/(certs/ca-certificates\.crt|cert\.pem|ca-bundle\.pem)"
    r"|/etc/pki/(tls/certs|ca-trust/extracted/pem)/.*\.(crt|pem)"
    r"|/usr/local/share/certs/ca-root-nss\.crt"
)


def find_client_authorities(proxy: Proxy) -> Iterator[Finding]:
    """The authorities of client certificates must be your own, never those of public web sites.

    Where the gateway trusts none, it refuses every certificate that nginx has verified.
    """
    leading = {id(location.server) for location in proxy.to_gateway}
    for server in proxy.configuration.servers:
        if not server.asks_for_certificates:
            continue
        is_verified = server.scope.value("ssl_verify_client", "off") != "optional_no_ca"
        if is_verified and not proxy.gateway.trusts_certificates and id(server) in leading:
            yield Finding(
                "nginx asks for client certificates, and the gateway trusts no authority: each"
                " certificate is refused",
                "REALMGATE_CLIENT_CA_FILE and REALMGATE_CLIENT_CRL_FILE, or realmgate nginx render"
                " --without-client-certificates where people alone sign in",
                server.scope.in_force("ssl_verify_client")[-1].place,
            )
        for directive in ("ssl_client_certificate", "ssl_trusted_certificate"):
            for line in server.scope.in_force(directive):
                if line.arguments and _PUBLIC.fullmatch(line.arguments[0]):
                    yield Finding(
                        f"{directive} names the authorities of public web sites: everybody can get"
                        " a certificate that passes",
                        f"{directive} FILE; with the authority of your devices and services alone",
                        line.place,
                    )


def find_early_data(proxy: Proxy) -> Iterator[Finding]:
    """An attacker can send recorded TLS early data again. Source: RFC 8470 §3."""
    for server in proxy.sensitive:
        if server.scope.value("ssl_early_data", "off") == "on":
            line = server.scope.in_force("ssl_early_data")[-1]
            yield Finding(
                "requests in TLS early data can be replayed, also those that change something",
                "ssl_early_data off; (include realmgate/tls.conf)",
                line.place,
            )


def find_gateway_certificate(proxy: Proxy) -> Iterator[Finding]:
    """TLS to the gateway must verify its certificate; nginx does not by default.

    Source: https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_ssl_verify
    """
    for location in proxy.to_gateway:
        address, handler = proxy.configuration.address(location), location.handler
        if address is None or handler is None or address.scheme != "https":
            continue
        if location.scope.value("proxy_ssl_verify", "off") == "off":
            found = location.scope.in_force("proxy_ssl_verify")
            yield Finding(
                f"{location} sends the proxy secret to every server that answers for the gateway",
                "proxy_ssl_verify on; proxy_ssl_trusted_certificate FILE; proxy_ssl_name NAME;",
                found[-1].place if found else handler.place,
            )


def find_revocation_list(proxy: Proxy) -> Iterator[Finding]:
    """Nginx accepts revoked certificates where it has no revocation list. attacks: A9."""
    for server in proxy.configuration.servers:
        if server.scope.value("ssl_verify_client", "off") not in {"on", "optional"}:
            continue
        if not server.scope.in_force("ssl_crl"):
            line = server.scope.in_force("ssl_verify_client")[-1]
            yield Finding(
                "client certificates are verified without a revocation list",
                "ssl_crl FILE; with the list of every authority"
                " (include realmgate/client-certificate-required.conf)",
                line.place,
            )
        else:
            yield from _without_lists(proxy, server)


def _without_lists(proxy: Proxy, server: Server) -> Iterator[Finding]:
    """Yield the authorities whose certificates nginx refuses, as `ssl_crl` has no list of them.

    The files of the settings are examined with the installation.
    """
    listed, trusted = (server.scope.in_force(name) for name in ("ssl_crl", _TRUSTED))
    if proxy.main_file is None or not trusted:
        return
    folder = proxy.main_file.parent
    files = tuple(folder / lines[-1].arguments[0] for lines in (trusted, listed))
    if files == tuple(each and each.absolute() for each in proxy.gateway.trusted_files):
        return
    try:
        bundle = AuthorityBundle(parse_authorities(files[0].read_bytes()))
        lists = RevocationLists(files[1], bundle)
    except (OSError, ValueError, MalformedCertificate):
        return  # nginx itself refuses such files
    for authority, reason in lists.gaps(SystemClock().now()):
        found = list_finding(authority.subject, reason, str(files[1]))
        yield replace(found, place=listed[-1].place)


_TRUSTED: Final = "ssl_client_certificate"
_OFF = {"off", "none"}


def find_session_resumption(proxy: Proxy) -> Iterator[Finding]:
    """A resumed TLS session keeps the verdict of its handshake, and so outlives a revocation.

    attacks: A9
    """
    for server in proxy.configuration.servers:
        if not server.asks_for_certificates:
            continue
        for directive, default in (("ssl_session_cache", "none"), ("ssl_session_tickets", "on")):
            if server.scope.value(directive, default) in _OFF:
                continue
            found = server.scope.in_force(directive)
            yield Finding(
                f"{directive} is {server.scope.value(directive, default)}"
                f"{'' if found else ' by default'}: a revoked certificate works as long as its"
                " TLS session",
                f"{directive} off; (include realmgate/tls.conf)",
                found[-1].place if found else server.place,
            )


_LENIENT = {"optional", "optional_no_ca"}
_VERDICT = "$ssl_client_verify"
_VERIFY_MODE_REMEDY = (
    "ssl_verify_client on; or protect the location (include realmgate/guard.conf) with a rule that"
    " names certificates"
)


def find_verify_mode(proxy: Proxy) -> Iterator[Finding]:
    """`optional` lets requests without a trusted certificate pass. attacks: A6."""
    for server in proxy.configuration.servers:
        mode = server.scope.value("ssl_verify_client", "off")
        if mode not in _LENIENT:
            continue
        line = server.scope.in_force("ssl_verify_client")[-1]
        if mode == "optional_no_ca" and server.scope.in_force("ssl_client_certificate"):
            problem = (
                "optional_no_ca lets certificates of every authority pass, although"
                " ssl_client_certificate names the trusted ones"
            )
            yield Finding(problem, "ssl_verify_client on; or optional;", line.place)
        if _checks_verdict(server.scope):
            continue
        for location in server.locations:
            if _trusts_certificates(proxy, location):
                problem = (
                    f"{location} passes names of the certificate on, and ssl_verify_client {mode}"
                    " lets requests without a verified one pass"
                )
                yield Finding(problem, _VERIFY_MODE_REMEDY, line.place)
                break


def _trusts_certificates(proxy: Proxy, location: Location) -> bool:
    if location in proxy.to_gateway or location in proxy.protected or location in proxy.decisions:
        return False
    scope = location.scope
    sent = [
        line.arguments[-1]
        for directive in ("proxy_set_header", "fastcgi_param", "uwsgi_param", "grpc_set_header")
        for line in scope.in_force(directive)
    ]
    names = any("$ssl_client_" in value for value in sent)
    return location.handler is not None and names and not _checks_verdict(scope)


def _checks_verdict(scope: Scope | Server) -> bool:
    """Tell whether an `if` compares the verdict here or further out."""
    scopes = scope.outwards() if isinstance(scope, Scope) else scope.scope.outwards()
    return any(
        _VERDICT in " ".join(inner.directive.arguments)
        for outer in scopes
        for inner in outer.scopes
        if inner.directive.name == "if"
    )


_HEADER = "ssl-client-verify"
_VARIABLE = "$ssl_client_verify"


def find_verify_result(proxy: Proxy) -> Iterator[Finding]:
    """The proxy's verdict about the certificate must be the proxy's own. attacks: A4, A6."""
    certificate = proxy.gateway.certificate_header
    for location in proxy.to_gateway:
        headers = location.scope.headers()
        if certificate not in headers:
            continue  # reported by certificate-header, with the same remedy
        header = headers.get(_HEADER)
        if header is None or header.arguments[1] != _VARIABLE:
            lost = where_lost(location.scope, _HEADER)
            yield Finding(
                f"{location} does not send {_VARIABLE} in {_HEADER}: a caller can claim SUCCESS for"
                f" any certificate{lost}",
                f"proxy_set_header {_HEADER} {_VARIABLE};",
                header.place if header is not None else location.place,
            )
