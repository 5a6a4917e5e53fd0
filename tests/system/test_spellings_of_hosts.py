"""Whatever host a caller names, the rules of the proxy's server decide, or the request is refused.

Another realm has registered hosts that proxies route to the same server, in a database of a former
version even the server's own name under other ports. attacks: A21, B4
"""

import json
import re
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from itertools import product
from typing import Any

import pytest
import yaml

from gateway.cli.nginx import SHIPPED
from gateway.representations.sites import parse_site
from tests.support.administered_realm import AdministeredRealm
from tests.support.edge_certificates import EdgeCertificates
from tests.support.guarding_proxies import start_proxy
from tests.support.host_spellings import (
    HostNames,
    frames_of,
    heads_of,
    status_of_frames,
    status_of_head,
)
from tests.support.protected_sites import HOST, Protected, start_protected
from tests.support.proxy_process import OTHER_PROXIES, PROXIES
from tests.support.stored_documents import site_document
from tests.support.wire import SECRET

SITES = "guard/sites"
TAKEN = (f"{HOST}:1", f"{HOST}:8443", f"{HOST}:80")
FREE = (
    *(
        "free.example.test",
        "free.wild.test",
        "free.dot.test",
        "free.regex.test",
        "a.app.example.test",
    ),
    *("127.0.0.1", "[::1]", "[::1]:1", "localhost", f"xn--{HOST}"),
)
NAMES = HostNames(HOST, (f"{HOST}:1", "free.example.test", "free.wild.test"))
REFUSED, MISDIRECTED = range(400, 500), 421
ANOTHER_HOST = {"apache": 403}
"""By the gateway: Apache has one virtual host. Each other proxy answers itself."""


@contextmanager
def _attacked(protected: Protected) -> Iterator[str]:
    """Let the realm `elsewhere` have hosts where every caller passes; yield a token of it."""
    realm = AdministeredRealm(protected.administration, "elsewhere")
    rules = [
        {"name": "own", "paths": ["/admin/*"], "accepts": ["bearer"]},
        {"name": "all", "paths": ["/*"], "anonymous": True},
    ]
    realm.change("POST", SITES, {"name": "free", "hosts": list(FREE), "rules": rules})
    site = {"name": "taking", "hosts": ["taking.example.test"], "rules": rules}
    realm.change("POST", SITES, site)
    _take(protected, site | {"hosts": list(TAKEN)})
    # Gateways read the sites of the realm again.
    realm.change("PUT", f"{SITES}/free", {"name": "free", "hosts": list(FREE), "rules": rules})
    form = {"grant_type": "client_credentials", "client_id": "svc", "client_secret": SECRET}
    url = "/realms/elsewhere/protocol/openid-connect/token"
    try:
        yield str(protected.administration.http.post(url, data=form).json()["access_token"])
    finally:
        for name in ("free", "taking"):
            realm.change("DELETE", f"{SITES}/{name}")


def _take(protected: Protected, document: dict[str, Any]) -> None:
    """Store hosts as a former version did, which looked at the port alone."""
    parsed = parse_site(document, realm="elsewhere")
    text = json.dumps(site_document(parsed))
    file = protected.gateway.state_dir / "realmgate.db"
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE sites SET document = ? WHERE name = 'taking'", (text,))
        database.execute("DELETE FROM site_hosts WHERE site = 'taking'")
        for host in parsed.hosts:
            insert = "INSERT INTO site_hosts SELECT ?, id, 'taking' FROM realms WHERE name = ?"
            database.execute(insert, (host, "elsewhere"))


def _require_refusals(
    protected: Protected, port: int, sni: str, token: str, *, has_http2: bool = True
) -> None:
    """Send every request; none may reach the service."""
    bearer = f"Authorization: Bearer {token}"
    for head in heads_of(NAMES, "/home/"):
        status = status_of_head(port, sni, head)
        assert protected.service.received == [], head
        assert status in REFUSED, (head, status)
    for host in (HOST, *TAKEN, *FREE):
        for path in ("/home/", "/admin/"):
            head = (f"GET {path} HTTP/1.1", f"Host: {host}")
            assert status_of_head(port, sni, head, bearer) in REFUSED, head
            assert protected.service.received == [], head
    if has_http2:
        # Envoy keeps a connection for a second after frames that it cannot read.
        frames = list(frames_of(NAMES))
        with ThreadPoolExecutor(16) as pool:
            ask = partial(status_of_frames, port, sni, "/home/")
            statuses = list(pool.map(ask, *zip(*frames, strict=True)))
        answers = zip(frames, statuses, strict=True)
        assert [each for each in answers if each[1] not in REFUSED] == []
        assert protected.service.received == []


def _require_own_rules(protected: Protected, port: int, host: str) -> None:
    """Check that the rules of the server's own site decide about its own names."""
    for spelling in (host, host.upper(), f"{host}:443"):
        for path, status in (("/health", 200), ("/home/", 401), ("/elsewhere", 403)):
            head = (f"GET {path} HTTP/1.1", f"Host: {spelling}")
            assert status_of_head(port, host, head) == status, head
    assert {each.target for each in protected.service.received} == {"/health"}
    protected.service.forget()


@pytest.mark.parametrize("name", OTHER_PROXIES)
def test_no_spelling_of_a_host_opens_another_proxy(name: str, open_site: Protected) -> None:
    open_site.service.forget()
    with _attacked(open_site) as token, start_proxy(name, HOST, open_site) as proxy:
        _require_own_rules(open_site, proxy.port, HOST)
        has_http2 = name != "apache"
        _require_refusals(open_site, proxy.port, HOST, token, has_http2=has_http2)
        for sni, host in product(("free.example.test", "localhost"), (HOST, "free.example.test")):
            head = ("GET /health HTTP/1.1", f"Host: {host}")
            status = status_of_head(proxy.port, sni, head)
            # Caddy ends the handshake for a name that no certificate has.
            allowed = {MISDIRECTED, 400 if name == "caddy" else MISDIRECTED}
            assert status in (allowed if host == HOST else REFUSED), (sni, host, status)
        head = ("GET /health HTTP/1.1", "Host: free.example.test")
        assert status_of_head(proxy.port, HOST, head) == ANOTHER_HOST.get(name, MISDIRECTED)
        assert open_site.service.received == []


SERVERS = (HOST, "*.wild.test", ".dot.test", "~^[a-z]+[.]regex[.]test$", '_ ""', "*.own.test")
OWN = {
    "name": "own",
    "hosts": ["*.own.test"],
    "rules": [
        {"name": "health", "paths": ["/health"], "anonymous": True},
        {"name": "home", "paths": ["/home/*"]},
    ],
}


@pytest.fixture(scope="module")
def many_servers(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[Protected]:
    """Run nginx with servers of every kind of name, the first one the default."""
    folder = tmp_path_factory.mktemp("servers")
    edge = {"servers": SERVERS, "as_default": True}
    with start_protected(folder, edge_certificates, edge) as protected:
        yield protected


def test_no_spelling_of_a_host_opens_nginx(many_servers: Protected) -> None:
    nginx = many_servers.nginx.site
    with _attacked(many_servers) as token:
        for port in (nginx.https_port, nginx.self_signed_port):
            _require_own_rules(many_servers, port, HOST)
        _require_refusals(many_servers, nginx.https_port, HOST, token)
        for sni in ("free.wild.test", "localhost"):
            for head in heads_of(HostNames("free.wild.test", FREE), "/home/"):
                assert status_of_head(nginx.https_port, sni, head) in REFUSED, head
                assert many_servers.service.received == [], head
        head = ("GET /health HTTP/1.1", f"Host: {HOST}")
        assert status_of_head(nginx.https_port, "free.wild.test", head) == MISDIRECTED


def test_a_wildcard_of_nginx_is_that_of_a_site(many_servers: Protected) -> None:
    realm = AdministeredRealm(many_servers.administration, "staff")
    realm.change("POST", SITES, OWN)
    _require_own_rules(many_servers, many_servers.nginx.site.https_port, "any.own.test")
    taken = AdministeredRealm(many_servers.administration, "elsewhere")
    answer = taken.ask("POST", SITES, OWN | {"hosts": ["free.own.test:1"]})
    assert answer.status_code == 409
    realm.change("DELETE", f"{SITES}/own")


def test_traefik_reports_the_host_of_its_router() -> None:
    """Its program does not run here: the configuration has to say it."""
    http = yaml.safe_load((PROXIES / "traefik/dynamic.yml").read_text())["http"]
    middlewares = http["middlewares"]
    assert middlewares["realmgate-guard"]["forwardAuth"]["trustForwardHeader"] is False
    for router in http["routers"].values():
        (host,) = re.findall(r"Host\(`([^`]+)`\)", router["rule"])
        assert "||" not in router["rule"]
        *before, own = router["middlewares"][:2]
        assert (before, own) == (["no-forged-headers"], "realmgate-proxy")
        sent = middlewares[own]["headers"]["customRequestHeaders"]
        assert sent["X-Realmgate-Server"] == f"{host}:443"
    guarded = http["routers"]["app"]["middlewares"]
    assert guarded.index("realmgate-proxy") < guarded.index("realmgate-guard")


def test_traefik_passes_the_identity_of_the_gateway_alone() -> None:
    """Its program does not run here. The names are those that nginx sets."""
    guard = (SHIPPED / "realmgate/guard.conf").read_text()
    identity = re.findall(r"^proxy_set_header ((?:Remote|X-Realmgate)-\S+) \$", guard, re.MULTILINE)
    assert {"Remote-User", "Remote-Roles", "X-Realmgate-Token"} < {*identity}
    http = yaml.safe_load((PROXIES / "traefik/dynamic.yml").read_text())["http"]
    middlewares, routers = http["middlewares"], http["routers"]
    removed = middlewares["no-forged-headers"]["headers"]["customRequestHeaders"]
    assert {*identity} <= removed.keys()
    assert {*removed.values()} == {""}
    assert middlewares["realmgate-guard"]["forwardAuth"]["authResponseHeaders"] == identity
    own = middlewares["realmgate-proxy"]["headers"]["customRequestHeaders"]
    last = middlewares["not-for-the-service"]["headers"]["customRequestHeaders"]
    assert last == dict.fromkeys(own, "")
    assert routers["app"]["middlewares"][-2:] == ["realmgate-guard", "not-for-the-service"]
    for router in routers.values():
        if router["service"] == "realmgate":
            assert "!PathPrefix(`/.realmgate/guard`)" in router["rule"]
        else:
            assert "realmgate-guard" in router["middlewares"]
