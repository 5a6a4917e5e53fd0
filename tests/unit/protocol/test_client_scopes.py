"""Which scopes a client gets, and what `scope` says of them. RFC 6749 §3.3; Keycloak: 1.1."""

import pytest

from gateway.domain.clients import Client
from gateway.protocol.client_scopes import BUILT_IN, OFFLINE_ACCESS, grant_scopes
from gateway.protocol.errors import OAuthError

CLIENT = Client(
    id="1",
    realm_id="r",
    client_id="c",
    default_client_scopes=("basic", "profile", "roles", "unknown-to-us"),
    optional_client_scopes=("email",),
)


def _names(requested: str | None) -> list[str]:
    return [scope.name for scope in grant_scopes(CLIENT, requested).scopes]


def test_nothing_asked_brings_the_default_scopes() -> None:
    assert _names(None) == ["basic", "roles", "profile"]
    assert grant_scopes(CLIENT, None).text == "profile"


@pytest.mark.parametrize("requested", [" ", "   "])
def test_blanks_alone_ask_for_nothing(requested: str) -> None:
    assert _names(requested) == _names(None)


def test_an_optional_scope_comes_when_asked_for() -> None:
    assert _names("email") == ["basic", "roles", "profile", "email"]
    assert grant_scopes(CLIENT, "email").text == "profile email"


def test_openid_is_always_allowed_and_named_first() -> None:
    assert grant_scopes(CLIENT, "openid").text == "openid profile"


@pytest.mark.parametrize("requested", ["", "address", "openid address", "PROFILE", "email  phone"])
def test_a_scope_the_client_was_not_given_is_refused_in_its_own_words(requested: str) -> None:
    with pytest.raises(OAuthError) as refused:
        grant_scopes(CLIENT, requested)
    assert refused.value.error == "invalid_scope"
    assert refused.value.description == f"Invalid scopes: {requested}"


def test_every_built_in_scope_has_an_effect() -> None:
    assert all(scope.mappers or scope.name == OFFLINE_ACCESS for scope in BUILT_IN.values())
