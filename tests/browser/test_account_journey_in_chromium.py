"""What a user does with an account, in Debian's Chromium behind the real nginx over TLS.

Registration, verification of the address, a device for one-time codes, a passkey, sign-in, recovery
after the loss of the phone, and the end of the session that the phone still has. The mails come
from a real SMTP server. Keycloak: 12.10 to 12.12

The pictures of docs/account-journey.md are those of this test: with `JOURNEY_PICTURES=<folder>` it
writes them there.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, cast

import httpx2
import pyotp
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from scripts.sign_in_pages import FLAGS, chromium, sheet
from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_process import until
from tests.support.mail_server import MailServer, mail_server
from tests.support.spec_stack import Stack, start_stack
from tests.support.virtual_authenticator import Keys, add_authenticator
from tests.support.wire import CHEAP

REALM: Final = "journey"
ADDRESS: Final = "ada@example.test"
_PASSKEY: Final = "Passkey of the phone"
FIRST, SECOND = "A first long word 1", "A second long word 2"
_PICTURES: Final = os.environ.get("JOURNEY_PICTURES", "")
_SCALE: Final = 0.6
_HEIGHT: Final = 844
_CROPPED: Final = 680
"""Pixels around the middle of a page of a sign-in on a wide screen: the rest is empty."""
_PATIENCE: Final = 20_000


@dataclass(frozen=True, slots=True)
class Album:
    """The pictures of what a person saw; none without a folder."""

    drawing: Page
    folder: str = _PICTURES

    def take(self, page: Page, name: str) -> None:
        if not self.folder:
            return
        size = page.viewport_size or {"width": 0, "height": 0}
        page.mouse.move(size["width"] - 1, size["height"] - 1)
        is_narrow = page.locator(".account-nav").count() == 0
        width = min(size["width"], _CROPPED) if is_narrow else size["width"]
        shown = {"x": (size["width"] - width) // 2, "y": 0, "width": width, "height": _HEIGHT}
        shot = page.screenshot(clip=cast("Any", shown), animations="disabled")
        picture = sheet(self.drawing, [shot], _SCALE, "webp")
        Path(self.folder, f"journey-{name}.webp").write_bytes(picture)


@dataclass(frozen=True, slots=True)
class Site:
    """A realm of the gateway, the mail server that it sends to, and the browser program."""

    stack: Stack
    mails: MailServer
    browser: Browser
    devices: dict[str, Any]
    album: Album
    said: list[str] = field(default_factory=list)
    """What the consoles of the browsers show, such as violations of the content policy."""

    @property
    def console(self) -> str:
        return f"{self.stack.nginx.https}/realms/{REALM}/account/"

    @contextmanager
    def open(self, device: str, width: int) -> Iterator[Page]:
        """Open a browser that has never been here."""
        context = self.browser.new_context(
            ignore_https_errors=True,
            locale="en",
            user_agent=self.devices[device]["user_agent"],
            viewport={"width": width, "height": _HEIGHT},
        )
        context.set_default_timeout(_PATIENCE)
        context.on("console", lambda message: self.said.append(message.text))
        yield context.new_page()
        context.close()

    def open_mail(self, page: Page, subject: str) -> Page:
        """Show the last mail in another tab, as a mail program on the web does."""

        def found() -> list[str]:
            return [
                part.get_content()
                for mail in self.mails.messages
                if (mail["to"], mail["subject"]) == (ADDRESS, subject)
                if (part := mail.get_body(("html",))) is not None
            ]

        tab = page.context.new_page()
        tab.set_content(until(found, f"no mail {subject}")[-1])
        return tab


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[Site]:
    """Run nginx, the gateway, the mail server and Chromium once."""
    folder = tmp_path_factory.mktemp(REALM)
    with mail_server() as mails:
        realm = {
            "realm": REALM,
            "displayName": "Example",
            "enabled": True,
            "passwordPolicy": f"length(10) and {CHEAP}",
            "registrationAllowed": True,
            "verifyEmail": True,
            "resetPasswordAllowed": True,
            "webAuthnPolicyPasswordlessPasskeysEnabled": True,
            "smtpServer": mails.settings(),
        }
        with (
            start_stack(
                folder, edge_certificates, realms=[realm], mail_networks="127.0.0.0/8"
            ) as stack,
            sync_playwright() as playwright,
        ):
            _remove_the_lost_device(stack)
            started = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
            yield Site(stack, mails, started, playwright.devices, Album(started.new_page()))
            started.close()


def _remove_the_lost_device(stack: Stack) -> None:
    """Configure `reset-otp` to ask which device is lost, as an administrator does."""
    flow = f"{REALM}/authentication/flows/reset%20credentials/executions"
    [step] = [one for one in stack.ask(flow).json() if one.get("providerId") == "reset-otp"]
    made = stack.http.post(
        f"{stack.nginx.https}/admin/realms/{REALM}/authentication/executions/{step['id']}/config",
        json={"alias": "lost", "config": {"action_on_otp_reset_flag": "Remove one"}},
        headers={"Authorization": f"Bearer {stack.administrator()}"},
    )
    assert made.status_code == httpx2.codes.CREATED, made.text


def test_a_user_registers_loses_the_phone_and_recovers(site: Site) -> None:
    with site.open("Pixel 7", 390) as phone:
        keys = add_authenticator(phone)
        _register(site, phone)
        _verify_the_address(site, phone)
        secret = _set_up_codes(site, phone, "Phone")
        _set_up_a_passkey(site, keys)
        _sign_out_and_in(site, keys, secret)
        with site.open("Desktop Chrome", 1280) as laptop:
            _recover(site, laptop)
            _remove_the_passkey(site, laptop)
            _end_the_session_of(phone, site, laptop)
    assert site.said == []


def _title(page: Page) -> Any:
    return expect(page.locator("#kc-page-title"))


def _register(site: Site, phone: Page) -> None:
    phone.goto(site.console)
    phone.click("#kc-registration a")
    _title(phone).to_have_text("Register")
    filled = {
        "username": "ada",
        "password": FIRST,
        "password-confirm": FIRST,
        "email": ADDRESS,
        "firstName": "Ada",
        "lastName": "Lovelace",
    }
    for name, value in filled.items():
        phone.fill(f"#{name}", value)
    site.album.take(phone, "register")
    phone.click("#kc-register")
    _title(phone).to_have_text("Email verification")
    expect(phone.locator("main")).to_contain_text(f"sent to your address {ADDRESS}")
    site.album.take(phone, "verify-email")


def _verify_the_address(site: Site, phone: Page) -> None:
    tab = site.open_mail(phone, "Verify email")
    site.album.take(tab, "mail-verify")
    tab.click("text=Verify email address")
    expect(tab.locator("#kc-info-message")).to_contain_text(
        f"Confirm validity of e-mail address {ADDRESS}"
    )
    site.album.take(tab, "confirm-address")
    tab.click("#kc-proceed")
    _title(tab).to_have_text("Overview")
    tab.click("nav a:has-text('Personal info')")
    expect(tab.locator("#email")).to_have_value(ADDRESS)
    site.album.take(tab, "personal-info")
    tab.close()
    phone.goto(site.console)
    _title(phone).to_have_text("Overview")


def _enter_device(site: Site, page: Page, label: str, picture: str) -> str:
    """Set up a device by its secret as text; return the secret."""
    _title(page).to_have_text("Mobile authenticator setup")
    expect(page.locator("#kc-totp-secret-qr-code")).to_be_visible()
    site.album.take(page, picture)
    page.click("#mode-manual")
    secret = page.locator("#kc-totp-secret-key").inner_text().replace(" ", "")
    page.fill("#totp", pyotp.TOTP(secret).now())
    page.fill("#userLabel", label)
    page.uncheck("#logout-sessions")
    page.click("#saveTOTPBtn")
    return secret


def _set_up_codes(site: Site, phone: Page, label: str) -> str:
    phone.click("nav a:has-text('Signing in')")
    expect(phone.locator("text=No authenticator app is set up.")).to_be_visible()
    phone.click("#otp-set-up")
    secret = _enter_device(site, phone, label, "codes")
    _title(phone).to_have_text("Signing in")
    expect(phone.locator("section:has(#otp-title) li")).to_contain_text(label)
    return secret


def _set_up_a_passkey(site: Site, keys: Keys) -> None:
    phone = keys.page
    phone.click("#webauthn-passwordless-set-up")
    _title(phone).to_have_text("Register a security key or passkey")
    phone.fill("#authenticatorLabel", _PASSKEY)
    site.album.take(phone, "passkey")
    phone.click("#registerWebAuthn")
    _title(phone).to_have_text("Signing in")
    passkeys = phone.locator("section:has(#webauthn-passwordless-title) li")
    expect(passkeys).to_contain_text(_PASSKEY)
    [made] = keys.credentials()
    assert made["isResidentCredential"]
    passkeys.scroll_into_view_if_needed()
    site.album.take(phone, "signing-in")


def _sign_out_and_in(site: Site, keys: Keys, secret: str) -> None:
    phone = keys.page
    phone.click("#account-sign-out button")
    _title(phone).to_have_text("You are signed out")
    site.album.take(phone, "signed-out")
    keys.touch(present=False)  # autofill offers the passkey, and the user types instead
    phone.goto(site.console)
    phone.fill("#username", "ada")
    phone.fill("#password", FIRST)
    site.album.take(phone, "password")
    phone.click("#kc-login")
    expect(phone.locator("#kc-attempted-username")).to_have_value("ada")
    # The code of the current period may be the one that has set up the device.
    codes = pyotp.TOTP(secret)
    phone.fill("#otp", codes.at(datetime.now(UTC) + timedelta(seconds=codes.interval)))
    site.album.take(phone, "code")
    phone.click("#kc-login")
    _title(phone).to_have_text("Overview")


def _recover(site: Site, laptop: Page) -> None:
    """Set another password and another device, by the link of a mail."""
    laptop.goto(site.console)
    laptop.click("text=Forgot password?")
    _title(laptop).to_have_text("Forgot your password?")
    laptop.fill("#username", ADDRESS)
    site.album.take(laptop, "forgot")
    laptop.click("#kc-form-buttons")
    expect(laptop.locator(".kc-feedback-text")).to_contain_text("You should receive an email")
    tab = site.open_mail(laptop, "Reset password")
    site.album.take(tab, "mail-reset")
    tab.click("text=Reset credentials")
    expect(tab.locator("#kc-info-message")).to_contain_text("reset your password")
    site.album.take(tab, "confirm-reset")
    tab.click("#kc-proceed")
    expect(tab.locator("legend")).to_have_text("Which OTP configuration should be removed?")
    tab.check("text=Phone")
    site.album.take(tab, "lost-device")
    tab.click("#kc-otp-reset-form-submit")
    _enter_device(site, tab, "New phone", "new-codes")
    _title(tab).to_have_text("Update password")
    tab.fill("#password-new", SECOND)
    tab.fill("#password-confirm", SECOND)
    tab.uncheck("#logout-sessions")
    site.album.take(tab, "new-password")
    tab.click("#kc-submit")
    _title(tab).to_have_text("Overview")
    tab.close()


def _remove_the_passkey(site: Site, laptop: Page) -> None:
    laptop.goto(site.console)
    laptop.click("nav a:has-text('Signing in')")
    devices = laptop.locator("section:has(#otp-title) li")
    expect(devices).to_have_count(1)
    expect(devices).to_contain_text("New phone")
    laptop.click(f"li:has-text('{_PASSKEY}') >> text=Remove")
    _title(laptop).to_contain_text(_PASSKEY)
    site.album.take(laptop, "remove-passkey")
    laptop.click("#kc-accept")
    _title(laptop).to_have_text("Signing in")
    expect(laptop.locator("section:has(#webauthn-passwordless-title) li")).to_have_count(0)


def _end_the_session_of(phone: Page, site: Site, laptop: Page) -> None:
    laptop.click("nav a:has-text('Devices')")
    sessions = laptop.locator("li.session")
    expect(sessions).to_have_count(2)
    expect(sessions.filter(has_text="This device")).to_contain_text("Windows")
    lost = sessions.filter(has_text="Android")
    expect(lost).to_contain_text("Chrome")
    site.album.take(laptop, "devices")
    phone.reload()
    _title(phone).to_have_text("Overview")
    lost.locator("button").click()
    expect(laptop.locator(".kc-feedback-text")).to_have_text("The device has been signed out.")
    expect(sessions).to_have_count(1)
    site.album.take(laptop, "ended")
    phone.reload()
    expect(phone.locator("#password")).to_be_visible()
    site.album.take(phone, "ended-phone")
