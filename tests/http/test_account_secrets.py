"""Secrets of accounts and of mails: not in the log, not in events, not readable at rest.

attacks: E5
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyotp
import pytest

from tests.support.administration import Administration
from tests.support.mailed_links import MailedRealm, follow, key_of, mailed_realm

_CANARY: Final = "canary-Passw0rd"
_MAIL_PASSWORD: Final = "canary-of-the-mail-server"
_NAMES: Final = {"firstName": "Ada", "lastName": "Lovelace"}
_ACTIONS: Final = ("CONFIGURE_TOTP", "CONFIGURE_RECOVERY_AUTHN_CODES")


@pytest.fixture(scope="module")
def mailed(administration: Administration) -> Iterator[MailedRealm]:
    settings: dict[str, Any] = {
        "attributes": {},
        "resetPasswordAllowed": True,
        "adminEventsEnabled": True,
        "adminEventsDetailsEnabled": True,
    }
    with mailed_realm(administration, "secret-accounts", {}, **settings) as realm:
        for action in _ACTIONS:
            path = f"authentication/required-actions/{action}"
            realm.realm.change("PUT", path, {**realm.realm.get(path), "enabled": True})
        yield realm


@pytest.fixture(scope="module")
def secrets(mailed: MailedRealm) -> Mapping[str, str]:
    """Let a user reset the password and enroll credentials; return every secret of it."""
    user = mailed.add("ada", **_NAMES)
    browser = mailed.browser()
    page = browser.open()
    path = page.form.action.replace("login-actions/authenticate", "login-actions/reset-credentials")
    page = browser.submit(browser.get(path), username="ada")
    link = mailed.link("ada@example.org")
    page = follow(browser, link)
    assert browser.submit(page, **_twice(f"{_CANARY}-1")).answer["code"]
    mailed.realm.change("PUT", user, {"requiredActions": [*_ACTIONS]})
    browser = mailed.browser()
    page = browser.submit(browser.open(), username="ada", password=f"{_CANARY}-1")
    shown = re.search(r'id="kc-totp-secret-key"[^>]*>([^<]*)<', page.html)
    assert shown is not None, page.text
    key = shown.group(1).replace(" ", "")
    page = browser.submit(page, totp=pyotp.TOTP(key).now(), userLabel="phone")
    codes = page.form.fields["generatedRecoveryAuthnCodes"].split(",")
    assert browser.submit(page).answer["code"]
    reset = {"type": "password", "value": f"{_CANARY}-2"}
    mailed.realm.change("PUT", f"{user}/reset-password", reset)
    smtp = {"auth": "true", "ssl": "true", "user": "u", "password": _MAIL_PASSWORD}
    mailed.realm.ask("POST", "testSMTPConnection", {**mailed.server.settings(), **smtp})
    mailed.realm.change("PUT", "", {"smtpServer": {**mailed.server.settings(), **smtp}})
    return {
        "password": f"{_CANARY}-1",
        "password of the administrator": f"{_CANARY}-2",
        "password of the mail server": _MAIL_PASSWORD,
        "link of a mail": key_of(link).rpartition(".")[2],
        "key of a device": key,
        "first recovery code": codes[0],
        "last recovery code": codes[-1],
    }


def _twice(password: str) -> dict[str, str]:
    return {"password-new": password, "password-confirm": password}


def _named_in(secrets: Mapping[str, str], text: str) -> list[str]:
    return [name for name, secret in secrets.items() if secret in text]


def test_no_log_line_has_a_secret_of_an_account(
    mailed: MailedRealm, secrets: Mapping[str, str]
) -> None:
    """attacks: E5."""
    log = mailed.realm.administration.gateway.log_text()
    assert "/login-actions/" in log
    assert _named_in(secrets, log) == []


def test_no_event_has_a_secret_of_an_account(
    mailed: MailedRealm, secrets: Mapping[str, str]
) -> None:
    """attacks: E5. Neither one of the user, nor one of an administrator with its document."""
    events = mailed.realm.get("events?max=1000")
    changes = mailed.realm.get("admin-events?max=1000")
    assert {"UPDATE_PASSWORD", "UPDATE_TOTP"} <= {event["type"] for event in events}
    assert any("smtpServer" in change.get("representation", "") for change in changes)
    assert _named_in(secrets, str(events) + str(changes)) == []


def test_nothing_at_rest_has_a_secret_of_an_account(
    mailed: MailedRealm, secrets: Mapping[str, str]
) -> None:
    """attacks: E5."""
    state: Path = mailed.realm.administration.gateway.state_dir
    files = [each for each in state.rglob("*") if each.is_file() and "secrets" not in each.parts]
    assert any(each.suffix in {".db", ".sqlite", ".sqlite3"} for each in files), files
    found = {str(each): _named_in(secrets, each.read_bytes().decode("latin-1")) for each in files}
    assert {name: told for name, told in found.items() if told} == {}
