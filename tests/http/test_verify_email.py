"""VERIFY_EMAIL: users show by a link that an address is theirs. Keycloak: 16.1."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.administration import Administration
from tests.support.mailed_links import MailedRealm, mailed_realm


@pytest.fixture(scope="module")
def mailed(administration: Administration) -> Iterator[MailedRealm]:
    """Make a realm that verifies addresses."""
    with mailed_realm(administration, "verifying", {}, verifyEmail=True) as realm:
        yield realm


@pytest.fixture(autouse=True)
def nothing_yet(mailed: MailedRealm) -> None:
    mailed.events()


def _types(events: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    return [(event["type"], event.get("error")) for event in events]


def test_the_link_continues_the_sign_in_of_the_same_browser(mailed: MailedRealm) -> None:
    ada = mailed.add("ada")
    browser = mailed.browser()
    page = browser.sign_in("ada")
    assert page.id == "login-verify-email"
    assert page.message == "You need to verify your email address to activate your account."
    assert "ada@example.org" in page.text
    link = mailed.link("ada@example.org")
    assert mailed.realm.get(ada)["emailVerified"] is False
    shown = browser.get(link)
    assert (shown.status, shown.id) == (200, "confirm-link")
    assert "Confirm validity of e-mail address ada@example.org." in shown.text
    assert mailed.realm.get(ada)["emailVerified"] is False
    done = browser.submit(shown)
    assert done.answer["code"]
    assert mailed.realm.get(ada)["emailVerified"] is True
    assert _types(mailed.events()) == [
        ("SEND_VERIFY_EMAIL", None),
        ("VERIFY_EMAIL", None),
        ("LOGIN", None),
    ]
