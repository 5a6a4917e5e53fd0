"""What a sent client means. Keycloak: POST clients, PUT clients/{id}."""

from typing import Any

import pytest

from gateway.domain.clients.client import Client
from gateway.representations.clients.client import (
    changed_client_document,
    new_client_document,
    parse_client,
)
from gateway.representations.refusals import UnknownField

BEFORE = Client(
    "id", "realm", "x", attributes={"a": "1", "b": "2"}, document={"registeredNodes": {"n": 5}}
)


def test_a_new_client_without_a_name_is_named_by_its_id() -> None:
    document = new_client_document({"name": "N"})
    assert document["clientId"] == document["id"] != ""
    assert new_client_document({"id": "own"})["clientId"] == "own"
    assert new_client_document({"clientId": None, "id": "own"})["clientId"] == "own"
    assert new_client_document({"client_id": "named"}).get("clientId") is None


@pytest.mark.parametrize(
    ("sent", "origins"),
    [
        ({"redirectUris": ["http://a/*", "/x"]}, ("http://a",)),
        ({"redirect_uris": ["http://a/*"]}, ("http://a",)),
        ({"redirectUris": ["http://a/*"], "webOrigins": []}, ()),
        ({"redirectUris": ["http://a/*"], "web_origins": ["+"]}, ("+",)),
        ({}, ()),
    ],
)
def test_a_new_client_may_be_called_from_where_it_redirects_to(
    sent: dict[str, Any], origins: tuple[str, ...]
) -> None:
    assert parse_client({"clientId": "app", **sent}, "realm").web_origins == origins


@pytest.mark.parametrize(
    ("sent", "full"),
    [
        ({}, True),
        ({"consentRequired": True}, False),
        ({"consentRequired": "true"}, False),
        ({"consentRequired": True, "fullScopeAllowed": True}, True),
    ],
)
def test_a_new_client_that_asks_for_consent_has_no_full_scope(
    sent: dict[str, Any], *, full: bool
) -> None:
    assert parse_client({"clientId": "app", **sent}, "realm").full_scope_allowed is full


@pytest.mark.parametrize(
    ("sent", "attributes"),
    [
        ({"attributes": {"b": "3", "c": ""}}, {"a": "1", "b": "3", "c": ""}),
        ({"attributes": {"b": None}}, {"a": "1", "b": None}),
        ({"attributes": {}}, {"a": "1", "b": "2"}),
        ({"attributes": None}, None),
        ({"attributes": [1]}, [1]),
    ],
)
def test_attributes_are_changed_one_by_one(sent: dict[str, Any], attributes: Any) -> None:
    assert changed_client_document(sent, BEFORE).get("attributes") == attributes


@pytest.mark.parametrize("spelling", ["registeredNodes", "registered_nodes"])
def test_nodes_are_added_to_those_that_are_known(spelling: str) -> None:
    changed = changed_client_document({spelling: {"m": 6}}, BEFORE)
    assert changed[spelling] == {"n": 5, "m": 6}


def test_lists_of_scopes_are_left_out_of_a_change() -> None:
    sent = {
        **{name: ["x"] for name in ("defaultClientScopes", "optional_client_scopes")},
        **{name: ["x"] for name in ("default_client_scopes", "optionalClientScopes")},
        "name": "N",
    }
    assert changed_client_document(sent, BEFORE) == {
        "name": "N",
        "authorizationServicesEnabled": False,
    }


@pytest.mark.parametrize(
    "spelling", ["authorizationServicesEnabled", "authorization_services_enabled"]
)
def test_authorization_services_stay_on_where_it_is_said(spelling: str) -> None:
    assert changed_client_document({spelling: True}, BEFORE) == {spelling: True}


def test_a_field_that_keycloak_has_not_is_refused() -> None:
    for document in ({"clientId": "x", "bogus": 1}, {"bogus": None}):
        with pytest.raises(UnknownField):
            new_client_document(document)
        with pytest.raises(UnknownField):
            changed_client_document(document, BEFORE)


def test_a_field_that_the_client_has_already_may_be_sent_back() -> None:
    before = Client("id", "realm", "x", document={"vendor": {"a": 1}})
    assert changed_client_document({"vendor": {"a": 2}}, before)["vendor"] == {"a": 2}
    with pytest.raises(UnknownField):
        changed_client_document({"vendor": {"a": 2}}, BEFORE)
