"""`optional` and `optional_no_ca` let requests without a trusted certificate pass. attacks: A6."""

from collections.abc import Iterator

from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import NginxCheck, Proxy
from gateway.cli.doctor.nginx.scopes import Location, Scope, Server

_LENIENT = {"optional", "optional_no_ca"}
_VERDICT = "$ssl_client_verify"
_REMEDY = (
    "ssl_verify_client on; or protect the location (include realmgate/guard.conf) with a rule that"
    " names certificates"
)


def _find(proxy: Proxy) -> Iterator[Finding]:
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
                yield Finding(problem, _REMEDY, line.place)
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


CHECK = NginxCheck(
    "verify-mode",
    (
        "https://github.com/enablebanking/open_banking_eidas_broker/issues/67",
        "https://github.com/kubernetes/ingress-nginx/pull/3391",
    ),
    _find,
)
