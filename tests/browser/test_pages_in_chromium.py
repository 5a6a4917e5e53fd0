"""The pages in Debian's Chromium: WCAG 2.2 by axe, the keyboard, with and without JavaScript."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, sync_playwright

from gateway.http.pages.theme_check import SAMPLES
from scripts.sign_in_pages import FLAGS, PageServer, chromium, demo_realm, serve_samples

AXE: Final = Path(__file__).parents[1] / "clients/npm/node_modules/axe-core/axe.min.js"
TAGS: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PHONE: Final = {"width": 390, "height": 844}
DESKTOP: Final = {"width": 1280, "height": 800}
OTHERS: Final = "https://*.example.com/**"
"""Clients of the samples."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start Chromium once."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture(scope="module")
def pages() -> Iterator[PageServer]:
    """Serve the samples, for a realm with a color of its own."""
    server = serve_samples(demo_realm(**{"realmgate.login.accentColor": "#e4572e"}))
    yield server
    server.close()


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """Open a page where axe can run; its own script is not needed."""
    context = _context(browser)
    yield context.new_page()
    context.close()


def _context(browser: Browser, *, scripts: bool = True) -> BrowserContext:
    context = browser.new_context(java_script_enabled=scripts, reduced_motion="reduce")
    context.set_default_timeout(20_000)
    context.route(OTHERS, _answer)
    return context


def _answer(route: Route) -> None:
    route.fulfill(status=200, content_type="text/html", body="<title>client</title>")


def _violations(page: Page) -> list[str]:
    options = {"runOnly": {"type": "tag", "values": TAGS}, "resultTypes": ["violations"]}
    found: dict[str, Any] = page.evaluate(
        "(options) => axe.run(document, options)", {**options, "elementRef": False}
    )
    return [
        f"{rule['id']}: {node['target']} {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


def _open(page: Page, url: str) -> None:
    # The two pages with a script would leave at once.
    page.route("**/proceed.js", lambda route: route.fulfill(body=""))
    page.goto(url)
    page.evaluate(AXE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SAMPLES)
def test_axe_finds_nothing_in_any_scheme_direction_and_width(
    page: Page, pages: PageServer, name: str
) -> None:
    """Axe sees each of them once, in two pages; widths are measured in each direction."""
    variants = {"en": ((PHONE, DESKTOP), "light"), "ar": ((DESKTOP, PHONE), "dark")}
    for locale, (sizes, scheme) in variants.items():
        _open(page, f"{pages.url}/{name}?locale={locale}")
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for size in sizes:
            page.set_viewport_size(size)  # type: ignore[arg-type]
            wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
            assert not wide, (locale, scheme, size)
        assert _violations(page) == [], (locale, scheme, sizes[-1])


def test_axe_would_find_something(page: Page, pages: PageServer) -> None:
    _open(page, f"{pages.url}/login")
    page.evaluate("document.querySelector('label').remove()")
    assert any(found.startswith("label:") for found in _violations(page))


def test_the_keyboard_leads_from_the_name_to_the_button(page: Page, pages: PageServer) -> None:
    page.goto(f"{pages.url}/login")
    found = []
    for _ in range(4):
        found.append(page.evaluate("document.activeElement.id"))
        page.keyboard.press("Tab")
    # The button after the password shows it.
    assert [each for each in found if each] == ["username", "password", "rememberMe"]
    page.focus("#password")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "reveal"
    page.focus("#kc-login")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


@pytest.mark.parametrize(
    ("logo", "proportion"),
    [
        ("data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='90' height='30'/>", 3),
        ("data:image/png;base64,no-picture", 0),
    ],
    ids=["wide", "broken"],
)
def test_the_logo_of_a_client_keeps_its_proportions(
    page: Page, pages: PageServer, logo: str, proportion: int
) -> None:
    """It has to be recognized. OpenID Connect Dynamic Client Registration §2 (`logo_uri`)."""
    page.goto(f"{pages.url}/login")
    page.evaluate(
        """logo => new Promise(done => {
            const image = document.querySelector(".client-logo");
            image.onload = image.onerror = done;
            image.src = logo;
        })""",
        logo,
    )
    box = page.locator(".client-logo").bounding_box()
    assert box is not None
    assert (box["width"], box["height"]) == (24 * proportion, 24)


def test_nothing_is_blocked_by_the_policies(browser: Browser, pages: PageServer) -> None:
    context = _context(browser)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    for name in ("login-failed", "consent", "frontchannel-logout", "form-post"):
        page.goto(f"{pages.url}/{name}")
        page.wait_for_load_state("networkidle")
    context.close()
    assert said == []


@pytest.mark.parametrize("scripts", [True, False], ids=["with", "without"])
def test_form_post_reaches_the_client(
    browser: Browser, pages: PageServer, *, scripts: bool
) -> None:
    """A script sends the form; without one the user presses the button."""
    context = _context(browser, scripts=scripts)
    page = context.new_page()
    with page.expect_request("https://portal.example.com/callback") as sent:
        page.goto(f"{pages.url}/form-post", wait_until="commit")
        if not scripts:
            page.click("#continue")
    assert sent.value.post_data == "code=c&state=s"
    context.close()


@pytest.mark.parametrize("scripts", [True, False], ids=["with", "without"])
def test_a_front_channel_logout_loads_the_frames_and_goes_on(
    browser: Browser, pages: PageServer, *, scripts: bool
) -> None:
    context = _context(browser, scripts=scripts)
    page = context.new_page()
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    with page.expect_request("https://portal.example.com/"):
        page.goto(f"{pages.url}/frontchannel-logout", wait_until="commit" if scripts else "load")
        if not scripts:
            page.click("#continue")
    assert "https://portal.example.com/logout?sid=1" in loaded
    assert "https://mail.example.com/logout?sid=1" in loaded
    context.close()


def test_pages_are_complete_without_javascript(browser: Browser, pages: PageServer) -> None:
    context = _context(browser, scripts=False)
    page = context.new_page()
    page.goto(f"{pages.url}/login?locale=fr")
    page.click("#kc-current-locale-link")
    page.click("#language-switch1 a[lang=ar]")
    assert page.get_attribute("html", "dir") == "rtl"
    page.fill("#username", "ann")
    page.fill("#password", "secret")
    page.check("#rememberMe")
    with page.expect_request(lambda request: request.method == "POST") as sent:
        page.click("#kc-login")
    assert sent.value.post_data == "username=ann&password=secret&rememberMe=on&credentialId=&login="
    context.close()


@pytest.mark.parametrize("name", ["login", "login-password", "login-update-password", "register"])
def test_a_password_is_shown_and_sent_as_a_password(
    browser: Browser, pages: PageServer, name: str
) -> None:
    context = _context(browser)
    page = context.new_page()
    page.goto(f"{pages.url}/{name}")
    buttons = page.locator("button.reveal")
    assert buttons.count() == page.locator("input[type=password]").count() > 0
    for button in buttons.all():
        field = page.locator(f"#{button.get_attribute('aria-controls')}")
        field.fill("A secret 1")
        button.focus()
        page.keyboard.press("Enter")
        assert (field.get_attribute("type"), field.input_value()) == ("text", "A secret 1")
        assert button.get_attribute("aria-pressed") == "true"
    page.evaluate(
        """() => document.addEventListener("submit", (event) => {
            window.types = [...document.querySelectorAll(".secret input")].map((one) => one.type);
            event.preventDefault();
        })"""
    )
    page.click("button[type=submit]")
    assert set(page.evaluate("window.types")) == {"password"}
    context.close()


def test_without_javascript_no_button_shows_a_password(browser: Browser, pages: PageServer) -> None:
    context = _context(browser, scripts=False)
    page = context.new_page()
    page.goto(f"{pages.url}/login")
    assert page.locator("button.reveal").is_hidden()
    page.goto(f"{pages.url}/login-config-totp")
    page.click("#mode-manual")
    assert page.locator("#kc-totp-copy").is_hidden()
    context.close()


def test_a_phone_opens_the_application_of_its_codes(browser: Browser, pages: PageServer) -> None:
    context = _context(browser)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.goto(f"{pages.url}/login-config-totp")
    page.wait_for_function("document.activeElement.id === 'totp' && scrollY === 0")
    assert page.locator("#kc-totp-open-application").is_visible()
    page.click("#mode-manual")
    page.click("#kc-totp-copy")
    page.locator("[data-copied]", has_text="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "ORSXG5BAON2WK4TUNFXGC3DMNFTWQ5A"
    page.set_viewport_size(DESKTOP)  # type: ignore[arg-type]
    page.goto(f"{pages.url}/login-config-totp")
    assert page.locator("#kc-totp-open-application").is_hidden()
    page.wait_for_function("document.activeElement.id === 'totp'")
    context.close()


@pytest.mark.parametrize("scripts", [True, False], ids=["with", "without"])
def test_times_are_those_of_the_browser(
    browser: Browser, pages: PageServer, *, scripts: bool
) -> None:
    """In its zone and the language of the page; without a script in UTC."""
    context = browser.new_context(java_script_enabled=scripts, timezone_id="America/New_York")
    page = context.new_page()
    page.goto(f"{pages.url}/account-devices?locale=de")
    shown = page.locator("time[datetime^='2026-03-04T09:41']").first
    text = shown.inner_text()
    if scripts:
        assert "4. März 2026" in text
        assert "04:41" in text
        assert "09:41" in (shown.get_attribute("title") or "")
    else:
        assert "09:41" in text
        assert text.endswith("UTC")
    context.close()


def test_the_keyboard_selects_another_way_without_javascript(
    browser: Browser, pages: PageServer
) -> None:
    context = _context(browser, scripts=False)
    page = context.new_page()
    page.goto(f"{pages.url}/login-otp")
    page.focus("#try-another-way")
    with page.expect_request(lambda request: request.method == "POST") as sent:
        page.keyboard.press("Enter")
    assert sent.value.post_data == "tryAnotherWay=on"
    page = context.new_page()  # the other one still follows the form
    page.goto(f"{pages.url}/select-authenticator")
    page.focus("#reset-login")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    with page.expect_request(lambda request: request.method == "POST") as sent:
        page.keyboard.press("Enter")
    assert sent.value.post_data == "authenticationExecution=password"
    context.close()


def test_the_scheme_is_right_from_the_first_paint(browser: Browser, pages: PageServer) -> None:
    """The style sheet is loaded before anything is shown, and the canvas follows the scheme."""
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto(f"{pages.url}/login")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(14, 17, 22)"
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light dark"
    context.close()
