"""Tables in TOML files: each row fits the class that it becomes, and a wrong row is an error."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pytest

from gateway.domain.clients import CLIENT_AUTHENTICATORS
from gateway.domain.flows import default_flows
from gateway.domain.keys import KeyProvider, SecretAlgorithm, SignatureAlgorithm
from gateway.domain.tables import build_value
from gateway.representations.keys import KEY_PROVIDERS


class Color(StrEnum):
    """An enum."""

    RED = "red"


@dataclass(frozen=True)
class Part:
    """A dataclass in another."""

    name: str
    color: Color | None = None


@dataclass(frozen=True)
class Whole:
    """A dataclass with each kind of field."""

    parts: tuple[Part, ...]
    pair: tuple[str, int] = ("", 0)
    by_name: Mapping[str, Part] | None = None


def test_a_row_becomes_a_value_by_the_types_of_fields() -> None:
    row = {
        "parts": [{"name": "a"}, {"name": "b", "color": "red"}],
        "pair": ["x", 1],
        "by_name": {"c": {"name": "c"}},
    }
    expected = Whole((Part("a"), Part("b", Color.RED)), ("x", 1), {"c": Part("c")})
    assert build_value(Whole, row) == expected


@pytest.mark.parametrize(
    "row",
    [
        pytest.param({}, id="a missing member"),
        pytest.param({"parts": [], "other": 1}, id="an unknown member"),
        pytest.param({"parts": [{"name": 1}]}, id="another type"),
        pytest.param({"parts": [{"name": "a", "color": "blue"}]}, id="a value outside its enum"),
        pytest.param({"parts": [], "pair": ["x"]}, id="too few values"),
        pytest.param({"parts": [], "pair": ["x", 1, 2]}, id="too many values"),
        pytest.param({"parts": "abc"}, id="text for a list"),
    ],
)
def test_a_row_that_does_not_fit_is_an_error(row: dict[str, Any]) -> None:
    with pytest.raises((TypeError, KeyError, ValueError)):
        build_value(Whole, row)


def test_the_flow_of_clients_has_every_client_authenticator() -> None:
    (flow,) = (each for each in default_flows("realm").values() if each.alias == "clients")
    steps = [execution.authenticator for execution in flow.executions]
    assert steps == [each.id for each in CLIENT_AUTHENTICATORS]


def test_key_providers_offer_every_algorithm_of_their_keys() -> None:
    offered = {
        provider.id: each.options
        for provider in KEY_PROVIDERS
        for each in provider.properties
        if each.name == "algorithm"
    }
    assert {provider.id for provider in KEY_PROVIDERS} == set(KeyProvider)
    rsa = [each for each in SignatureAlgorithm if each.value[:2] in {"RS", "PS"}]
    assert [*offered[KeyProvider.RSA]] == [*offered[KeyProvider.RSA_GENERATED]] == rsa
    assert [*offered[KeyProvider.HMAC_GENERATED]] == [*SecretAlgorithm]
