"""How long a browser stays signed in at a protected site, on a gateway whose clock is set.

The session of a site lasts with the user session of the realm, which requests move.
Spec: 2.1 (session settings)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pytest

from gateway.domain.clock import CLOCK_LEEWAY
from tests.support.administered_realm import SIGN_IN, AdministeredRealm, administered_realm
from tests.support.edge_certificates import EdgeCertificates
from tests.support.nginx import make_prefix, start_nginx
from tests.support.protected_sites import HOST, Protected, protecting_source
from tests.support.recording_upstream import recording_upstream
from tests.support.site_browser import SiteBrowser
from tests.support.timed_gateway import Timed
from tests.support.wire import PASSWORD, app, user

_LEEWAY: Final = int(CLOCK_LEEWAY.total_seconds())
"""A session is kept for so long beyond its end: the clock of another gateway may have set it."""
_MAXIMUM: Final = 10_000
_SETTINGS: Final = {
    "ssoSessionIdleTimeout": 600,
    "ssoSessionMaxLifespan": _MAXIMUM,
    "rememberMe": True,
}


@dataclass(frozen=True, slots=True)
class Lasting:
    """The site, its realm, and the time."""

    timed: Timed
    realm: AdministeredRealm
    protected: Protected

    def set(self, **settings: int) -> None:
        """Change settings of the realm over the admin API."""
        self.realm.change("PUT", "", settings)

    def signed_in(self, **fields: str) -> SiteBrowser:
        """Return a browser in which ada signed in at the site."""
        browser = SiteBrowser(self.protected)
        page = browser.submit(browser.visit(), username="ada", password=PASSWORD, **fields)
        assert page.status == 200, page.text
        return browser

    def stays(self, browser: SiteBrowser, after: float) -> bool:
        """Let seconds pass, and send a request to the site."""
        self.timed.advance(seconds=after)
        return browser.is_signed_in()

    def last_access(self) -> float:
        """Return when ada's only session was moved last, in seconds after 1970."""
        (found,) = self.realm.get("users?username=ada&exact=true")
        (session,) = self.realm.get(f"users/{found['id']}/sessions")
        return float(session["lastAccess"]) / 1000


@pytest.fixture(scope="module")
def _lasting(
    tmp_path_factory: pytest.TempPathFactory, timed: Timed, edge_certificates: EdgeCertificates
) -> Iterator[Lasting]:
    folder = make_prefix(tmp_path_factory.mktemp("lasting-sites"))
    gateway = timed.administration.gateway
    portal = app("portal", redirectUris=["https://*"])
    settings = {**SIGN_IN, **_SETTINGS, "clients": [portal], "users": [user("ada")]}
    rules = [
        {"name": "offline", "paths": ["/offline/*"], "scopes": ["offline_access"]},
        {"name": "all", "paths": ["/*"]},
    ]
    with (
        administered_realm(timed.administration, "timed-sites", {}, **settings) as realm,
        recording_upstream(folder / "run/service.sock") as service,
        start_nginx(
            folder,
            edge_certificates.folder,
            [f"unix:{gateway.socket}"],
            source=protecting_source(folder, f"http://{service.address}", servers=[HOST]),
            public_urls=("https://gateway.test",),
        ) as nginx,
    ):
        site = {"name": "timed", "hosts": [HOST], "client": "portal", "rules": rules}
        realm.change("POST", "guard/sites", site)
        protected = Protected(nginx, gateway, timed.administration, service, edge_certificates)
        yield Lasting(timed, realm, protected)


@pytest.fixture
def lasting(_lasting: Lasting) -> Iterator[Lasting]:
    """Return the site; settings of its realm are put back, and its sessions ended."""
    before = _lasting.realm.get("")
    yield _lasting
    _lasting.realm.change("PUT", "", before)
    _lasting.realm.change("POST", "logout-all")


def test_requests_move_the_idle_timeout(lasting: Lasting) -> None:
    browser = lasting.signed_in()
    for _ in range(4):
        assert lasting.stays(browser, after=599)
    assert not lasting.stays(browser, after=600 + _LEEWAY)


def test_requests_move_it_once_a_minute_at_most(lasting: Lasting) -> None:
    browser = lasting.signed_in()
    began = lasting.last_access()
    assert lasting.stays(browser, after=59)
    assert lasting.last_access() == began
    assert lasting.stays(browser, after=1)
    assert lasting.last_access() == began + 60
    assert lasting.stays(browser, after=59)
    assert not lasting.stays(browser, after=541 + _LEEWAY), "the request before has not moved it"


def test_a_session_in_use_ends_at_its_maximum(lasting: Lasting) -> None:
    lasting.set(ssoSessionMaxLifespan=1500)
    browser = lasting.signed_in()
    for _ in range(3):
        assert lasting.stays(browser, after=499)
    assert not lasting.stays(browser, after=3 + _LEEWAY)


def test_remember_me_lengthens_the_idle_timeout(lasting: Lasting) -> None:
    lasting.set(ssoSessionIdleTimeoutRememberMe=3000)
    remembered, other = lasting.signed_in(rememberMe="on"), lasting.signed_in()
    assert lasting.stays(remembered, after=2999)
    assert not lasting.stays(other, after=0)
    assert not lasting.stays(remembered, after=3000 + _LEEWAY)


def test_remember_me_lengthens_the_maximum(lasting: Lasting) -> None:
    limits = {"ssoSessionMaxLifespan": 700, "ssoSessionMaxLifespanRememberMe": 1500}
    lasting.set(**limits, ssoSessionIdleTimeout=2000)
    remembered, other = lasting.signed_in(rememberMe="on"), lasting.signed_in()
    for browser in (remembered, other):
        assert lasting.stays(browser, after=250)
    assert lasting.stays(remembered, after=500 + _LEEWAY)
    assert not lasting.stays(other, after=0)
    assert not lasting.stays(remembered, after=500 + _LEEWAY)


@pytest.mark.parametrize(
    ("setting", "requests"), [("clientSessionIdleTimeout", 1), ("clientSessionMaxLifespan", 3)]
)
def test_the_limits_of_a_clients_part_of_the_session_end_it_too(
    lasting: Lasting, setting: str, requests: int
) -> None:
    lasting.set(**{setting: 300})
    browser = lasting.signed_in()
    for _ in range(requests - 1):
        assert lasting.stays(browser, after=100)
    assert not lasting.stays(browser, after=400 - requests * 100 + _LEEWAY)


def test_the_session_of_a_site_is_never_an_offline_session(lasting: Lasting) -> None:
    """Also where a rule requires the scope: the user's own session decides."""
    browser = lasting.signed_in()
    page = browser.visit(f"https://{HOST}/offline/1")
    assert page.status == 200
    (found,) = lasting.realm.get("users?username=ada&exact=true")
    (client,) = lasting.realm.get("clients?clientId=portal")
    offline = lasting.realm.get(f"users/{found['id']}/offline-sessions/{client['id']}")
    assert offline == []
    assert not lasting.stays(browser, after=600 + _LEEWAY)
