"""Sites of Debian's Apache behind mod_auth_openidc, unmodified, with users in Chromium.

`portal` has a secret and learns of the end of a session by a frame, `shop` signs assertions and
receives logout tokens, `notices` takes an ID token from the authorization endpoint.
OpenID Connect Front-Channel Logout §2, Back-Channel Logout §2.5, RP-Initiated Logout §2
"""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from playwright.sync_api import Browser, Page, expect, sync_playwright

from scripts.sign_in_pages import FLAGS, chromium
from tests.support.apache import apache_folder, start_apache
from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_process import until
from tests.support.ports import free_ports
from tests.support.relying_parties import TIMEOUT_MS, new_page
from tests.support.spec_stack import start_stack
from tests.support.wire import CHEAP, PASSWORD, SECRET, claims_of, user

_GUIDE: Final = Path(__file__).parents[2] / "docs/protecting-a-service.md"
_NAMES: Final = ("portal", "shop", "notices")
_PAGE: Final = """<!doctype html><title>Members</title>
<p id="user"><!--#echo var="REMOTE_USER" --></p>
<p id="email"><!--#echo var="OIDC_CLAIM_email" --></p>
<p id="roles"><!--#echo var="OIDC_CLAIM_roles" --></p>
"""
_PAGES: Final = {
    "members/index.shtml": _PAGE,
    "editors/index.shtml": _PAGE,
    "goodbye.html": "<!doctype html><title>Goodbye</title><h1>Goodbye</h1>",
}
_DOCUMENTED: Final = re.compile(r"    OIDCProviderMetadataURL .*?</Location>\n\n", re.DOTALL)
_ALSO: Final = """
    OIDCCABundlePath {folder}/ca.crt
    OIDCCookie session_of_{name}
    OIDCStateCookiePrefix sign_in_of_{name}_
    OIDCInfoHook access_token id_token
"""
"""The sites are ports of one host, for which a browser keeps the cookies together."""
_OTHERS: Final = {
    "portal": "",
    "shop": """
    OIDCPublicKeyFiles shop#{folder}/shop.pub
    OIDCPrivateKeyFiles shop#{folder}/shop.key
    OIDCProviderTokenEndpointAuth private_key_jwt
    OIDCResponseMode form_post
""",
    "notices": """
    OIDCResponseType id_token
    OIDCResponseMode form_post
""",
}


@dataclass(frozen=True, slots=True)
class Sites:
    """The sites by name, and the browser."""

    urls: dict[str, str]
    browser: Browser

    def page(self) -> AbstractContextManager[Page]:
        """Open a page of a browser without cookies."""
        return new_page(self.browser)

    def members(self, name: str) -> str:
        return f"{self.urls[name]}/members/"

    def goodbye(self, name: str) -> str:
        return f"{self.urls[name]}/goodbye.html"

    def hook(self, name: str, query: str) -> str:
        """Return a URL that mod_auth_openidc itself answers."""
        return f"{self.urls[name]}/members/callback?{query}"


def _realm(urls: dict[str, str]) -> dict[str, Any]:
    def client(name: str, **fields: Any) -> dict[str, Any]:
        attributes = {
            "pkce.code.challenge.method": "" if name == "notices" else "S256",
            "post.logout.redirect.uris": f"{urls[name]}/goodbye.html",
        }
        return {
            "clientId": name,
            "enabled": True,
            "secret": SECRET,
            "redirectUris": [f"{urls[name]}/members/callback"],
            "protocolMappers": [_roles_mapper()],
        } | {**fields, "attributes": {**attributes, **fields.get("attributes", {})}}

    framed = {"frontchannel.logout.url": f"{urls['portal']}/members/callback?logout=get"}
    notified = {
        "backchannel.logout.url": f"{urls['shop']}/members/callback?logout=backchannel",
        "backchannel.logout.session.required": "true",
        "use.jwks.url": "true",
        "jwks.url": f"{urls['shop']}/members/callback?jwks=rsa",
    }
    return {
        "realm": "sites",
        "enabled": True,
        "passwordPolicy": CHEAP,
        "roles": {"realm": [{"name": "editor"}]},
        "clients": [
            client("portal", frontchannelLogout=True, attributes=framed),
            client("shop", clientAuthenticatorType="client-jwt", attributes=notified),
            client("notices", implicitFlowEnabled=True, standardFlowEnabled=False),
        ],
        "users": [user("ada", realmRoles=["editor"]), user("bert")],
    }


def _roles_mapper() -> dict[str, Any]:
    config = {
        "claim.name": "roles",
        "multivalued": "true",
        "jsonType.label": "String",
        "id.token.claim": "true",
    }
    return {
        "name": "roles",
        "protocol": "openid-connect",
        "protocolMapper": "oidc-usermodel-realm-role-mapper",
        "config": config,
    }


@pytest.fixture(scope="module")
def sites(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[Sites]:
    """Run nginx, the gateway, Apache and Chromium once."""
    ports = dict(zip(_NAMES, free_ports(len(_NAMES)), strict=True))
    urls = {name: f"https://localhost:{port}" for name, port in ports.items()}
    with ExitStack() as running:
        stack = running.enter_context(
            start_stack(
                tmp_path_factory.mktemp("sites"),
                edge_certificates,
                realms=[_realm(urls)],
                fetch_networks="127.0.0.1",
                fetch_ca_file=edge_certificates.folder / "ca.crt",
            )
        )
        folder = running.enter_context(apache_folder(edge_certificates.folder))
        _write_key(folder / "shop.key", folder / "shop.pub")
        issuer = f"{stack.nginx.https}/realms/sites"
        directives = {
            port: _directives(name, urls[name], issuer, folder) for name, port in ports.items()
        }
        running.enter_context(start_apache(folder, directives, _PAGES))
        playwright = running.enter_context(sync_playwright())
        expect.set_options(timeout=TIMEOUT_MS)
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        running.callback(browser.close)
        yield Sites(urls, browser)


def _directives(name: str, url: str, issuer: str, folder: Path) -> str:
    """Return the configuration in the documentation, for this site, and what else it has."""
    found = _DOCUMENTED.search(_GUIDE.read_text())
    assert found is not None, f"{_GUIDE} has no configuration"
    text = found.group()
    for documented, used in (
        ("https://id.example.org/realms/demo", issuer),
        ("https://www.example.org", url),
        ("OIDCClientID portal", f"OIDCClientID {name}"),
        ("the-secret-of-the-client", SECRET),
        ("a-long-random-text", f"of-{name}-and-this-test"),
    ):
        assert documented in text, documented
        text = text.replace(documented, used)
    return text + (_ALSO + _OTHERS[name]).format(name=name, folder=folder)


def _write_key(private: Path, public: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    )
    public.write_bytes(
        key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )


def _sign_in(page: Page, url: str, username: str = "ada") -> None:
    page.goto(url)
    page.fill("#username", username)
    page.fill("#password", PASSWORD)
    page.click("#kc-login")
    expect(page.locator("#user")).to_have_text(username)


def _shown(page: Page, name: str) -> str:
    return page.locator(f"#{name}").inner_text()


def _tokens(sites: Sites, page: Page, name: str) -> dict[str, Any]:
    """Return the tokens that the site keeps for the browser."""
    found: dict[str, Any] = page.request.get(sites.hook(name, "info=json")).json()
    return found


def _is_signed_in(sites: Sites, page: Page, name: str) -> bool:
    """Tell whether the site has a session of the browser, without signing in again."""
    response = page.request.get(sites.members(name), max_redirects=0)
    assert response.status in {200, 302}, response.text()
    return response.status == 200


def _log_out(sites: Sites, page: Page, name: str) -> None:
    page.goto(sites.hook(name, f"logout={quote(sites.goodbye(name), safe='')}"))
    expect(page.locator("h1")).to_have_text("Goodbye")


@pytest.mark.parametrize("name", _NAMES)
def test_a_user_signs_in_and_the_site_gets_the_claims(sites: Sites, name: str) -> None:
    with sites.page() as page:
        _sign_in(page, sites.members(name))
        assert _shown(page, "email") == "ada@example.test"
        assert "editor" in _shown(page, "roles").split(",")
        assert page.url == sites.members(name)


def test_roles_open_a_part_of_the_site(sites: Sites) -> None:
    editors = f"{sites.urls['portal']}/editors/"
    with sites.page() as page:
        _sign_in(page, editors)
    with sites.page() as page:
        _sign_in(page, sites.members("portal"), "bert")
        assert page.request.get(editors).status == 401


def test_the_next_sites_ask_for_no_password(sites: Sites) -> None:
    with sites.page() as page:
        _sign_in(page, sites.members("portal"))
        sessions = set()
        for name in _NAMES:
            page.goto(sites.members(name))
            expect(page.locator("#user")).to_have_text("ada")
            sessions.add(_tokens(sites, page, name)["id_token"]["sid"])
        assert len(sessions) == 1


def test_sites_refresh_their_tokens(sites: Sites) -> None:
    """With a secret, and with a signed assertion."""
    with sites.page() as page:
        _sign_in(page, sites.members("portal"))
        page.goto(sites.members("shop"))
        expect(page.locator("#user")).to_have_text("ada")
        for name in ("portal", "shop"):
            first = _tokens(sites, page, name)["access_token"]
            query = urlencode({"refresh": sites.members(name), "access_token": first})
            page.goto(sites.hook(name, query))
            assert page.url == sites.members(name)
            second = _tokens(sites, page, name)["access_token"]
            assert second != first
            assert claims_of(second)["sid"] == claims_of(first)["sid"]


def test_a_frame_logs_out_at_the_other_site(sites: Sites) -> None:
    with sites.page() as page:
        _sign_in(page, sites.members("portal"))
        page.goto(sites.members("shop"))
        assert _is_signed_in(sites, page, "portal")
        _log_out(sites, page, "shop")
        assert page.url == sites.goodbye("shop")
        assert not _is_signed_in(sites, page, "shop")
        assert not _is_signed_in(sites, page, "portal")
        page.goto(sites.members("portal"))
        expect(page.locator("#password")).to_be_visible()


def test_a_logout_token_ends_the_session_at_the_other_site(sites: Sites) -> None:
    with sites.page() as page, sites.page() as other:
        _sign_in(other, sites.members("shop"))
        _sign_in(page, sites.members("shop"))
        page.goto(sites.members("portal"))
        assert _is_signed_in(sites, page, "shop")
        _log_out(sites, page, "portal")
        until(lambda: not _is_signed_in(sites, page, "shop"), "the shop got no logout token", 20)
        page.goto(sites.members("shop"))
        expect(page.locator("#password")).to_be_visible()
        assert _is_signed_in(sites, other, "shop")


def test_a_site_without_tokens_logs_out_everywhere(sites: Sites) -> None:
    """The hint is the ID token that came from the authorization endpoint."""
    with sites.page() as page:
        _sign_in(page, sites.members("portal"))
        page.goto(sites.members("notices"))
        _log_out(sites, page, "notices")
        assert not _is_signed_in(sites, page, "portal")
