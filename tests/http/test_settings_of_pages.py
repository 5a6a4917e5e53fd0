"""Settings of realms that change what a page shows and who signs in on it.

Each is changed over the admin API of a running gateway. Keycloak: 8.1, 12.12
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.administered_realm import SIGN_IN, administered_realm, person
from tests.support.administration import PASSWORD, Administration
from tests.support.sign_in_browser import Page, SignInRealm, web_client


@pytest.fixture(scope="module")
def shown(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm with a user who has an address."""
    settings: dict[str, Any] = {
        **SIGN_IN,
        "clients": [web_client("app")],
        "users": [person("anna", email="anna@shown.test")],
    }
    with administered_realm(administration, "shown", {}, **settings) as realm:
        yield SignInRealm(realm)


def _page(shown: SignInRealm, **parameters: str) -> str:
    return shown.browser().open(**parameters).html


def test_a_page_names_the_realm_and_shows_its_markup_as_text(shown: SignInRealm) -> None:
    with shown.changed(displayName="The <b>North</b>"):
        page = _page(shown)
        assert "The &lt;b&gt;North&lt;/b&gt;" in page
        assert "<b>North" not in page
    with shown.changed(displayName="The South"):
        assert "The South" in _page(shown)


def test_a_page_is_in_a_language_of_the_realm_or_in_its_own(shown: SignInRealm) -> None:
    languages = {"supportedLocales": ["de", "en", "fr"], "defaultLocale": "de"}
    with shown.changed(internationalizationEnabled=True, **languages):
        for asked, lang in (("fr", "fr"), ("ja", "de"), ("", "de")):
            assert f'lang="{lang}"' in _page(shown, ui_locales=asked)
        with shown.changed(supportedLocales=["de", "ja"]):
            assert 'lang="ja"' in _page(shown, ui_locales="ja")
        with shown.changed(defaultLocale="en"):
            assert 'lang="en"' in _page(shown)
        with shown.changed(internationalizationEnabled=False):
            assert 'lang="en"' in _page(shown, ui_locales="fr")


def test_a_realm_chooses_colors_and_a_logo(shown: SignInRealm) -> None:
    plain = _page(shown)
    assert '<meta name="color-scheme" content="light dark">' in plain
    attributes = {"realmgate.login.logo": "/logo.svg", "darkMode": "false"}
    with shown.changed(attributes=attributes):
        page = _page(shown)
        assert 'src="/logo.svg"' in page
        assert '<meta name="color-scheme" content="light dark">' not in page


def test_a_profile_has_rules_unless_the_realm_has_none(shown: SignInRealm) -> None:
    assert _signs_in(shown, "anna")
    with shown.changed(attributes={"userProfileEnabled": "true"}):
        browser = shown.browser()
        page = browser.submit(browser.open(), username="anna", password=PASSWORD)
        assert "firstName" in page.form.names, "the standard profile requires names"


def _signs_in(shown: SignInRealm, username: str) -> bool:
    browser = shown.browser()
    done = browser.submit(browser.open(), username=username, password=PASSWORD)
    return done.status == 302


def test_users_sign_in_by_their_address_if_the_realm_allows(shown: SignInRealm) -> None:
    assert _signs_in(shown, "anna@shown.test")
    with shown.changed(loginWithEmailAllowed=False):
        assert not _signs_in(shown, "anna@shown.test")
        assert _signs_in(shown, "anna")


def test_the_rules_of_passwords_are_shown_before_the_first_error(shown: SignInRealm) -> None:
    policy = "length(12) and digits(2) and notUsername and hashIterations(1) and upperCase(0)"
    rules = ["Characters: at least 12", "Digits: at least 2", "Not your username"]
    french = {
        "supportedLocales": ["en", "fr"],
        "defaultLocale": "en",
        "internationalizationEnabled": True,
    }
    with shown.changed(passwordPolicy=policy, registrationAllowed=True, **french):
        browser = shown.browser()
        page = browser.open(prompt="create")
        assert re.findall(r"<li dir=\"auto\">([^<]*)<", page.html) == rules
        assert page.message is None
        page = shown.browser().open(prompt="create", ui_locales="fr")
        assert "Caractères : au moins 12" in page.text
    with shown.changed(registrationAllowed=True, passwordPolicy=""):
        assert "password-rules" not in shown.browser().open(prompt="create").html


def test_an_error_names_the_contact_of_the_realm(shown: SignInRealm) -> None:
    def refused() -> Page:
        return shown.browser().open(redirect_uri="https://evil.example/")

    assert "If you need help, contact the administrator of " in refused().text
    account = refused().link("go-to-account")
    assert account.endswith("/realms/shown/account/")
    with shown.changed(attributes={"realmgate.contact": "help@example.com"}):
        assert refused().link("kc-contact") == "mailto:help@example.com"
    [console] = shown.realm.get("clients?clientId=account-console")
    path = f"clients/{console['id']}"
    shown.realm.change("PUT", path, {**console, "enabled": False})
    assert "go-to-account" not in refused().html
    shown.realm.change("PUT", path, console)
