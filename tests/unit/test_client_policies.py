"""Client policies that a realm file may have brought: read as a whole, or not at all."""

from dataclasses import replace
from typing import Any, Final

import pytest

from gateway.client_policies import (
    CONDITIONS,
    EXECUTORS,
    AuthorizationStart,
    ClientChange,
    ClientRequest,
    EventKind,
    PolicyRefusal,
    Updater,
    list_global_profiles,
    read_policies,
)
from gateway.client_policies.events import InvalidConfiguration
from gateway.client_policies.interfaces import PolicyConfiguration, Vote
from tests.support.authorization_requests import client_entry

_ANY: Final = {"condition": "any-client", "configuration": {}}
_REJECT: Final = {"executor": "reject-request", "configuration": {}}
_LOOSENING: Final = {"executor": "suppress-refresh-token-rotation", "configuration": {}}


def _read(*conditions: Any, executors: Any = (_REJECT,), name: str = "own") -> list[str]:
    """Return the executors of the policies that act."""
    policy = {
        "name": "p",
        "enabled": True,
        "conditions": list(conditions),
        "profiles": [name],
    }
    profiles = {"profiles": [{"name": name, "executors": list(executors)}]}
    found = read_policies({"policies": [policy]}, profiles)
    return [executor.provider for policy in found for executor in policy.executors]


@pytest.mark.parametrize(
    "part",
    [
        {"condition": "identity-provider-alias", "configuration": {}},
        {"condition": "any-client", "configuration": {"is-negative-logic": "perhaps"}},
        {"condition": "client-scopes", "configuration": {"type": "default"}},
        {"condition": "client-roles", "configuration": []},
        {},
    ],
)
def test_a_policy_with_an_unevaluated_condition_does_nothing(part: Any) -> None:
    """Else it would act on other requests than it was written for."""
    assert _read(_ANY) == ["reject-request"]
    assert _read(_ANY, part) == []


@pytest.mark.parametrize(
    "part",
    [
        {"executor": "of-a-later-version", "configuration": {}},
        {"executor": "consent-required", "configuration": {"auto-configure": "perhaps"}},
        {},
    ],
)
def test_a_policy_with_an_unapplied_executor_does_nothing(part: Any) -> None:
    assert _read(_ANY, executors=(_REJECT, part)) == []


def test_an_executor_that_would_allow_more_is_passed_over() -> None:
    assert _read(_ANY, executors=(_LOOSENING, _REJECT)) == ["reject-request"]
    assert _read(_ANY, executors=(_LOOSENING,)) == []


def test_a_global_profile_is_not_replaced_by_a_namesake() -> None:
    first = list_global_profiles()[0]
    wanted = [each["executor"] for each in first["executors"]]
    assert _read(_ANY, name=first["name"]) == wanted


@pytest.mark.parametrize("document", [None, [], "x", {"policies": 7}, {"policies": [7, None]}])
def test_a_document_of_another_shape_has_no_policies(document: Any) -> None:
    assert read_policies(document, document) == ()


def test_only_null_or_an_object_is_a_configuration() -> None:
    assert PolicyConfiguration(None).texts("x") == ()
    wrong: tuple[Any, ...] = ([], "x", 7, True)
    for members in wrong:
        with pytest.raises(InvalidConfiguration):
            PolicyConfiguration(members)


def test_flags_are_json_or_text() -> None:
    for value, flag in ((True, True), ("TRUE", True), ("false", False), ("", False), (None, False)):
        assert PolicyConfiguration({"x": value}).flag("x") is flag
    wrong: tuple[Any, ...] = ("yes", 1, [], "truth")
    for each in wrong:
        with pytest.raises(InvalidConfiguration):
            PolicyConfiguration({"x": each}).flag("x")
    assert PolicyConfiguration({}).flag("x", default=True) is True


def test_an_unpushed_reference_does_not_start_a_request() -> None:
    """Without the reference, and with that of a request object at the client."""
    executor, client = (
        EXECUTORS["secure-par-content"].from_configuration(PolicyConfiguration({})),
        client_entry().client,
    )
    object_at_client = {"request_uri": "https://app.example.test/object"}
    for sent, text in (
        ({}, "PAR request_uri not included."),
        (object_at_client, "PAR request_uri not included."),
    ):
        with pytest.raises(PolicyRefusal) as refused:
            executor.check_start(AuthorizationStart(client, sent, None, None))
        assert refused.value.text == text


def test_a_caller_without_an_address_comes_from_no_host() -> None:
    hosts = PolicyConfiguration({"trusted-hosts": ["0.0.0.0/0", "::/0"]})
    condition = CONDITIONS["client-updater-source-host"].from_configuration(hosts)
    client = client_entry().client
    for address, vote in ((None, Vote.NO), ("unix", Vote.NO), ("192.0.2.1", Vote.YES)):
        updater = Updater(address=address)
        change = ClientChange(EventKind.UPDATE, client, client, updater=updater)
        assert condition.vote(change) is vote


def test_tokens_signed_by_the_algorithm_of_the_realm_are_judged() -> None:
    """RFC 7591 has no member for access tokens, so registered clients name none for them."""
    executor = EXECUTORS["secure-signature-algorithm"].from_configuration(PolicyConfiguration({}))
    client = client_entry().client
    for of_realm, id_token, access_token, is_accepted in (
        ("RS256", None, None, False),
        ("ES256", None, None, True),
        ("RS256", "PS256", None, True),
        ("RS256", "PS256", "RS256", False),
        ("ES256", "RS256", None, False),
        ("ES256", None, "HS256", False),
        ("RS256", "PS256", "ES256", True),
    ):
        signing = replace(client.signing, id_token=id_token, access_token=access_token)
        asking = ClientRequest(
            EventKind.TOKEN_REQUEST, replace(client, signing=signing), realm_algorithm=of_realm
        )
        if is_accepted:
            executor.check_request(asking)
            continue
        with pytest.raises(PolicyRefusal, match="not allowed signature algorithm"):
            executor.check_request(asking)
