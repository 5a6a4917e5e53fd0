"""The attribute `locale`: realms without internationalization neither store nor display it.

A value that was stored while users could choose a language stays, and counts again when they can.
Keycloak: 17.2 profile (26.7, measured)
"""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from gateway.domain.user_profile import UnmanagedPolicy
from tests.support.administered_realm import administered_realm, person
from tests.support.administration import Administration
from tests.support.own_account import OwnAccount, account_realm

_PROFILE = "users/profile"
_LANGUAGE = {"name": "locale", "permissions": {"view": ["admin", "user"], "edit": ["admin"]}}
_FREE = "no profile"
_POLICIES = (None, *UnmanagedPolicy, _FREE)


@pytest.fixture(scope="module")
def account(administration: Administration) -> Iterator[OwnAccount]:
    with administered_realm(administration, "tongues", {}, **account_realm()) as realm:
        yield OwnAccount(realm)


@pytest.fixture(params=_POLICIES)
def speaking(account: OwnAccount, request: pytest.FixtureRequest) -> Iterator[OwnAccount]:
    """Return the realm with a policy for attributes that its profile does not declare."""
    realm = account.realm
    realm.change(
        "PUT", "", {"attributes": {"userProfileEnabled": str(request.param != _FREE).lower()}}
    )
    standard = realm.get(_PROFILE)
    policy = None if request.param == _FREE else request.param
    realm.change("PUT", _PROFILE, standard | {"unmanagedAttributePolicy": policy})
    yield account
    realm.change("PUT", "", {"attributes": {"userProfileEnabled": "true"}})
    _internationalize(account, is_on=True)
    realm.change("PUT", _PROFILE, standard)
    for user in realm.get("users?email=@own.example"):
        realm.change("DELETE", f"users/{user['id']}")


def _internationalize(account: OwnAccount, *, is_on: bool) -> None:
    account.realm.change("PUT", "", {"internationalizationEnabled": is_on})


def _languages(account: OwnAccount, user_id: str) -> list[Any]:
    """Return the language wherever administrators and the user see it."""
    realm, username = account.realm, account.realm.get(f"users/{user_id}")["username"]
    own = account.get("", account.token(username))
    documents = [
        realm.get(f"users/{user_id}"),
        *realm.get(f"users?username={username}&exact=true"),
        *realm.get(f"users?search={username}&briefRepresentation=false"),
        own,
    ]
    shown = [document.get("attributes", {}).get("locale") for document in documents]
    shown.append(realm.get(f"users/{user_id}/unmanagedAttributes").get("locale"))
    metadata = [
        realm.get("users/profile/metadata"),
        realm.get(f"users/{user_id}?userProfileMetadata=true")["userProfileMetadata"],
        own["userProfileMetadata"],
    ]
    declared = [each["name"] for document in metadata for each in document["attributes"]]
    return [*shown, declared.count("locale")]


_NOWHERE = [None] * 5 + [0]
_EVERYWHERE = [["de"]] * 4 + [None, 3]
_UNMANAGED = [["de"]] * 5 + [2]


def _write(account: OwnAccount, kind: str) -> str:
    """Write a language in one of the ways that there are; return the id of the user."""
    realm, sent = account.realm, {"attributes": {"locale": ["de"]}}
    user = person(kind, firstName="F", lastName="L", email=f"{kind}@own.example")
    if kind == "created":
        return realm.change("POST", "users", user | sent)
    if kind == "imported":
        realm.change("POST", "partialImport", {"users": [user | sent], "ifResourceExists": "FAIL"})
        return str(realm.get("users?username=imported&exact=true")[0]["id"])
    user_id = realm.change("POST", "users", user)
    if kind == "updated":
        names = {name: user[name] for name in ("firstName", "lastName", "email")}
        realm.change("PUT", f"users/{user_id}", names | sent)
    else:
        account.grant(user_id, "manage-account")
        token = account.token(kind)
        changed = account.ask("POST", "", token, json=account.get("", token) | sent)
        assert changed.status_code == httpx2.codes.NO_CONTENT, changed.text
    return user_id


@pytest.mark.parametrize("is_on", [False, True])
def test_only_realms_with_internationalization_have_a_language(
    speaking: OwnAccount, *, is_on: bool
) -> None:
    _internationalize(speaking, is_on=is_on)
    has_profile = speaking.realm.get("")["attributes"]["userProfileEnabled"] == "true"
    shown = _EVERYWHERE if has_profile else _UNMANAGED
    for kind in ("created", "updated", "imported", "themselves"):
        user_id = _write(speaking, kind)
        assert _languages(speaking, user_id) == (shown if is_on else _NOWHERE), kind
        if not is_on and kind != "imported":
            _internationalize(speaking, is_on=True)
            assert speaking.realm.get(f"users/{user_id}").get("attributes") is None, kind
            _internationalize(speaking, is_on=False)


def test_a_stored_language_outlasts_a_time_without(speaking: OwnAccount) -> None:
    user_id = _write(speaking, "created")
    _internationalize(speaking, is_on=False)
    user = {"email": "created@own.example", "firstName": "F", "lastName": "L"}
    changes: list[dict[str, object]] = [
        {"firstName": "G"},
        {"attributes": {}},
        {"attributes": {"locale": ["fr"]}},
    ]
    for sent in changes:
        speaking.realm.change("PUT", f"users/{user_id}", user | sent)
    assert _languages(speaking, user_id) == _NOWHERE
    _internationalize(speaking, is_on=True)
    assert speaking.realm.get(f"users/{user_id}")["attributes"]["locale"] == ["de"]


def test_a_profile_that_declares_the_language_keeps_it(account: OwnAccount) -> None:
    realm, standard = account.realm, account.realm.get(_PROFILE)
    declared = {"attributes": [*standard["attributes"], _LANGUAGE]}
    realm.change("PUT", _PROFILE, standard | declared)
    _internationalize(account, is_on=False)
    user_id = _write(account, "created")
    assert realm.get(f"users/{user_id}")["attributes"] == {"locale": ["de"]}
    _internationalize(account, is_on=True)
    realm.change("PUT", _PROFILE, standard)
