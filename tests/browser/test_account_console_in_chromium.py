"""A user's way through the account console in Debian's Chromium, behind the real nginx over TLS."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyotp
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from scripts.sign_in_pages import FLAGS, chromium
from tests.support.edge_certificates import EdgeCertificates
from tests.support.spec_stack import Stack, start_stack
from tests.support.wire import CHEAP, PASSWORD, user

AXE: Final = Path(__file__).parents[1] / "clients/npm/node_modules/axe-core/axe.min.js"
TAGS: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PAGES: Final = ("Overview", "Personal info", "Signing in", "Devices", "Applications")
_PATIENCE: Final = 20_000


@dataclass(frozen=True, slots=True)
class Console:
    """The console of a realm, and the browser."""

    stack: Stack
    browser: Browser

    @property
    def url(self) -> str:
        return f"{self.stack.nginx.https}/realms/managed/account/"

    @contextmanager
    def page(self, **options: Any) -> Iterator[Page]:
        """Open a browser that has never been here."""
        context = self.browser.new_context(ignore_https_errors=True, locale="en", **options)
        context.set_default_timeout(_PATIENCE)
        yield context.new_page()
        context.close()

    def enter(self, page: Page, username: str) -> None:
        page.goto(self.url)
        page.fill("#username", username)
        page.fill("#password", PASSWORD)
        page.click("#kc-login")
        expect(page.locator("h1")).to_have_text("Overview")


@pytest.fixture(scope="module")
def console(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[Console]:
    """Run nginx, the gateway and Chromium once."""
    realm = {
        "realm": "managed",
        "displayName": "Example",
        "enabled": True,
        "passwordPolicy": CHEAP,
        "users": [user("ada"), user("key")],
    }
    folder = tmp_path_factory.mktemp("managed")
    with (
        start_stack(folder, edge_certificates, realms=[realm]) as stack,
        sync_playwright() as playwright,
    ):
        started = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield Console(stack, started)
        started.close()


def _open(page: Page, name: str) -> None:
    page.click(f"nav a:has-text('{name}')")
    expect(page.locator("h1")).to_have_text(name)
    expect(page.locator("nav [aria-current=page]")).to_have_text(name)


def _violations(page: Page) -> list[str]:
    page.evaluate(AXE.read_text(encoding="utf-8"))
    options = {"runOnly": {"type": "tag", "values": TAGS}, "resultTypes": ["violations"]}
    found = page.evaluate("(options) => axe.run(document, options)", options)
    return [
        f"{rule['id']}: {node['target']}" for rule in found["violations"] for node in rule["nodes"]
    ]


def test_a_user_manages_the_account(console: Console) -> None:
    """Profile, a device for one-time codes, another browser, sign out."""
    with console.page() as page, console.page(viewport={"width": 390, "height": 844}) as phone:
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        console.enter(page, "ada")
        for name in PAGES:
            _open(page, name)
            assert _violations(page) == [], name

        _open(page, "Personal info")
        page.fill("#firstName", "Adele")
        page.click("#account-save")
        expect(page.locator(".kc-feedback-text")).to_have_text("Your account has been updated.")
        expect(page.locator(".account-name bdi")).to_have_text("Adele Ada")

        _open(page, "Signing in")
        page.click("#otp-set-up")
        page.click("#mode-manual")
        secret = page.locator("#kc-totp-secret-key").inner_text().replace(" ", "")
        page.fill("#totp", pyotp.TOTP(secret).now())
        page.fill("#userLabel", "My phone")
        page.click("#saveTOTPBtn")
        expect(page.locator("h1")).to_have_text("Signing in")
        page.click("li:has-text('My phone') >> text=Remove")
        expect(page.locator("h1")).to_contain_text("My phone")
        page.click("[name=accept]")
        expect(page.locator(".kc-feedback-text")).to_have_text("Your account has been updated.")
        expect(page.locator("text=No authenticator app is set up.")).to_be_visible()

        console.enter(phone, "ada")
        assert not phone.evaluate("document.documentElement.scrollWidth > innerWidth")
        _open(page, "Devices")
        expect(page.locator(".badge")).to_have_text("This device")
        page.click("form.row-actions button")
        expect(page.locator(".kc-feedback-text")).to_have_text("The device has been signed out.")
        phone.reload()
        expect(phone.locator("#password")).to_be_visible()

        page.click("#account-sign-out button")
        expect(page.locator("h1")).to_have_text("You are signed out")
        page.goto(console.url)
        expect(page.locator("#password")).to_be_visible()
        assert said == []


def test_the_keyboard_reaches_everything_and_shows_where_it_is(console: Console) -> None:
    with console.page() as page:
        console.enter(page, "key")
        page.keyboard.press("Tab")
        skip = page.locator(".skip")
        expect(skip).to_be_focused()
        assert (skip.bounding_box() or {"width": 0})["width"] > 40
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash") == "#content"
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('main') !== null")
        _open(page, "Personal info")
        page.reload()
        reached = []
        for _ in range(14):
            page.keyboard.press("Tab")
            reached.append(
                page.evaluate(
                    "[document.activeElement.matches('body') ? ''"
                    " : document.activeElement.innerText || document.activeElement.id,"
                    " getComputedStyle(document.activeElement).outlineStyle]"
                )
            )
        names = [name for name, _ in reached]
        assert names[1:7] == ["Sign out", *PAGES]
        assert {"firstName", "lastName", "Save"} <= set(names)
        assert {outline for name, outline in reached if name} == {"solid"}
