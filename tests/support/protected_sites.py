"""Protected sites: a real nginx asks a real gateway, in front of a service that records requests.

The hosts are the TLS listeners of the nginx: each has the same service and the same rules.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gateway.storage.redis.private_server import PrivateRedis
from tests.support.administration import Administration, master
from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_process import Gateway, start_gateway
from tests.support.nginx import RunningNginx, changed_source, make_prefix, start_nginx
from tests.support.recording_upstream import RecordingUpstream, recording_upstream
from tests.support.site_sessions import store_site_session
from tests.support.wire import (
    BOUND,
    DEVICE_SUBJECT,
    PASSWORD,
    SECRET,
    app,
    claims_of,
    client,
    device,
    user,
)

HOST = "app.example.test"
OPEN_HOST = "open.example.test"
"""Every path is anonymous."""
DEVICE_HOST = "devices.example.test"
WIKI_HOSTS = ("one.wiki.test", "two.wiki.test")
"""They share one session cookie; their service gets no Authorization."""
PROXY_SECRET = "known-to-the-proxy-and-the-gateway-alone"
SERVICE_AUDIENCE = "https://service.example.test"
_NAMES = json.dumps([f"subject:{DEVICE_SUBJECT}"])
_BARE = 'accepts = ["certificate"]'
_RULES = f"""
[[sites]]
name = "app"
hosts = ["{HOST}"]
realms = ["staff", "devices"]
audience = "{SERVICE_AUDIENCE}"
client = "portal"
rules = [
  {{ name = "public", paths = ["/public/*", "/health"], anonymous = true }},
  {{ name = "admin", paths = ["/admin/*"], realm_roles = ["admin"] }},
  {{ name = "reports", paths = ["/reports/*"], client_roles = ["portal/reader"] }},
  {{ name = "teams", paths = ["/teams/*"], groups = ["/teams/red"] }},
  {{ name = "mail", paths = ["/mail/*"], scopes = ["email"] }},
  {{ name = "jobs", paths = ["/jobs/*"], clients = ["worker", "device-1"] }},
  {{ name = "bound", paths = ["/bound/*"], bound_only = true, accepts = ["bearer"] }},
  {{ name = "aimed", paths = ["/aimed/*"], audiences = ["reports"] }},
  {{ name = "machines", paths = ["/machines/*"], certificates = {_NAMES}, {_BARE} }},
  {{ name = "write", paths = ["/notes/*"], methods = ["POST", "PUT"], realm_roles = ["admin"] }},
  {{ name = "read", paths = ["/notes/*"] }},
  {{ name = "home", paths = ["/home/*"] }},
]

[[sites]]
name = "fleet"
hosts = ["{DEVICE_HOST}"]
realms = ["devices"]
rules = [{{ name = "own", paths = ["/*"], clients = ["device-1", "public"] }}]

[[sites]]
name = "open"
hosts = ["{OPEN_HOST}"]
realms = ["staff"]
rules = [{{ name = "all", paths = ["/*"], anonymous = true }}]

[[sites]]
name = "wiki"
hosts = {json.dumps(WIKI_HOSTS)}
realms = ["staff"]
client = "portal"
cookie_domain = "wiki.test"
forward_authorization = false
rules = [
  {{ name = "open", paths = ["/open/*"], anonymous = true }},
  {{ name = "numbers", paths = ["/numbers"], scopes = ["phone", "address", "unknown"] }},
  {{ name = "all", paths = ["/*"] }},
]
"""


def _staff() -> dict[str, Any]:
    return {
        "realm": "staff",
        "enabled": True,
        "sslRequired": "none",
        "bruteForceProtected": True,
        "failureFactor": 2,
        "waitIncrementSeconds": 60,
        "quickLoginCheckMilliSeconds": 0,
        "defaultSignatureAlgorithm": "ES256",
        "passwordPolicy": "hashAlgorithm(pbkdf2-sha256) and hashIterations(1000)",
        "roles": {
            "realm": [{"name": "admin"}],
            "client": {"portal": [{"name": "reader"}]},
        },
        "groups": [{"name": "teams", "subGroups": [{"name": "red", "subGroups": [{"name": "a"}]}]}],
        "clients": [
            app("portal", redirectUris=["https://*"]),
            app("narrow", fullScopeAllowed=False),
            app("roleless", defaultClientScopes=["basic", "email"]),
            app("light", attributes={"client.use.lightweight.access.token.enabled": "true"}),
            client("bound", directAccessGrantsEnabled=True, attributes=BOUND),
            client("worker"),
        ],
        "users": [
            user(
                "ada",
                realmRoles=["admin"],
                clientRoles={"portal": ["reader"]},
                groups=["/teams/red/a"],
            ),
            user("bob"),
            *(user(f"changed-{number}", realmRoles=["admin"]) for number in range(12)),
        ],
    }


def _devices() -> dict[str, Any]:
    return {
        "realm": "devices",
        "enabled": True,
        "sslRequired": "all",
        "defaultSignatureAlgorithm": "ES256",
        "clients": [
            device("device-1", DEVICE_SUBJECT, **BOUND),
            # No certificate is the client's: a public client does not authenticate.
            device("public", DEVICE_SUBJECT.replace("-1", "-2")) | {"publicClient": True},
            client("svc"),
        ],
    }


def _elsewhere() -> dict[str, Any]:
    return {
        "realm": "elsewhere",
        "enabled": True,
        "sslRequired": "none",
        "clients": [client("svc")],
    }


@dataclass(frozen=True, slots=True)
class Protected:
    """The proxy, the gateway that decides, and the service."""

    nginx: RunningNginx
    gateway: Gateway
    administration: Administration
    service: RecordingUpstream
    certificates: EdgeCertificates

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        token: str | None = None,
        certificate: str | None = None,
        listener: str = "https",
        host: str = HOST,
        http2: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> httpx2.Response:
        """Send a request through nginx; `listener` is a property of RunningNginx."""
        sent = {"Host": host, **(headers or {})}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        pair = None if certificate is None else self.certificates.pair(certificate)
        with self.nginx.client(pair, http2=http2) as http:
            return http.request(method, f"{getattr(self.nginx, listener)}{path}", headers=sent)

    def token(
        self, username: str = "ada", client_id: str = "portal", **form: str
    ) -> dict[str, Any]:
        """Return the tokens of a sign-in with a password."""
        asked = {
            "grant_type": "password",
            "client_id": client_id,
            "username": username,
            "password": PASSWORD,
            **form,
        }
        return self._tokens("staff", asked)

    def client_token(self, realm: str = "staff", client_id: str = "worker") -> str:
        """Return an access token of a client with a secret."""
        asked = {"grant_type": "client_credentials", "client_id": client_id}
        return str(self._tokens(realm, asked | {"client_secret": SECRET})["access_token"])

    def bound_token(self, certificate: str, username: str = "ada", listener: str = "https") -> str:
        """Return an access token that is bound to a certificate."""
        asked = {
            "grant_type": "password",
            "client_id": "bound",
            "client_secret": SECRET,
            "username": username,
            "password": PASSWORD,
        }
        return str(self._tokens("staff", asked, certificate, listener)["access_token"])

    def browser_session(self, username: str = "ada", **fields: Any) -> str:
        """Return the cookie of a browser that signed in at the site, as the store keeps it.

        `fields` replace those of the session.
        """
        claims = claims_of(self.token(username)["access_token"])
        found = self.administration.http.get(
            "/admin/realms/staff",
            headers={"Authorization": f"Bearer {self.administration.token()}"},
        )
        redis_url = PrivateRedis(self.gateway.state_dir).url
        return store_site_session(redis_url, "app", found.json()["id"], claims, **fields)

    def _tokens(
        self,
        realm: str,
        form: Mapping[str, str],
        certificate: str | None = None,
        listener: str = "https",
    ) -> dict[str, Any]:
        pair = None if certificate is None else self.certificates.pair(certificate)
        with self.nginx.client(pair) as http:
            base = getattr(self.nginx, listener)
            url = f"{base}/realms/{realm}/protocol/openid-connect/token"
            response = http.post(url, data=dict(form), headers={"Host": "localhost"})
        assert response.status_code == httpx2.codes.OK, response.text
        found: dict[str, Any] = response.json()
        return found


def protecting_source(
    folder: Path,
    service: str,
    *,
    servers: Sequence[str] = (HOST, DEVICE_HOST, OPEN_HOST, " ".join(WIKI_HOSTS)),
    as_default: bool = False,
    cached: bool = False,
    changes: Mapping[str, tuple[str, str]] | None = None,
) -> Path:
    """Return the shipped files with protected servers of these names at each TLS listener.

    With `as_default` the first one gets the requests for unknown hosts. With `cached` nginx keeps
    decisions. `changes` replace one text in each named file.
    """
    source = changed_source(folder, dict(changes or {}))
    text = (source / "realmgate.conf").read_text()
    asking = "guard-cache.conf" if cached else "guard-server.conf"
    zone = "    include realmgate/guard-cache-zone.conf;\n" if cached else ""
    added = "".join(
        f"""
    server {{
        include realmgate/site/listen-{listener}.conf;
        server_name {name};
        include realmgate/tls.conf;
        include realmgate/client-certificate-{verification}.conf;
        include realmgate/{asking};
        location / {{
            include realmgate/guard.conf;
            proxy_set_header X-Uri-Of-Nginx $uri;
            proxy_pass {service};
        }}
    }}
"""
        for name in servers
        for listener, verification in (
            ("https", "optional"),
            ("mtls", "required"),
            ("self-signed", "optional-no-ca"),
        )
    )
    head, mark, tail = text.partition("    access_log logs/access.log realmgate;\n")
    assert mark
    assert tail.rstrip().endswith("}")
    own = tail.rstrip()[:-1]
    servers_text = added + own if as_default else own + added
    (source / "realmgate.conf").write_text(f"{head}{mark}{zone}{servers_text}}}\n")
    return source


@contextmanager
def start_protected(
    folder: Path,
    certificates: EdgeCertificates,
    edge: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Iterator[Protected]:
    """Run the three parts; `edge` are options of `protecting_source`, `settings` the gateway's."""
    make_prefix(folder)
    (folder / "rules.toml").write_text(_RULES)
    realms = [master(), _staff(), _devices(), _elsewhere()]
    (folder / "realms.json").write_text(json.dumps(realms))
    with (
        recording_upstream(folder / "run/service.sock") as service,
        start_gateway(
            folder,
            import_realm=folder / "realms.json",
            guard_file=folder / "rules.toml",
            public_url="https://gateway.test",
            client_ca_file=certificates.folder / "ca.crt",
            client_crl_file=certificates.folder / "ca.crl",
            proxy_secret=PROXY_SECRET,
            **settings,
        ) as gateway,
        start_nginx(
            folder,
            certificates.folder,
            [f"unix:{gateway.socket}"],
            source=protecting_source(folder, f"http://{service.address}", **(edge or {})),
            proxy_secret=PROXY_SECRET,
            public_urls=("https://gateway.test",),
        ) as nginx,
        gateway.client(**{"X-Realmgate-Proxy-Secret": PROXY_SECRET}) as http,
    ):
        yield Protected(nginx, gateway, Administration(gateway, http), service, certificates)


@pytest.fixture(scope="session")
def shared_protected(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[Protected]:
    """Run one protected site for all tests."""
    with start_protected(tmp_path_factory.mktemp("protected"), edge_certificates) as running:
        yield running


@pytest.fixture
def protected(shared_protected: Protected) -> Protected:
    """Return the protected site, the memory of its service cleared."""
    shared_protected.service.forget()
    return shared_protected
