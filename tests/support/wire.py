"""A real gateway with realms of every kind, spoken to as the proxy speaks to it.

The gateway stands on its unix socket; requests carry what nginx would add. What nginx itself does
is tested in tests/system.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx2
import pytest

from tests.support.certificates import Zoo
from tests.support.gateway_process import Gateway, start_gateway

PUBLIC_URL = "https://gateway.test"
MTLS_PUBLIC_URL = "https://mtls.gateway.test"
SECRET = "a-clients-secret"
FORM = "application/x-www-form-urlencoded"
BOUND = {"tls.client.certificate.bound.access.tokens": "true"}
Form = Mapping[str, str] | Sequence[tuple[str, str]] | str | bytes

DEVICE_SUBJECT = "CN=device-1,OU=Devices,O=Realmgate Demonstration"
ROOT_SUBJECT = "CN=Realmgate Development Root CA,O=Realmgate Demonstration"
ISSUING_SUBJECT = "CN=Realmgate Development Issuing CA,O=Realmgate Demonstration"
AUTHORITY = "x509.casubjectdn"


def client(client_id: str, **fields: Any) -> dict[str, Any]:
    """Return a confidential client with a service account, changed by `fields`."""
    return {
        "clientId": client_id,
        "enabled": True,
        "secret": SECRET,
        "serviceAccountsEnabled": True,
    } | fields


def device(client_id: str, subject: str, **attributes: str) -> dict[str, Any]:
    """Return a client that authenticates by the subject of its certificate."""
    return {
        "clientId": client_id,
        "enabled": True,
        "clientAuthenticatorType": "client-x509",
        "serviceAccountsEnabled": True,
        "attributes": {
            "x509.subjectdn": subject,
            "x509.allow.regex.pattern.comparison": "false",
            **attributes,
        },
        "protocolMappers": [audience(client_id)],
    }


def audience(client_id: str) -> dict[str, Any]:
    """Return a mapper that names a client in `aud`."""
    return {
        "name": f"audience {client_id}",
        "protocol": "openid-connect",
        "protocolMapper": "oidc-audience-mapper",
        "config": {"included.client.audience": client_id, "access.token.claim": "true"},
    }


ALGORITHMS = ("PS256", "ES256", "ES384", "ES512", "EdDSA")

CLIENTS = [
    client("svc"),
    client("svc2"),
    client("pub", publicClient=True),
    client("bear", bearerOnly=True),
    client("nosa", serviceAccountsEnabled=False),
    client("disabled", enabled=False),
    client("saml", protocol="saml"),
    client("signs", clientAuthenticatorType="client-secret-jwt"),
    client("bound", attributes=BOUND, protocolMappers=[audience("bound"), audience("svc2")]),
    client("aud", protocolMappers=[audience("aud"), audience("svc2")]),
    client("stale", notBefore=2_147_483_647, protocolMappers=[audience("svc2")]),
    client(
        "lower",
        attributes={"token.response.type.bearer.lower-case": "true"},
        protocolMappers=[audience("lower"), audience("svc2")],
    ),
    client("lasting", attributes={"client_credentials.use_refresh_token": "true"}),
    client("lifespan", attributes={"access.token.lifespan": "17"}),
    client("endless", attributes={"access.token.lifespan": "-1"}),
    client("scopeless", fullScopeAllowed=False),
    client("UPPER", webOrigins=["https://a.example"]),
    client("with space:colon"),
    client("of-any-page", webOrigins=["*"]),
    client("of-its-pages", webOrigins=["+"], redirectUris=["https://app.example:8443/callback/*"]),
    device("device-1", DEVICE_SUBJECT, **BOUND),
    device("device-2", "CN=device-2,OU=Devices,O=Realmgate Demonstration", **BOUND),
    device("reordered", "O=Realmgate Demonstration,OU=Devices,CN=device-1"),
    device("of-the-root", DEVICE_SUBJECT, **{AUTHORITY: ROOT_SUBJECT}),
    device("of-the-issuer", DEVICE_SUBJECT, **{AUTHORITY: ISSUING_SUBJECT}),
    device("of-another-root", DEVICE_SUBJECT, **{AUTHORITY: "CN=Other CA"}),
    device("of-itself", DEVICE_SUBJECT, **{AUTHORITY: DEVICE_SUBJECT}),
    device("without-subject", ""),
    device(
        "fleet",
        "CN=device-[12], OU=Devices, O=Realmgate Demonstration",
        **{**BOUND, "x509.allow.regex.pattern.comparison": "true"},
    ),
    *[
        client(f"alg-{name}", attributes={"access.token.signed.response.alg": name})
        for name in ALGORITHMS
    ],
]

REALMS = [
    {"realm": "wire", "enabled": True, "sslRequired": "none", "clients": CLIENTS},
    {"realm": "other", "enabled": True, "sslRequired": "none", "clients": [client("svc")]},
    {"realm": "off", "enabled": False, "sslRequired": "none", "clients": [client("svc")]},
    {"realm": "tls-all", "enabled": True, "sslRequired": "all", "clients": [client("svc")]},
    {"realm": "tls-all-off", "enabled": False, "sslRequired": "all", "clients": [client("svc")]},
    {
        "realm": "tls-external",
        "enabled": True,
        "sslRequired": "external",
        "clients": [client("svc")],
    },
    {
        "realm": "framed",
        "enabled": True,
        "sslRequired": "none",
        "clients": [client("svc")],
        "browserSecurityHeaders": {
            "xFrameOptions": "SOMEORIGIN",
            "xRobotsTag": "",
            "contentSecurityPolicyReportOnly": "default-src 'self'",
        },
    },
    {
        "realm": "brief",
        "enabled": True,
        "sslRequired": "none",
        "accessTokenLifespan": 60,
        "defaultSignatureAlgorithm": "ES256",
        "clients": [client("svc")],
    },
]


PASSWORD = "The right password 1"
CHEAP = "hashAlgorithm(pbkdf2-sha256) and hashIterations(1000)"


def user(username: str, **fields: Any) -> dict[str, Any]:
    """Return an enabled user with a complete profile and the password above."""
    return {
        "username": username,
        "enabled": True,
        "email": f"{username}@example.test",
        "emailVerified": True,
        "firstName": "Ada",
        "lastName": username.capitalize(),
        "credentials": [{"type": "password", "value": PASSWORD}],
    } | fields


def app(client_id: str, **fields: Any) -> dict[str, Any]:
    """Return a public client that may ask with a user's password."""
    return {
        "clientId": client_id,
        "enabled": True,
        "publicClient": True,
        "directAccessGrantsEnabled": True,
    } | fields


DEVICE_KEY = "12345678901234567890"
DEVICE = {
    "type": "otp",
    "secretData": json.dumps({"value": DEVICE_KEY}),
    "credentialData": json.dumps(
        {"subType": "totp", "digits": 6, "counter": 0, "period": 30, "algorithm": "HmacSHA1"}
    ),
}
"""A one-time password as Keycloak exports it."""

PEOPLE = {
    "realm": "people",
    "enabled": True,
    "sslRequired": "none",
    "passwordPolicy": CHEAP,
    "users": [
        user("alice"),
        user("bob"),
        user("disabled", enabled=False),
        user("unfinished", requiredActions=["UPDATE_PASSWORD"]),
        {"username": "wordless", "enabled": True},
        user("second", credentials=[{"type": "password", "value": PASSWORD}, DEVICE]),
    ],
    "clients": [
        app("app"),
        app("other-app"),
        app("no-grant", directAccessGrantsEnabled=False),
        app("consent", consentRequired=True),
        app("no-refresh", attributes={"use.refresh.tokens": "false"}),
        app("light", attributes={"client.use.lightweight.access.token.enabled": "true"}),
        client("svc", directAccessGrantsEnabled=True, protocolMappers=[audience("svc")]),
        client("watcher"),
        client(
            "bound-app",
            directAccessGrantsEnabled=True,
            attributes=BOUND,
            protocolMappers=[audience("bound-app")],
        ),
    ],
}
ROTATING = {
    **PEOPLE,
    "realm": "rotating",
    "revokeRefreshToken": True,
    "refreshTokenMaxReuse": 0,
    "users": [user("alice")],
    "clients": [client("svc", directAccessGrantsEnabled=True)],
}
REALMS += [PEOPLE, ROTATING]


@dataclass(frozen=True, slots=True)
class Wire:
    """The gateway as the proxy sees it."""

    gateway: Gateway
    http: httpx2.Client
    certificates: Mapping[str, str]
    """Escaped PEM by name, as nginx writes `ssl-client-cert`."""

    def post(
        self,
        path: str,
        form: Form = (),
        *,
        realm: str = "wire",
        certificate: str | None = None,
        verified: str = "SUCCESS",
        **headers: str,
    ) -> httpx2.Response:
        """POST a form below the realm's protocol path; `certificate` is a name."""
        body = form if isinstance(form, str | bytes) else urlencode(form)
        sent = {"Content-Type": FORM, **_named(headers)}
        if certificate is not None:
            sent |= {
                "ssl-client-cert": self.certificates[certificate],
                "ssl-client-verify": verified,
            }
        return self.http.post(protocol(realm, path), content=body, headers=sent)

    def get(self, path: str, **headers: str) -> httpx2.Response:
        """GET any path."""
        return self.http.get(path, headers=_named(headers))

    def token_request(self, form: Mapping[str, str] | None = None, **how: Any) -> httpx2.Response:
        """Ask for a token as `svc`, the form changed by `form`."""
        asked = {"grant_type": "client_credentials", "client_id": "svc", "client_secret": SECRET}
        return self.post("token", asked | dict(form or {}), **how)

    def token(self, client_id: str = "svc", **how: Any) -> str:
        """Return an access token of a client that has a secret."""
        response = self.token_request({"client_id": client_id}, **how)
        assert response.status_code == httpx2.codes.OK, response.text
        return str(response.json()["access_token"])

    def device_token(self, client_id: str, certificate: str) -> str:
        """Return an access token of a client that has a certificate."""
        form = {"grant_type": "client_credentials", "client_id": client_id}
        response = self.post("token", form, certificate=certificate)
        assert response.status_code == httpx2.codes.OK, response.text
        return str(response.json()["access_token"])

    def sign_in(
        self, username: str = "alice", form: Mapping[str, str] | None = None, **how: Any
    ) -> httpx2.Response:
        """Sign a user in through the client `app`; `how` may name another realm."""
        asked = {
            "grant_type": "password",
            "client_id": "app",
            "username": username,
            "password": PASSWORD,
        }
        return self.post("token", asked | dict(form or {}), **{"realm": "people", **how})

    def refresh(
        self, token: str, form: Mapping[str, str] | None = None, **how: Any
    ) -> httpx2.Response:
        """Use a refresh token as the client `app`."""
        asked = {"grant_type": "refresh_token", "client_id": "app", "refresh_token": token}
        return self.post("token", asked | dict(form or {}), **{"realm": "people", **how})

    def introspect(
        self, token: str, client_id: str = "svc2", form: Mapping[str, str] | None = None, **how: Any
    ) -> httpx2.Response:
        """Introspect as a client that has a secret."""
        asked = {"client_id": client_id, "client_secret": SECRET, "token": token}
        return self.post("token/introspect", asked | dict(form or {}), **how)


def protocol(realm: str, path: str) -> str:
    """Return a path below the realm's protocol path."""
    return f"/realms/{realm}/protocol/openid-connect/{path}"


def claims_of(token: str) -> dict[str, Any]:
    """Return a token's claims without believing them."""
    return _segment(token, 1)


def header_of(token: str) -> dict[str, Any]:
    """Return a token's JOSE header without believing it."""
    return _segment(token, 0)


def basic(client_id: str, secret: str = SECRET) -> str:
    """Return an Authorization header, both halves form-encoded. Spec: RFC 6749 §2.3.1."""
    pair = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
    return "Basic " + base64.b64encode(pair.encode()).decode()


def _segment(token: str, number: int) -> dict[str, Any]:
    text = token.split(".")[number]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return found


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


@pytest.fixture(scope="session")
def wire(tmp_path_factory: pytest.TempPathFactory, certificate_zoo: Zoo) -> Iterator[Wire]:
    """Run one gateway with the realms above for all tests that change nothing about it."""
    folder = tmp_path_factory.mktemp("wire")
    realms = folder / "realms.json"
    realms.write_text(json.dumps(REALMS))
    with start_gateway(
        folder,
        import_realm=realms,
        public_url=PUBLIC_URL,
        mtls_public_url=MTLS_PUBLIC_URL,
        client_ca_file=certificate_zoo.directory / "ca.crt",
        client_crl_file=certificate_zoo.directory / "ca.crl",
    ) as gateway:
        proxy = {
            "X-Forwarded-For": "203.0.113.9",
            "X-Forwarded-Proto": "https",
            "X-Request-Id": "0123456789abcdef0123456789abcdef",
        }
        with gateway.client(**proxy) as http:
            yield Wire(gateway, http, _escaped(certificate_zoo))


def _escaped(zoo: Zoo) -> dict[str, str]:
    files = {path.stem: path for path in Path(zoo.directory).glob("*.crt")}
    files |= {kind: zoo[kind].certificate for kind in zoo}
    return {name: quote(path.read_text(), safe="") for name, path in files.items()}
