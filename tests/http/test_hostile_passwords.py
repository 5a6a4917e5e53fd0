"""Passwords that only attackers send, and those that two keyboards write differently.

attacks: D12
"""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from gateway.domain.limits.password_hashing import MAX_PASSWORD_LENGTH
from tests.support.administered_realm import administered_realm, person
from tests.support.administration import Administration
from tests.support.sign_in_browser import SignInRealm, web_client

_COMPOSED: Final = "Pässwörd \N{CAT FACE} 1"
_DECOMPOSED: Final = "Pa\N{COMBINING DIAERESIS}sswo\N{COMBINING DIAERESIS}rd \N{CAT FACE} 1"
_LONGEST: Final = "é" * MAX_PASSWORD_LENGTH


def _person(username: str, password: str) -> dict[str, Any]:
    named = {"email": f"{username}@example.org", "firstName": "Ada", "lastName": "Lovelace"}
    return person(username, **named, credentials=[{"type": "password", "value": password}])


@pytest.fixture(scope="module")
def words(administration: Administration) -> Iterator[SignInRealm]:
    settings: dict[str, Any] = {
        "passwordPolicy": "hashAlgorithm(pbkdf2-sha256) and hashIterations(1000)",
        "clients": [web_client("app", directAccessGrantsEnabled=True, publicClient=True)],
        "users": [
            _person("composed", _COMPOSED),
            _person("longest", _LONGEST),
            _person("chosen", "Passw0rd"),
        ],
    }
    with administered_realm(administration, "words", {}, **settings) as realm:
        yield SignInRealm(realm)


def _signs_in(words: SignInRealm, username: str, password: str) -> bool:
    browser = words.browser()
    form = {"grant_type": "password", "client_id": "app", "username": username}
    answer = browser.http.post(browser.protocol("token"), data=form | {"password": password})
    assert answer.status_code in {200, 400, 401, 413}, answer.text
    page = browser.submit(browser.open(), username=username, password=password)
    assert (page.status == 302) is (answer.status_code == 200), "every way in takes the same text"
    return answer.status_code == 200


@pytest.mark.parametrize("password", [_COMPOSED, _DECOMPOSED])
def test_accents_composed_otherwise_are_the_same_password(
    words: SignInRealm, password: str
) -> None:
    """attacks: D12."""
    assert _signs_in(words, "composed", password)


@pytest.mark.parametrize(
    ("username", "password"),
    [
        ("composed", f"{_COMPOSED}\0"),
        ("composed", f"{_COMPOSED}\0more"),
        ("longest", f"{_LONGEST}x"),
        ("longest", _LONGEST[:-1]),
        ("longest", "é" * 400_000),
    ],
)
def test_no_part_of_a_password_is_left_out_of_the_comparison(
    words: SignInRealm, username: str, password: str
) -> None:
    """attacks: D12. Neither what follows a NUL, nor what follows the 72nd or 1024th character."""
    assert not _signs_in(words, username, password)
    assert _signs_in(words, "longest", _LONGEST)


@pytest.mark.parametrize("password", [f"{_LONGEST}x", "é" * 400_000, "chosen\0Passw0rd"])
def test_a_password_that_is_not_compared_whole_is_not_set(
    words: SignInRealm, password: str
) -> None:
    """attacks: D12."""
    path = f"users/{words.user_id('chosen')}/reset-password"
    status, _ = words.realm.refused("PUT", path, {"type": "password", "value": password})
    assert status in {400, 413}
