"""Applications of a realm, written with the libraries of others, and Chromium to use them.

Servers serve the pages of single-page applications, over TLS like the gateway's nginx: two at
origins of the gateway's site, one at another site. The web applications are those of the tests.
"""

import json
import re
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain
from pathlib import Path
from threading import Thread
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from scripts.sign_in_pages import FLAGS, chromium
from tests.support.edge_certificates import EdgeCertificates
from tests.support.ports import free_port
from tests.support.spec_stack import Stack, start_stack
from tests.support.wire import BOUND, CHEAP, DEVICE_SUBJECT, PASSWORD, audience, user

REALM: Final = "relying"
NOBODY: Final = "nobody"
"""What an application shows where no user is signed in."""
CERTIFICATE: Final = "device-1"
"""Of the web application that authenticates by one: a name in the PKI of nginx."""
WEB_SECRET: Final = "a-secret-of-web-applications-that-is-long-enough-for-a-MAC"
TIMEOUT_MS: Final = 20_000
_FOLDER: Final = Path(__file__).parents[1] / "relying_parties/pages"
_PACKAGES: Final = Path(__file__).parents[1] / "clients/npm/node_modules"
_LIBRARIES: Final = {
    "/oidc-client-ts.js": _PACKAGES / "oidc-client-ts/dist/browser/oidc-client-ts.min.js",
    "/keycloak.js": _PACKAGES / "keycloak-js/lib/keycloak.js",
}
_OTHER_SITE: Final = "elsewhere.test"
_TRUST: Final = [
    "--ignore-certificate-errors",
    f"--host-resolver-rules=MAP {_OTHER_SITE} 127.0.0.1",
]
"""Without the attempt that fails first, which Playwright's own option makes."""
_TYPES: Final = {
    ".html": "text/html;charset=utf-8",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
}


@dataclass(slots=True)
class Origin:
    """Serves the pages of applications; `settings` is what they read as /settings.mjs."""

    url: str
    clients: Mapping[str, str]
    """The client of the application, by the library that it is written with."""
    settings: dict[str, Any] = field(default_factory=dict)

    def content(self, path: str) -> tuple[bytes, str] | None:
        """Return what is served at a path, and its media type."""
        if path == "/settings.mjs":
            settings = json.dumps(self.settings | {"clients": self.clients})
            return f"export default {settings};\n".encode(), _TYPES[".mjs"]
        file = _LIBRARIES.get(path, _FOLDER / path.rpartition("/")[2])
        return (file.read_bytes(), _TYPES[file.suffix]) if file.is_file() else None

    def page(self, library: str, query: str = "") -> str:
        """Return the address of the application that is written with a library."""
        return f"{self.url}/pages/{library}.html{query}"


@dataclass(frozen=True, slots=True)
class RelyingParties:
    """A gateway behind nginx, origins of pages, and a free port for web applications."""

    stack: Stack
    first: Origin
    second: Origin
    elsewhere: Origin
    """Its frames of the gateway are those of a third party."""
    web_port: int

    @property
    def issuer(self) -> str:
        return f"{self.stack.nginx.https}/realms/{REALM}"

    def userinfo(self, token: str) -> int:
        """Return the status with which the user's claims are answered."""
        return self.stack.userinfo(token, REALM).status_code

    def refresh(self, client_id: str, token: str) -> str:
        """Refresh with a token, as a client with a secret; return the error."""
        form = {"grant_type": "refresh_token", "client_id": client_id, "client_secret": WEB_SECRET}
        return str(self.stack.token(REALM, form | {"refresh_token": token}).json().get("error"))


@dataclass(frozen=True, slots=True)
class Chromium:
    """Debian's Chromium."""

    browser: Browser

    @contextmanager
    def new_context(self) -> Iterator[BrowserContext]:
        """Open a browser without cookies; fail if a page of it reports an error."""
        context = self.browser.new_context(locale="en")
        context.set_default_timeout(TIMEOUT_MS)
        failures: list[str] = []
        context.on("weberror", lambda failure: failures.append(str(failure.error)))
        yield context
        context.close()
        assert failures == []


@pytest.fixture(scope="session")
def relying_parties(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[RelyingParties]:
    """Run the gateway and the origins once for all libraries."""
    with ExitStack() as running:
        hosts = {"first": "localhost", "second": "localhost", "elsewhere": _OTHER_SITE}
        origins = first, second, elsewhere = [
            running.enter_context(_origin(edge_certificates, *named)) for named in hosts.items()
        ]
        web_port = free_port()
        stack = running.enter_context(
            start_stack(
                tmp_path_factory.mktemp("relying"),
                edge_certificates,
                realms=[_realm(origins, f"https://localhost:{web_port}")],
                fetch_networks="127.0.0.1,::1",
                fetch_ca_file=edge_certificates.folder / "ca.crt",
            )
        )
        found = RelyingParties(stack, first, second, elsewhere, web_port)
        for origin in origins:
            origin.settings |= {
                "url": stack.nginx.https,
                "realm": REALM,
                "issuer": found.issuer,
            }
        yield found


@pytest.fixture(scope="module")
def chromium_browser() -> Iterator[Chromium]:
    """Start Chromium once for the tests of a module."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=[*FLAGS, *_TRUST])
        yield Chromium(started)
        started.close()


@pytest.fixture
def user_browser(chromium_browser: Chromium) -> Iterator[BrowserContext]:
    """Open a browser without cookies."""
    with chromium_browser.new_context() as context:
        yield context


@contextmanager
def new_page(browser: Browser) -> Iterator[Page]:
    """Open a page of a browser without cookies, which trusts every certificate."""
    context = browser.new_context(ignore_https_errors=True, locale="en")
    context.set_default_timeout(TIMEOUT_MS)
    yield context.new_page()
    context.close()


def sign_in(page: Page, username: str) -> None:
    """Fill in the page of the gateway."""
    page.fill("#username", username)
    page.fill("#password", PASSWORD)
    page.click("#kc-login")


def expect_user(page: Page, username: str) -> None:
    """Wait until the application shows who is signed in."""
    expect(page.locator("#user, #failure").filter(has_text=re.compile("."))).to_have_text(
        username, timeout=TIMEOUT_MS
    )


@contextmanager
def _origin(certificates: EdgeCertificates, name: str, host: str) -> Iterator[Origin]:
    """Serve pages on a free port until the end of the block."""
    clients = {library: f"{name}-{library}" for library in ("oidc-client-ts", "keycloak-js")}
    origin = Origin("", clients)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Serve a file, or the settings."""
            found = origin.content(urlsplit(self.path).path)
            body, kind = found or (b"", "text/plain")
            self.send_response(HTTPStatus.OK if found else HTTPStatus.NOT_FOUND)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    pair = certificates.pair("server")
    context.load_cert_chain(f"{pair}.crt", f"{pair}.key")
    # The handshake waits for the thread of the connection: Chromium opens some that it never uses.
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    origin.url = f"https://{host}:{server.server_port}"
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield origin
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _realm(origins: Sequence[Origin], web: str) -> dict[str, Any]:
    return {
        "realm": REALM,
        "enabled": True,
        "sslRequired": "all",
        "passwordPolicy": CHEAP,
        "revokeRefreshToken": True,
        "refreshTokenMaxReuse": 0,
        "registrationAllowed": True,
        "clients": [*chain.from_iterable(map(_page_clients, origins)), *_web_clients(web)],
        "users": [user("ada")],
    }


def _page_clients(origin: Origin) -> Iterator[dict[str, Any]]:
    for library, client_id in origin.clients.items():
        page = {"redirectUris": [f"{origin.url}/pages/*"], "webOrigins": ["+"]}
        fields = page | {"publicClient": True, "implicitFlowEnabled": True}
        yield _client(client_id, **fields, **_front_channel(origin, library))


def _front_channel(origin: Origin, library: str) -> dict[str, Any]:
    if library != "oidc-client-ts":
        return {}
    url = origin.page(library, "?logout")
    return {"frontchannelLogout": True, "attributes": {"frontchannel.logout.url": url}}


def _web_clients(web: str) -> Iterator[dict[str, Any]]:
    def told(name: str) -> dict[str, str]:
        return {
            "backchannel.logout.url": f"{web}/{name}/backchannel-logout",
            "backchannel.logout.session.required": "true",
        }

    portal = _web_client("portal", web, **told("portal"))
    yield portal | {"protocolMappers": [audience("portal")]}
    yield _web_client("reports", web, **told("reports"))
    yield _web_client(
        *("signing", web, "client-jwt"),
        **{
            "use.jwks.url": "true",
            "jwks.url": f"{web}/signing/keys",
            "require.pushed.authorization.requests": "true",
            "request.object.required": "request",
            "request.object.signature.alg": "ES256",
        },
    )
    yield _web_client("signed-answer", web, "client-secret-jwt")
    yield _web_client("hybrid", web) | {"implicitFlowEnabled": True}
    yield _web_client(
        *("bound", web, "client-x509"),
        **{
            "x509.subjectdn": DEVICE_SUBJECT,
            "x509.allow.regex.pattern.comparison": "false",
            **BOUND,
        },
    )
    device = {
        "oauth2.device.authorization.grant.enabled": "true",
        "oauth2.device.polling.interval": "1",
    }
    yield _client("terminal", publicClient=True, standardFlowEnabled=False, attributes=device)


def _web_client(
    name: str, web: str, authenticator: str = "client-secret", **attributes: str
) -> dict[str, Any]:
    return _client(
        name,
        secret=WEB_SECRET,
        redirectUris=[f"{web}/{name}/callback"],
        clientAuthenticatorType=authenticator,
        attributes={
            "pkce.code.challenge.method": "S256",
            "post.logout.redirect.uris": f"{web}/{name}/signed-out",
            **attributes,
        },
    )


def _client(client_id: str, **fields: Any) -> dict[str, Any]:
    return {"clientId": client_id, "enabled": True} | fields
