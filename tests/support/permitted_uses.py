"""Everything that one user and one device were permitted, in a realm of their own, and its uses.

One session of a browser leads to tokens, a code, an approved device, the account console and a
session of a protected site. A machine has a certificate and a token. Each use says whether it is
allowed now.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import httpx2
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from gateway.domain import base64url
from tests.support.administered_realm import SIGN_IN, AdministeredRealm, person
from tests.support.administration import PASSWORD, SECRET
from tests.support.sign_in_browser import CALLBACK, PUBLIC_URL, Page, SignInBrowser, web_client
from tests.support.wire import audience

USER: Final = "ada"
DEVICE: Final = "spiffe://acme.example/device/one"
"""The alternative name of the machine's certificate."""
_DEVICE_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
_EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_TYPE: Final = "urn:ietf:params:oauth:token-type:"
_SITE_COOKIE: Final = "__Host-realmgate-session"


def permitting_realm(name: str, site: str) -> dict[str, Any]:
    """Return the realm: the user has a role, a group and a right; the clients every grant.

    `name` is that of the realm, `site` the host of its protected site.
    """
    grants = {
        "oauth2.device.authorization.grant.enabled": "true",
        "oauth2.device.polling.interval": "0",
    }
    exchanges = {
        "standard.token.exchange.enabled": "true",
        "standard.token.exchange.enableRefreshRequestedTokenType": "SAME_SESSION",
    }
    machine = {
        "clientId": "machine",
        "enabled": True,
        "clientAuthenticatorType": "client-x509",
        "serviceAccountsEnabled": True,
        "attributes": {
            "realmgate.certificate.template": "spiffe://{trust_domain}/device/{device}",
            "tls.client.certificate.bound.access.tokens": "true",
        },
        "protocolMappers": [audience("api")],
    }
    return {
        **SIGN_IN,
        "rememberMe": True,
        "bruteForceProtected": True,
        "failureFactor": 2,
        "waitIncrementSeconds": 600,
        "quickLoginCheckMilliSeconds": 0,
        "roles": {"realm": [{"name": "worker"}]},
        "groups": [{"name": "team"}],
        "clients": [
            web_client(
                "app",
                redirectUris=[CALLBACK, f"https://{site}/*"],
                attributes=grants,
                protocolMappers=[audience(each) for each in ("app", "api", "account")],
            ),
            {**SIGN_IN["clients"][0], "clientId": "direct"},
            web_client(
                "api", attributes=exchanges, protocolMappers=[audience("target"), audience("api")]
            ),
            web_client("target"),
            machine,
        ],
        "users": [
            person(
                USER,
                email=f"{USER}@example.test",
                realmRoles=["worker", f"default-roles-{name}"],
                groups=["/team"],
                clientRoles={"realm-management": ["view-users"]},
            )
        ],
    }


def permitting_site(host: str) -> dict[str, Any]:
    """Return the site: a part for users, one for every certificate, one for the machine's."""
    of_certificates = {"accepts": ["certificate"]}
    return {
        "name": host.partition(".")[0],
        "hosts": [host],
        "client": "app",
        "rules": [
            {"name": "certificates", "paths": ["/certificates/*"], **of_certificates},
            {
                "name": "machines",
                "paths": ["/machines/*"],
                **of_certificates,
                "clients": ["machine"],
            },
            {
                "name": "both",
                "paths": ["/both/*"],
                "accepts": ["session", "bearer"],
                "certificates": [f"uri:{DEVICE}"],
            },
            {
                "name": "users",
                "paths": ["/*"],
                "accepts": ["session", "bearer"],
                "realmRoles": ["worker"],
                "groups": ["/team"],
                "scopes": ["phone"],
            },
        ],
    }


@dataclass(frozen=True, slots=True)
class Permitted:
    """What was permitted before a change."""

    realm: AdministeredRealm
    site: str
    certificate: Path
    browser: SignInBrowser
    tokens: Mapping[str, str]
    """By use: access and refresh tokens, codes."""
    site_cookie: str

    def allowed(self, use: str) -> bool:
        """Use what was permitted; tell whether it is allowed. Raises Unavailable."""
        return USES[use](self)

    def post(self, path: str, form: Mapping[str, str], *, machine: bool = False) -> httpx2.Response:
        """POST a form below the realm's protocol path."""
        url = f"/realms/{self.realm.name}/protocol/openid-connect/{path}"
        headers = certificate_headers(self.certificate) if machine else {}
        http = self.realm.administration.http
        return answered(http.post(url, data=dict(form), headers=headers))

    def get(self, path: str, token: str) -> httpx2.Response:
        """GET a path with an access token."""
        http = self.realm.administration.http
        return answered(http.get(path, headers={"Authorization": f"Bearer {token}"}))

    def at_site(self, path: str, **headers: str) -> bool:
        """Ask for a decision as nginx does; tell whether the request reaches the service."""
        sent = {
            "X-Original-Request": f"GET {path} HTTP/1.1",
            "X-Forwarded-Host": self.site,
            "X-Forwarded-Proto": "https",
            "X-Realmgate-Server": self.site,
            **headers,
        }
        http = self.realm.administration.http
        found = answered(http.get("/.realmgate/guard/nginx", headers=sent))
        assert found.status_code in {200, 401, 403}, found.text
        return found.status_code == httpx2.codes.OK


class Unavailable(Exception):
    """The gateway has answered 503: it cannot say whether the use is allowed."""


def answered(response: httpx2.Response) -> httpx2.Response:
    """Return the response, which is no failure of the gateway; raises Unavailable."""
    if response.status_code == httpx2.codes.SERVICE_UNAVAILABLE:
        raise Unavailable(response.text)
    assert response.status_code < httpx2.codes.INTERNAL_SERVER_ERROR, response.text
    return response


def certificate_headers(file: Path) -> dict[str, str]:
    """Return what nginx adds for a client with the certificate."""
    return {"ssl-client-cert": quote(file.read_text()), "ssl-client-verify": "SUCCESS"}


def thumbprint(file: Path) -> str:
    """Return `x5t#S256` of the certificate."""
    certificate = x509.load_pem_x509_certificate(file.read_bytes())
    return base64url.encode(hashlib.sha256(certificate.public_bytes(Encoding.DER)).digest())


def permit(realm: AdministeredRealm, site: str, certificate: Path) -> Permitted:
    """Sign the user in with "remember me", and give every client what it may have."""
    browser = SignInBrowser(realm.administration.http, realm.name)
    begun = Permitted(realm, site, certificate, browser, {}, "")
    page = browser.open(scope="openid phone")
    page = browser.submit(page, username=USER, password=PASSWORD, rememberMe="on")
    first = browser.redeem(_consented(browser, page).answer["code"]).json()
    page = _consented(browser, browser.open(scope="openid phone offline_access"))
    offline = browser.redeem(page.answer["code"]).json()
    exchanged = _exchanged(begun, first["access_token"], refresh=True).json()
    device = begun.post("auth/device", _OWN | {"scope": "openid phone"}).json()
    asked = browser.submit(
        browser.get(f"/realms/{realm.name}/device"), device_user_code=device["user_code"]
    )
    browser.post(asked.form.action, {"accept": "on"})
    account = f"/realms/{realm.name}/account/"
    assert browser.get(account).location == f"{PUBLIC_URL}{account}"
    machine = begun.post("token", _CREDENTIALS, machine=True).json()
    cookie = _signed_in_at_site(begun)
    tokens = {
        "access": first["access_token"],
        "refresh": first["refresh_token"],
        "offline": offline["refresh_token"],
        "offline access": offline["access_token"],
        "exchanged": exchanged["refresh_token"],
        "device": device["device_code"],
        "machine": machine["access_token"],
        "code": browser.open(scope="openid phone").answer["code"],
    }
    return Permitted(realm, site, certificate, browser, tokens, cookie)


def _consented(browser: SignInBrowser, page: Page) -> Page:
    """Return the page after that of the consent, where there is one."""
    if page.status == httpx2.codes.OK:
        page = browser.post(page.form.action, {"accept": "on"})
    return page


def _signed_in_at_site(before: Permitted) -> str:
    """Sign the browser in at the site by single sign-on; return its cookie there."""
    http, host = before.realm.administration.http, before.site
    sent = {"X-Forwarded-Host": host, "X-Realmgate-Server": f"{host}:443"}
    begun = http.get("/.realmgate/sign-in", params={"rd": f"https://{host}/"}, headers=sent)
    pending = begun.headers["set-cookie"].partition(";")[0]
    page = before.browser.get(begun.headers["location"])
    returned = urlsplit(page.response.headers["location"])
    done = http.get(f"{returned.path}?{returned.query}", headers={**sent, "Cookie": pending})
    http.cookies.clear()
    cookies = done.headers.get_list("set-cookie")
    return next(each.partition(";")[0] for each in cookies if each.startswith(_SITE_COOKIE))


_OWN: Final = {"client_id": "app", "client_secret": SECRET}
_API: Final = {"client_id": "api", "client_secret": SECRET}
_CREDENTIALS: Final = {"grant_type": "client_credentials", "client_id": "machine"}


def _token(before: Permitted, form: Mapping[str, str], *, machine: bool = False) -> bool:
    return before.post("token", form, machine=machine).status_code == httpx2.codes.OK


def _exchanged(before: Permitted, token: str, *, refresh: bool = False) -> httpx2.Response:
    form = {
        **_API,
        "grant_type": _EXCHANGE,
        "subject_token": token,
        "subject_token_type": f"{_TYPE}access_token",
        "audience": "target",
    }
    if refresh:
        form["requested_token_type"] = f"{_TYPE}refresh_token"
    return before.post("token", form)


def _refreshes(before: Permitted, token: str, client: Mapping[str, str] = _OWN) -> bool:
    return _token(before, {**client, "grant_type": "refresh_token", "refresh_token": token})


def _logs_out(before: Permitted, token: str) -> bool:
    """Tell whether the logout is accepted, also where the session is over already."""
    return (
        before.post("logout", {**_OWN, "refresh_token": token}).status_code
        == httpx2.codes.NO_CONTENT
    )


def _is_active(before: Permitted, token: str) -> bool:
    found = before.post("token/introspect", {**_API, "token": token})
    return found.status_code == httpx2.codes.OK and found.json()["active"]


def _has_console(before: Permitted) -> bool:
    page = before.browser.get(f"/realms/{before.realm.name}/account/")
    answered(page.response)
    return page.status == httpx2.codes.OK and page.id.startswith("account-")


def _has_code(before: Permitted) -> bool:
    page = before.browser.open(scope="openid phone")
    answered(page.response)
    return page.status == httpx2.codes.FOUND and "code=" in page.location


def _password(before: Permitted) -> bool:
    form = {"grant_type": "password", "client_id": "direct", "username": USER}
    return _token(before, form | {"password": PASSWORD})


def _code(before: Permitted) -> bool:
    form = {**_OWN, "grant_type": "authorization_code", "redirect_uri": CALLBACK}
    return _token(before, {**form, "code": before.tokens["code"]})


def _device(before: Permitted) -> bool:
    form = {**_OWN, "grant_type": _DEVICE_GRANT, "device_code": before.tokens["device"]}
    return _token(before, form)


def _at_site_with_certificate(before: Permitted, path: str) -> bool:
    return before.at_site(path, **certificate_headers(before.certificate))


USES: Final[Mapping[str, Callable[[Permitted], bool]]] = {
    "site by session": lambda before: before.at_site("/app", Cookie=before.site_cookie),
    "site by bearer": lambda before: before.at_site(
        "/app", Authorization=f"Bearer {before.tokens['access']}"
    ),
    "site by bearer and certificate": lambda before: before.at_site(
        "/both/1",
        Authorization=f"Bearer {before.tokens['access']}",
        **certificate_headers(before.certificate),
    ),
    "site by certificate": lambda before: _at_site_with_certificate(before, "/certificates/1"),
    "site by certificate, client named": lambda before: _at_site_with_certificate(
        before, "/machines/1"
    ),
    "client credentials": lambda before: _token(before, _CREDENTIALS, machine=True),
    "token of a service account": lambda before: _is_active(before, before.tokens["machine"]),
    "password grant": _password,
    "code": _code,
    "refresh": lambda before: _refreshes(before, before.tokens["refresh"]),
    "offline refresh": lambda before: _refreshes(before, before.tokens["offline"]),
    "token of an offline session": lambda before: _is_active(
        before, before.tokens["offline access"]
    ),
    "device grant": _device,
    "token exchange": lambda before: _exchanged(before, before.tokens["access"]).is_success,
    "exchanged refresh": lambda before: _refreshes(before, before.tokens["exchanged"], _API),
    "userinfo": lambda before: (
        before.get(
            f"/realms/{before.realm.name}/protocol/openid-connect/userinfo",
            before.tokens["access"],
        ).is_success
    ),
    "introspection": lambda before: _is_active(before, before.tokens["access"]),
    "admin API": lambda before: (
        before.get(f"/admin/realms/{before.realm.name}/users", before.tokens["access"]).is_success
    ),
    "account API": lambda before: (
        (
            before.get(f"/realms/{before.realm.name}/account/sessions", before.tokens["access"])
        ).is_success
    ),
    "account console": _has_console,
    "single sign-on": _has_code,
    "logout": lambda before: _logs_out(before, before.tokens["refresh"]),
    "offline logout": lambda before: _logs_out(before, before.tokens["offline"]),
}
"""Each use of what was permitted, in the order in which they disturb each other least."""
