"""Numbers that are sent as text, or as a float: taken by every field as Keycloak takes them.

Terraform's and Ansible's modules send numbers as text, exports of other tools write them as floats.
Keycloak: its JSON decoder (26.7, measured).
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm, person
from tests.support.administration import PASSWORD, Administration

_OPENAPI: Final = Path(__file__).parents[2] / "docs" / "openapi.json"
_FORMS: Final[tuple[Callable[[int], Any], ...]] = (
    str,
    lambda number: f" {number} ",
    lambda number: f"{number:+}",
    lambda number: f"{'-' * (number < 0)}0{abs(number)}",
    float,
    lambda number: number + (0.5 if number >= 0 else -0.5),
)
_WRONG: Final = ("4.0", "4e3", "0x10", "four", "4 4", "--4", True, [4], {"n": 4})
_BLANK: Final = ("", " ", "null")
"""Texts that count as null."""


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    clients = [{"id": "app-of-numbers", "clientId": "app", "enabled": True}]
    settings: dict[str, Any] = {"clients": clients, "users": [person("anna")]}
    with administered_realm(administration, "numbers", {}, **settings) as made:
        yield made


def _fields(representation: str) -> list[str]:
    """Return the names of all whole numbers of a representation."""
    document = json.loads(_OPENAPI.read_bytes())
    properties = document["components"]["schemas"][representation]["properties"]
    return [name for name, each in properties.items() if "integer" in str(each.get("type"))]


@pytest.mark.parametrize(
    ("representation", "path"),
    [("RealmRepresentation", ""), ("ClientRepresentation", "clients/app-of-numbers")],
)
def test_every_number_of_a_representation_is_taken_as_text(
    realm: AdministeredRealm, representation: str, path: str
) -> None:
    names, stored = _fields(representation), realm.get(path)
    assert len(names) > 1
    numbers = {name: stored.pop(name, None) or 1 for name in names}

    def put(sent: dict[str, Any]) -> Any:
        realm.change("PUT", path, stored | sent)
        return realm.get(path)

    for form in _FORMS:
        after = put({name: form(number) for name, number in numbers.items()})
        assert {name: after[name] for name in names} == numbers
    for wrong in _WRONG:
        for name in names:
            status = realm.ask("PUT", path, {name: wrong}).status_code
            assert status == 400, f"{name} {wrong!r}"
    without = put(dict.fromkeys(names))
    for blank in _BLANK:
        put(numbers)
        assert put(dict.fromkeys(names, blank)) == without, repr(blank)


def _key_store(**fields: Any) -> dict[str, Any]:
    passwords = {"storePassword": PASSWORD, "keyPassword": PASSWORD}
    return {"format": "PKCS12", "keyAlias": "a", **passwords, **fields}


@pytest.mark.parametrize("form", _FORMS)
def test_numbers_of_other_documents_are_taken_as_text(
    realm: AdministeredRealm, form: Callable[[int], Any]
) -> None:
    realm.change("PUT", "events/config", {"eventsExpiration": form(600)})
    assert realm.get("events/config")["eventsExpiration"] == 600
    access = {"count": form(3), "expiration": form(60)}
    created = realm.ask("POST", "clients-initial-access", access).json()
    assert (created["count"], created["expiration"]) == (3, 60)
    action = "authentication/required-actions/CONFIGURE_TOTP"
    realm.change("PUT", action, realm.get(action) | {"priority": form(77)})
    assert realm.get(action)["priority"] == 77
    user = realm.change("POST", "users", person("dora", createdTimestamp=form(1_700_000_000_000)))
    assert realm.get(f"users/{user}")["createdTimestamp"] == 1_700_000_000_000
    realm.change("DELETE", f"users/{user}")
    generate = "clients/app-of-numbers/certificates/jwt.credential/generate-and-download"
    store = realm.ask("POST", generate, _key_store(keySize=form(2048), validity=form(2)))
    assert store.status_code == 200, store.text
    for wrong in (1024, "1024", "2048.0", 2047.5):
        assert realm.ask("POST", generate, _key_store(keySize=wrong)).status_code == 400, wrong


@pytest.mark.parametrize("form", _FORMS)
def test_numbers_of_realm_files_are_taken_as_text(
    administration: Administration, form: Callable[[int], Any]
) -> None:
    password = {"type": "password", "value": PASSWORD, "createdDate": form(1_700_000_000_000)}
    document = {
        "realm": "of-texts",
        "notBefore": form(5),
        "accessTokenLifespan": form(77),
        "otpPolicyDigits": form(8),
        "clients": [{"clientId": "app", "notBefore": form(6)}],
        "users": [{"username": "anna", "notBefore": form(7), "credentials": [password]}],
    }
    made = administration.ask("POST", "", document=document)
    assert made.status_code == 201, made.text
    try:
        found = AdministeredRealm(administration, "of-texts")
        names = ("notBefore", "accessTokenLifespan", "otpPolicyDigits")
        assert [found.get("")[name] for name in names] == [5, 77, 8]
        assert found.get("clients?clientId=app")[0]["notBefore"] == 6
        assert found.get("users?username=anna")[0]["notBefore"] == 7
    finally:
        administration.ask("DELETE", "of-texts")
