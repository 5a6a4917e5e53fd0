"""The language of a page is selected as Keycloak selects it. Keycloak: themes."""

from dataclasses import replace

import pytest

from gateway.domain.realm import Localization
from gateway.http.pages import LocalePreferences, select_locale, supported_locale

REALM = Localization(
    enabled=True, supported_locales=("en", "de", "pt-BR", "fr"), default_locale="fr"
)
EVERY = LocalePreferences(chosen="de", user="pt-BR", client="en", cookie="fr", browser="de")


def test_the_strongest_wish_decides() -> None:
    order = ("chosen", "user", "client", "cookie", "browser")
    left, found = EVERY, []
    for name in order:
        found.append(select_locale(REALM, left))
        left = replace(left, **{name: ""})
    assert found == ["de", "pt-BR", "en", "fr", "de"]
    assert select_locale(REALM, left) == "fr"


def test_an_unsupported_wish_defers_to_the_next_source() -> None:
    assert select_locale(REALM, LocalePreferences(chosen="ja", client="sv no de")) == "de"


def test_pages_are_english_where_internationalization_is_off() -> None:
    assert select_locale(replace(REALM, enabled=False), EVERY) == "en"
    assert supported_locale(replace(REALM, enabled=False), "de") is None


def test_without_a_default_it_is_english() -> None:
    assert select_locale(replace(REALM, default_locale=None), LocalePreferences()) == "en"


@pytest.mark.parametrize(
    ("tag", "found"),
    [
        ("de", "de"),
        ("de-CH", "de"),
        ("DE", "de"),
        ("pt", "pt-BR"),
        ("pt_BR", "pt-BR"),
        ("pt-PT", None),
        ("ja", None),
        ("", None),
        ("../../etc", None),
        ("de;q=1", None),
        ("d" * 4000, None),
    ],
)
def test_languages_fit_where_the_countries_do_not_differ(tag: str, found: str | None) -> None:
    assert supported_locale(REALM, tag) == found


def test_the_exact_locale_comes_before_the_language() -> None:
    both = replace(REALM, supported_locales=("de-AT", "de", "de-CH"))
    assert supported_locale(both, "de-CH") == "de-CH"
    assert supported_locale(both, "de") == "de"


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("de", "de"),
        ("en;q=0.4, de;q=0.8", "de"),
        ("sv, en;q=0.5, de;q=0.5", "en"),
        ("de;q=0, en", "en"),
        ("de ; q=0.3, en;q=0.2", "de"),
        ("*", "fr"),
        (";;;,,,q=", "fr"),
        ("ja," * 5000 + "de", "fr"),
    ],
)
def test_accept_language_is_weighed(header: str, found: str) -> None:
    assert select_locale(REALM, LocalePreferences(browser=header)) == found
