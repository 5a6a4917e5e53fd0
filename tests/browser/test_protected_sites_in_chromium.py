"""A protected site in Debian's Chromium: sign-in, return, pages, sign-out.

Chromium resolves the names of the site and of the gateway to the real nginx.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from scripts.sign_in_pages import FLAGS, chromium
from tests.support.edge_certificates import EdgeCertificates
from tests.support.protected_sites import HOST, Protected, start_protected
from tests.support.recording_upstream import RecordingUpstream
from tests.support.sign_in_browser import PUBLIC_URL
from tests.support.wire import PASSWORD

HOME: Final = f"https://{HOST}/home/"
_GATEWAY: Final = PUBLIC_URL.removeprefix("https://")
_PATIENCE: Final = 20_000
_FORM: Final = """<!doctype html><link rel="icon" href="data:,"><h1>Notes</h1>
<form method="post" action="/home/save">
<textarea name="text"></textarea><button>Save</button>
</form>"""


@dataclass(frozen=True, slots=True)
class Site:
    """The site, and the browser."""

    protected: Protected
    browser: Browser

    @property
    def service(self) -> RecordingUpstream:
        return self.protected.service

    @contextmanager
    def page(self, *, scripts: bool = True) -> Iterator[Page]:
        """Open a browser that has never been here; forget what the service received."""
        self.service.forget()
        self.service.responses["/home/edit"] = _html(_FORM)
        self.service.responses["/home/save"] = _html("<h1>Saved</h1>")
        self.service.responses["/home/"] = _html("<h1>Home</h1>")
        self.service.responses["/admin"] = _html("<h1>Administration</h1>")
        context = self.browser.new_context(ignore_https_errors=True, java_script_enabled=scripts)
        context.set_default_timeout(_PATIENCE)
        yield context.new_page()
        context.close()


def _html(text: str) -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[Site]:
    """Run the site and Chromium once."""
    folder = tmp_path_factory.mktemp("protected-in-chromium")
    with start_protected(folder, edge_certificates) as protected, sync_playwright() as playwright:
        port = protected.nginx.site.https_port
        mapped = ",".join(f"MAP {host}:443 127.0.0.1:{port}" for host in (HOST, _GATEWAY))
        started = playwright.chromium.launch(
            executable_path=chromium(), args=[*FLAGS, f"--host-resolver-rules={mapped}"]
        )
        yield Site(protected, started)
        started.close()


def _log_in(page: Page, username: str) -> None:
    page.fill("#username", username)
    page.fill("#password", PASSWORD)
    page.click("#kc-login")


@pytest.mark.parametrize("scripts", [True, False], ids=["with", "without"])
def test_a_person_signs_in_and_returns(site: Site, *, scripts: bool) -> None:
    with site.page(scripts=scripts) as page:
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.goto(f"{HOME}edit")
        _log_in(page, "ada")
        expect(page.locator("h1")).to_have_text("Notes")
        assert page.url == f"{HOME}edit"
        assert site.service.last.all("Remote-User") == ["ada"]
        assert said == []


def test_a_form_whose_session_has_ended_is_not_lost(site: Site) -> None:
    """The user signs in in another tab, reloads, and the browser sends the form again."""
    with site.page() as page:
        page.goto(f"{HOME}edit")
        _log_in(page, "ada")
        page.fill("textarea", "much work")
        page.context.clear_cookies()
        site.service.received.clear()
        page.click("text=Save")
        expect(page.locator("#kc-page-title")).to_have_text("Your session has ended")
        assert site.service.received == []
        page.wait_for_load_state("load")
        assert page.evaluate("document.styleSheets[0].cssRules.length") > 0
        with page.context.expect_page() as opened:
            page.click("#sign-in-new-tab")
        tab = opened.value
        _log_in(tab, "ada")
        expect(tab.locator("h1")).to_have_text("Notes")
        assert tab.url == f"{HOME}edit"
        page.reload()
        expect(page.locator("h1")).to_have_text("Saved")
        assert site.service.last.body == b"text=much+work"


def test_a_person_without_access_signs_in_as_another_user(site: Site) -> None:
    with site.page(scripts=False) as page:
        page.goto(f"https://{HOST}/admin")
        _log_in(page, "bob")
        expect(page.locator("#signed-in-as")).to_have_text("You are signed in as bob.")
        page.click("#kc-switch-user")
        _log_in(page, "ada")
        expect(page.locator("h1")).to_have_text("Administration")


def test_a_person_signs_out_of_the_site_and_of_the_realm(site: Site) -> None:
    with site.page(scripts=False) as page:
        page.goto(HOME)
        _log_in(page, "ada")
        page.goto(f"https://{HOST}/.realmgate/sign-out")
        page.click("#kc-logout")
        expect(page.locator("#kc-page-title")).to_have_text("You are signed out")
        page.goto(HOME)
        expect(page.locator("#password")).to_be_visible()


def test_a_failed_sign_in_can_be_tried_again(site: Site) -> None:
    with site.page(scripts=False) as page:
        page.goto(HOME)
        page.goto(f"https://{HOST}/.realmgate/callback?state=unknown&code=unknown")
        expect(page.locator("#kc-page-title")).to_have_text("Sign-in failed")
        page.click("#try-again")
        _log_in(page, "ada")
        page.wait_for_url(f"https://{HOST}/")
