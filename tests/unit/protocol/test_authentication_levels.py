"""The class of a sign-in (`acr`). Keycloak: AcrUtils.mapLoaToAcr; OpenID Connect Core §2."""

from dataclasses import replace

import pytest

from gateway.domain.clients import AuthenticationLevels, Client
from gateway.domain.realm import Realm
from gateway.protocol.authentication_levels import acr_of, names_of_levels

NAMES = {"copper": 1, "silver": 2, "gold": 3}


@pytest.mark.parametrize(
    ("level", "fresh", "requested", "acr"),
    [
        (3, True, (), "gold"),
        (2, True, (), "silver"),
        (2, False, (), "silver"),
        (9, True, (), "gold"),
        (0, True, (), "0"),
        (None, True, (), "copper"),
        (None, False, (), "0"),
        (3, True, ("copper",), "copper"),
        (3, True, ("copper", "silver"), "silver"),
        (2, True, ("gold",), "silver"),
        (2, True, ("2",), "2"),
        (2, True, ("unknown",), "silver"),
    ],
)
def test_the_highest_name_that_was_reached_counts(
    *, level: int | None, fresh: bool, requested: tuple[str, ...], acr: str
) -> None:
    assert acr_of(level, NAMES, fresh=fresh, requested=requested) == acr


@pytest.mark.parametrize(
    ("level", "fresh", "acr"), [(None, True, "1"), (None, False, "0"), (2, True, "2")]
)
def test_without_names_the_level_is_the_class(*, level: int | None, fresh: bool, acr: str) -> None:
    assert acr_of(level, {}, fresh=fresh, requested=("gold",)) == acr


def test_the_names_of_the_client_come_before_those_of_the_realm() -> None:
    realm = Realm("demo-id", "demo", attributes={"acr.loa.map": '{"silver": "2"}'})
    client = Client("app-uuid", "demo-id", "app")
    assert names_of_levels(realm, client) == {"silver": 2}
    own = replace(client, levels=AuthenticationLevels({"gold": 3}))
    assert names_of_levels(realm, own) == {"gold": 3}


@pytest.mark.parametrize("text", ["", "x", "[]", '{"a": "b"}', '{"a": null}', "[" * 9999])
def test_names_that_cannot_be_read_are_none(text: str) -> None:
    realm = Realm("demo-id", "demo", attributes={"acr.loa.map": text})
    assert names_of_levels(realm, Client("app-uuid", "demo-id", "app")) == {}
