"""Texts of a realm's own by language: kept as they were sent. Keycloak: 7.1."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.support.administration import Administration
from tests.support.own_realm import OwnRealm, own_realm
from tests.support.recorded_changes import recorded_changes

TEXTS = "localization"


@pytest.fixture(scope="module")
def shared(administration: Administration, tmp_path_factory: pytest.TempPathFactory) -> OwnRealm:
    folder = tmp_path_factory.mktemp("texts")
    return own_realm(administration, folder, "telling", defaultLocale="de", adminEventsEnabled=True)


@pytest.fixture
def realm(shared: OwnRealm) -> Iterator[OwnRealm]:
    """Return the realm, and take its texts away."""
    yield shared
    for locale in shared.get(TEXTS):
        shared.done("DELETE", f"{TEXTS}/{locale}")


def put(realm: OwnRealm, path: str, text: str) -> httpx2.Response:
    plain = {"Content-Type": "text/plain"}
    return realm.ask("PUT", f"{TEXTS}/{path}", content=text.encode(), headers=plain)


def test_texts_are_added_and_changed(realm: OwnRealm) -> None:
    assert (realm.get(TEXTS), realm.get(f"{TEXTS}/en")) == ([], {})
    assert realm.done("POST", f"{TEXTS}/en", {"a": "1", "b": "ü"}).status_code == 204
    realm.done("POST", f"{TEXTS}/en", {"a": 2, "c": True, "d": None})
    assert realm.get(f"{TEXTS}/en") == {"a": "2", "b": "ü", "c": "true"}
    realm.done("POST", f"{TEXTS}/pt-BR", {"a": "x"})
    assert realm.get(TEXTS) == ["en", "pt-BR"]


def test_one_text_is_plain_text(realm: OwnRealm) -> None:
    assert put(realm, "en/key", "new text ü").status_code == 204
    response = realm.ask("GET", f"{TEXTS}/en/key")
    assert response.headers["content-type"] == "text/plain;charset=UTF-8"
    assert response.text == "new text ü"
    assert put(realm, "en/key", "").status_code == 204
    assert realm.get(f"{TEXTS}/en") == {"key": ""}


def test_texts_are_taken_away(realm: OwnRealm) -> None:
    realm.done("POST", f"{TEXTS}/en", {"a": "1", "b": "2"})
    realm.done("DELETE", f"{TEXTS}/en/a")
    assert realm.get(f"{TEXTS}/en") == {"b": "2"}
    realm.done("DELETE", f"{TEXTS}/en")
    assert realm.get(TEXTS) == []


def test_every_change_is_recorded(realm: OwnRealm) -> None:
    before = len(recorded_changes(realm.administration, realm.name))
    realm.done("POST", f"{TEXTS}/en", {"a": "1", "b": "2"})
    put(realm, "fr/c", "3")
    realm.done("DELETE", f"{TEXTS}/en/a")
    realm.done("DELETE", f"{TEXTS}/en")
    recorded = recorded_changes(realm.administration, realm.name)[before:]
    assert [(operation, path) for operation, _, path, _ in recorded] == [
        ("UPDATE", f"{TEXTS}/en"),
        ("UPDATE", f"{TEXTS}/fr"),
        ("UPDATE", f"{TEXTS}/en"),
        ("DELETE", f"{TEXTS}/en"),
    ]


def test_of_a_text_that_is_not_there_nothing_is_done(realm: OwnRealm) -> None:
    realm.done("POST", f"{TEXTS}/en", {"a": "1"})
    missing = (404, "Localization text not found")
    for path in ("en/x", "fr/a"):
        assert realm.told("GET", f"{TEXTS}/{path}") == missing
        assert realm.told("DELETE", f"{TEXTS}/{path}") == missing
    gone = realm.told("DELETE", f"{TEXTS}/fr")
    assert gone == (404, "No localization texts for locale fr found.")


def test_what_a_language_lacks_comes_from_the_realms_own(realm: OwnRealm) -> None:
    realm.done("POST", f"{TEXTS}/de", {"a": "deutsch", "b": "deutsch"})
    realm.done("POST", f"{TEXTS}/en", {"a": "english"})
    asked = f"{TEXTS}/en?useRealmDefaultLocaleFallback="
    assert realm.get(f"{asked}true") == {"a": "english", "b": "deutsch"}
    assert realm.get(f"{asked}false") == {"a": "english"}


@pytest.mark.parametrize(
    ("locale", "document"),
    [
        ("en", {"a": ["x"]}),
        ("en", {"a": {}}),
        ("en", {"": "x"}),
        ("en", {"k" * 256: "x"}),
        ("en", {"a": "x" * 10_001}),
        ("en", []),
        ("x%20y", {"a": "b"}),
        ("e", {"a": "b"}),
        ("en.", {"a": "b"}),
        ("en", {str(number): "x" for number in range(5001)}),
    ],
)
def test_what_is_no_text_is_refused(realm: OwnRealm, locale: str, document: Any) -> None:
    assert realm.ask("POST", f"{TEXTS}/{locale}", document).status_code == 400
    assert realm.get(TEXTS) == []


@pytest.mark.parametrize("text", [b"a\0b", b"\xff", b"\xed\xa0\x80"])
def test_a_text_that_cannot_be_stored_is_refused(realm: OwnRealm, text: bytes) -> None:
    plain = {"Content-Type": "text/plain"}
    answer = realm.ask("PUT", f"{TEXTS}/en/a", content=text, headers=plain)
    assert answer.status_code == 400
    assert realm.get(TEXTS) == []


def test_a_language_does_not_grow_without_end(realm: OwnRealm) -> None:
    realm.done("POST", f"{TEXTS}/en", {f"a{number}": "x" for number in range(5000)})
    assert put(realm, "en/a1", "changed").status_code == 204
    assert put(realm, "en/one-more", "x").status_code == 400


def test_texts_of_one_realm_are_not_those_of_another(
    realm: OwnRealm, administration: Administration
) -> None:
    realm.done("POST", f"{TEXTS}/en", {"a": "1"})
    assert administration.get(f"{TEXTS}/en") == {}
