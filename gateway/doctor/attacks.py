"""Attacks and their tools.

Attacks the running proxy under a URL by all attacks.
"""

import itertools
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from gateway.doctor.edge import AttackedEdge, CertificateWithKey, Headers, Unreachable, impostor_of
from gateway.doctor.findings import Examination, ExaminationOutcome, Finding
from gateway.doctor.nginx_scopes import (
    DECISIONS,
    SECRET_HEADER,
    GatewayFacts,
    Location,
    Proxy,
    Server,
)
from gateway.domain.forward_auth import Allowed, ForbiddenRequest, OriginalRequest, Rule, Site
from gateway.domain.hosts import AmbiguousTarget, canonical_host
from gateway.domain.secrets import Secret
from gateway.forward_auth.decisions import find_rule
from gateway.forward_auth.identity_headers import IDENTITY_HEADERS, REMOVED
from gateway.forward_auth.site_table import SiteTable


class NotDone(Exception):
    """The attack cannot be tried; `str()` names the missing option."""


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack; `run` yields what succeeded, and raises NotDone or Unreachable."""

    name: str
    repelled: str
    """The sentence of the report where nothing succeeded."""
    run: Callable[["AttackTarget"], Iterator[Finding]]


@dataclass(frozen=True)
class AttackTarget:
    """A URL of the proxy, with everything that is known about it."""

    edge: AttackedEdge
    gateway: GatewayFacts
    now: datetime
    proxy: Proxy | None = None
    sites: SiteTable | None = None
    certificate: CertificateWithKey | None = None
    bad_certificates: tuple[CertificateWithKey, ...] = ()
    token: Secret | None = field(default=None, repr=False)

    def make_impostor(self) -> CertificateWithKey:
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
        named = [server for server in listening if self.edge.host in server.server_names]
        return named or listening


def _try_bad_certificates(target: AttackTarget) -> Iterator[Finding]:
    """No certificate, a foreign one, an expired one, a revoked one. attacks: A6, A8, A9."""
    if target.certificate is None:
        raise NotDone("--certificate FILE with a good certificate and its key is needed.")
    good = target.edge.ask(certificate=target.certificate)
    if not good.allowed:
        raise NotDone(f"{target.edge.url} answers {good} to the good certificate.")
    if target.edge.ask().allowed:
        raise NotDone(f"{target.edge.url} is answered without a certificate as well.")
    for bad in (target.make_impostor(), *target.bad_certificates):
        if target.edge.ask(certificate=bad).allowed:
            yield Finding(
                f"{target.edge.url} accepts a certificate {bad.kind}",
                "ssl_verify_client on; ssl_crl FILE; (include"
                " realmgate/client-certificate-required.conf), and reload nginx",
            )


_UNREADABLE: Final = "realmgate-doctor"
_NOT_FOUND: Final = 404
_DIRECT_ACCESS_REMEDY: Final = (
    "REALMGATE_LISTEN=unix:PATH; or REALMGATE_TRUSTED_PROXIES with the proxy's addresses alone,"
    " REALMGATE_PROXY_SECRET_FILE, and a firewall"
)


def _try_direct_access(target: AttackTarget) -> Iterator[Finding]:
    """The gateway's own port, without the proxy. attacks: A1."""
    ports = sorted(_ports(target))
    if not ports:
        raise NotDone("the gateway has no TCP port.")
    reached = False
    for port in ports:
        edge = AttackedEdge(f"http://{port}/realms/master")
        try:
            usual = edge.ask()
            trusted = [
                name
                for name in (target.gateway.certificate_header, "X-Forwarded-For")
                if edge.ask(headers=((name, _UNREADABLE),)).status != usual.status
            ]
            decision = edge.ask(f"{DECISIONS}nginx", headers=((SECRET_HEADER, _UNREADABLE),))
        except Unreachable:
            continue
        reached = True
        if decision.status != _NOT_FOUND:
            trusted.append(f"questions to {DECISIONS}")
        if trusted:
            yield Finding(
                f"The gateway on {port} takes this machine for its proxy: it trusts"
                f" {', '.join(trusted)}",
                _DIRECT_ACCESS_REMEDY,
            )
    if not reached:
        raise NotDone(f"nothing answers on {', '.join(ports)}.")


def _ports(target: AttackTarget) -> set[str]:
    """Return host and port of the gateway, as it listens and as nginx connects."""
    found = set() if target.gateway.listen.startswith("unix:") else {target.gateway.listen}
    if target.proxy is not None:
        for location in target.proxy.to_gateway:
            address = target.proxy.configuration.address(location)
            if address is not None and address.scheme == "http":
                found |= {host for host in address.hosts if ":" in host}
    tcp = {host for host in found if not host.startswith("unix:")}
    return {host.replace("0.0.0.0:", "127.0.0.1:").replace("[::]:", "[::1]:") for host in tcp}


_HEADERS: Final = (
    *("X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port"),
    *("X-Realmgate-Proxy-Secret", "X-Original-Request", "X-Request-Id"),
)
_FORGED_HEADERS_REMEDY: Final = (
    "include realmgate/proxy-headers.conf, or realmgate/guard-server.conf, and no proxy_set_header"
    " in the same block; underscores_in_headers off"
)


def _try_forged_headers(target: AttackTarget) -> Iterator[Finding]:
    """Headers that only the proxy may set, sent by the caller. attacks: A2, A4, A20, B4.

    Each has a value that the gateway refuses. Another answer than without the header proves
    that the header reached the gateway.
    """
    names = (target.gateway.certificate_header, *_HEADERS)
    for path, location in target.locations:
        usual = target.edge.ask(path)
        for name in names:
            arrived = [
                spelling
                for spelling, headers in _spellings_of_forged_headers(name)
                if target.edge.ask(path, headers=headers).status != usual.status
            ]
            if arrived:
                yield Finding(
                    f"{target.edge.url}: a caller's own {', '.join(arrived)} reaches the gateway at"
                    f" {path}",
                    _FORGED_HEADERS_REMEDY,
                    location.place if location else None,
                )


def _spellings_of_forged_headers(name: str) -> Iterator[tuple[str, Headers]]:
    words = name.split("-")
    for separators in itertools.product("-_", repeat=len(words) - 1):
        spelled = "".join(itertools.chain(*zip(words, (*separators, ""), strict=True)))
        yield spelled, ((spelled, _UNREADABLE),)
    yield name.upper(), ((name.upper(), _UNREADABLE),)
    yield f"{name} twice", ((name, _UNREADABLE), (name, _UNREADABLE))


_NEUTRAL: Final = "X-Doctor-Visible"
_LISTED: Final = (*IDENTITY_HEADERS, *REMOVED)
_PORTION: Final = 30
_PORTIONS: Final = tuple(
    names[start : start + _PORTION]
    for names in (
        _LISTED,
        tuple(name.upper() for name in IDENTITY_HEADERS),
        tuple(name.replace("-", "_") for name in _LISTED if "-" in name),
    )
    for start in range(0, len(names), _PORTION)
)
"""Names that are sent together."""
_FORGED_IDENTITY_REMEDY: Final = (
    "include realmgate/guard.conf in the location itself; underscores_in_headers off, also in the"
    " default server of the address"
)


def _try_forged_identity(target: AttackTarget) -> Iterator[Finding]:
    """Identity headers of the caller's own, together with a credential that passes. attacks: B6."""
    marker = f"doctor-{secrets.token_hex(8)}"
    visible = False
    for path, location in target.locations:
        certificate = target.certificate
        allowed = (*target.authorization, (_NEUTRAL, marker))
        usual = target.edge.ask(path, headers=allowed, certificate=certificate)
        if not usual.allowed or marker.encode() not in usual.content:
            continue
        visible = True
        for names in _PORTIONS:
            yield from _arriving(target, path, location, names, marker)
    if not visible:
        raise NotDone(
            "no service shows the headers it receives; a credential that passes (--token,"
            " --certificate) and a URL of a service that echoes them are needed."
        )


def _arriving(
    target: AttackTarget, path: str, location: Location | None, names: Sequence[str], marker: str
) -> Iterator[Finding]:
    """Send the names together, then one by one if the request is refused or a name arrives."""
    headers = (*target.authorization, *((name, f"{marker}-{name}") for name in names))
    answer = target.edge.ask(path, headers=headers, certificate=target.certificate)
    if answer.allowed and marker.encode() not in answer.content:
        return
    if len(names) > 1:
        for name in names:
            yield from _arriving(target, path, location, (name,), marker)
    elif answer.allowed:
        problem = f"{target.edge.url}: a caller's own {names[0]} reaches the service at {path}"
        yield Finding(problem, _FORGED_IDENTITY_REMEDY, location.place if location else None)


_METHODS: Final = ("GET", "HEAD", "OPTIONS")
"""Methods that change nothing if a request passes."""
_SAMPLE: Final = "realmgate-doctor"
_PATHS_REMEDY: Final = (
    "include realmgate/guard.conf in every location with content, merge_slashes on"
)


def _try_paths(target: AttackTarget) -> Iterator[Finding]:
    """Every path that the rules protect, and every ambiguous spelling of one, needs a decision.

    The rules of this installation say what a request without a credential may do; the answer of
    the proxy must not be more. attacks: B3
    """
    sites = target.sites
    try:
        host = canonical_host(target.edge.authority, target.edge.scheme)
    except AmbiguousTarget as failure:
        raise NotDone(f"{failure}.") from failure
    if sites is None or sites.site(host) is None:
        raise NotDone(f"no site has the host {host}.")
    for path, location in _paths(target, sites, host):
        for method, spelling in _spellings_of_paths(path):
            request = OriginalRequest(method, target.edge.scheme, target.edge.authority, spelling)
            found = find_rule(sites, request)
            if isinstance(found, Allowed):
                continue  # anonymous by a rule
            if target.edge.ask(spelling, method=method).allowed:
                yield Finding(
                    f"{target.edge.url}: {method} {spelling} is answered without a credential"
                    f" ({_rule(found)})",
                    _PATHS_REMEDY,
                    location.place if location else None,
                )


def _rule(found: ForbiddenRequest | tuple[Site, Rule]) -> str:
    if isinstance(found, ForbiddenRequest):
        return found.explanation
    return f"the rule {found[1].name} requires one"


def _paths(
    target: AttackTarget, sites: SiteTable, host: str
) -> Iterator[tuple[str, Location | None]]:
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


def _spellings_of_paths(path: str) -> Iterator[tuple[str, str]]:
    """Yield methods and spellings of a path, ambiguous spellings included."""
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


def _try_resumed_session(target: AttackTarget) -> Iterator[Finding]:
    """A TLS session of a certificate, resumed: it would outlive a revocation. attacks: A9, A13."""
    if target.certificate is None or target.edge.scheme == "http":
        raise NotDone("--certificate FILE and a URL of https are needed.")
    first, again = target.edge.ask_twice(target.certificate)
    if not first.status:
        raise NotDone(f"{target.edge.url} refuses the certificate.")
    if again.resumed:
        yield Finding(
            f"{target.edge.url} resumes TLS sessions with client certificates",
            "ssl_session_cache off; ssl_session_tickets off; (include realmgate/tls.conf)",
        )


_BINDING_REMEDY: Final = (
    "include realmgate/guard-server.conf and realmgate/guard.conf as they are: they report the"
    " certificate of the connection"
)


def _try_stolen_token(target: AttackTarget) -> Iterator[Finding]:
    """A certificate-bound token without its certificate, and with another one. attacks: A19."""
    if target.token is None or target.certificate is None:
        raise NotDone("--token FILE with a bound token and --certificate FILE are needed.")
    headers = target.authorization
    own = target.edge.ask(headers=headers, certificate=target.certificate)
    if not own.allowed:
        raise NotDone(f"{target.edge.url} answers {own} to the token with its certificate.")
    impostor = target.make_impostor()
    for thief, name in ((None, "without its certificate"), (impostor, "of another holder")):
        if target.edge.ask(headers=headers, certificate=thief).allowed:
            yield Finding(f"{target.edge.url} accepts the bound token {name}", _BINDING_REMEDY)
            return


_UNKNOWN: Final = ("realmgate-doctor.invalid", "127.0.0.1", "localhost:1")
_UNKNOWN_HOST_REMEDY: Final = "a server with default_server and return 421 on the same port"


def _try_unknown_host(target: AttackTarget) -> Iterator[Finding]:
    """A protected path under a name, or a port of a name, that no site has.

    Source: RFC 9112 §3.2
    """
    for path, location in target.locations:
        if target.edge.ask(path).allowed:
            continue  # open to all callers under its own name
        for host in (*_UNKNOWN, f"{target.edge.host}:1", f"{target.edge.host}."):
            if target.edge.ask(path, host=host).allowed:
                yield Finding(
                    f"{target.edge.url}: {path} is answered to a request for {host}",
                    _UNKNOWN_HOST_REMEDY,
                    location.place if location else None,
                )


ATTACKS: Final = (
    Attack("direct-access", "The gateway trusts only its proxy.", _try_direct_access),
    Attack(
        "forged-headers",
        "No header of the proxy can be set by a caller, in no spelling.",
        _try_forged_headers,
    ),
    Attack(
        "forged-identity", "No identity header of a caller reaches a service.", _try_forged_identity
    ),
    Attack("paths", "No path passes that the rules refuse, in no spelling.", _try_paths),
    Attack("unknown-host", "No protected path is answered under another name.", _try_unknown_host),
    Attack("bad-certificates", "Only the good certificate is accepted.", _try_bad_certificates),
    Attack("resumed-session", "TLS sessions are not resumed.", _try_resumed_session),
    Attack("stolen-token", "The bound token passes with its certificate alone.", _try_stolen_token),
)


def examine_edge(target: AttackTarget) -> Iterator[Examination]:
    """Yield the result of each attack."""
    url = target.edge.url
    try:
        target.edge.ask()
    except Unreachable as failure:
        finding = Finding(f"The proxy cannot be attacked: {failure}", "")
        yield Examination("edge", ExaminationOutcome.WRONG, findings=(finding,))
        return
    for attack in ATTACKS:
        try:
            findings = tuple(attack.run(target))
        except (NotDone, Unreachable) as reason:
            yield Examination(attack.name, ExaminationOutcome.NOT_DONE, str(reason))
            continue
        outcome = ExaminationOutcome.WRONG if findings else ExaminationOutcome.OK
        text = "" if findings else f"{url}: {attack.repelled}"
        yield Examination(attack.name, outcome, text, findings)
