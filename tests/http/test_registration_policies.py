"""Client registration policies in effect. Keycloak: client registration policies (26.7)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import Administration
from tests.support.registration import Registration

TYPE = "org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy"
POLICY = "Policy '{}' rejected request to client-registration service. Details: {}"
SENDER = "203.0.113.9"
"""The address that tests send from."""
TOO_MANY = 429
MAPPER = {
    "name": "role",
    "protocol": "openid-connect",
    "protocolMapper": "oidc-hardcoded-role-mapper",
    "config": {"role": "manage-users"},
}


@pytest.fixture(scope="module")
def service(administration: Administration) -> Iterator[Registration]:
    roles = {"manager": ["manage-clients"]}
    with administered_realm(administration, "with-policies", roles) as made:
        yield Registration(made)


def policies(realm: AdministeredRealm) -> dict[tuple[str, str], dict[str, Any]]:
    listed = realm.get(f"components?type={TYPE}")
    return {(each["providerId"], each["subType"]): each for each in listed}


@contextmanager
def set_policy(
    service: Registration, provider: str, who: str, **config: list[str]
) -> Iterator[None]:
    """Set a policy, adding it where there is none, and put back what there was."""
    realm, before = service.realm, policies(service.realm).get((provider, who))
    named = {name.replace("_", "-"): values for name, values in config.items()}
    policy = {"name": provider, "providerId": provider, "providerType": TYPE, "subType": who}
    if before is None:
        policy_id = realm.change("POST", "components", {**policy, "config": named})
    else:
        policy_id = before["id"]
        realm.change("PUT", f"components/{policy_id}", {**before, "config": named})
    try:
        yield
    finally:
        if before is None:
            realm.change("DELETE", f"components/{policy_id}")
        else:
            emptied: dict[str, list[str]] = {name: [] for name in named}
            realm.change(
                "PUT",
                f"components/{policy_id}",
                {**before, "config": {**emptied, **before["config"]}},
            )


@pytest.fixture
def trusting(service: Registration) -> Iterator[Registration]:
    """Trust the address of the tests and two hosts for the URIs of clients."""
    hosts = [SENDER, "a.test", "*.below.test"]
    with set_policy(service, "trusted-hosts", "anonymous", trusted_hosts=hosts):
        yield service


def refusal(policy: str, details: str) -> tuple[int, dict[str, str]]:
    text = POLICY.format(policy, details)
    return 403, {"error": "insufficient_scope", "error_description": text}


def registered(service: Registration, document: dict[str, Any]) -> dict[str, Any]:
    response = service.ask("POST", "default", document)
    assert response.status_code == 201, response.text
    found: dict[str, Any] = response.json()
    return found


UNTRUSTED_HOST = refusal("Trusted Hosts", "Host not trusted.")
UNTRUSTED = "{} doesn't match any trusted host or trusted domain"
UNTRUSTED_URI = refusal("Trusted Hosts", UNTRUSTED.format("URI"))
UNTRUSTED_URL = refusal("Trusted Hosts", UNTRUSTED.format("URL"))


@pytest.mark.parametrize("hosts", [[], ["203.0.113.8"], ["203.0.113.*"], ["localhost"], ["a.test"]])
def test_an_untrusted_sender_registers_nothing(service: Registration, hosts: list[str]) -> None:
    with set_policy(service, "trusted-hosts", "anonymous", trusted_hosts=hosts):
        assert service.refused("POST", "default", {"clientId": "stranger"}) == UNTRUSTED_HOST
    assert service.realm.get("clients?clientId=stranger") == []


def test_an_anonymous_client_needs_consent_and_has_no_full_scope(
    trusting: Registration,
) -> None:
    wishes = {"consentRequired": False, "fullScopeAllowed": True, "full_scope_allowed": True}
    made = registered(trusting, {"clientId": "wishing", **wishes})
    assert (made["consentRequired"], made["fullScopeAllowed"]) == (True, False)
    own = made["registrationAccessToken"]
    for change, name, details in (
        (
            *({"consentRequired": False}, "Consent Required"),
            "Not permitted to update consentRequired to false",
        ),
        (
            *({"fullScopeAllowed": True}, "Full Scope Disabled"),
            "Not permitted to enable fullScopeAllowed",
        ),
    ):
        sent = {"clientId": "wishing", **change}
        assert trusting.refused("PUT", "default/wishing", sent, token=own) == refusal(name, details)
    described = {"clientId": "wishing", "description": "mine"}
    changed = trusting.given("PUT", "default/wishing", described, token=own)
    assert changed["description"] == "mine"
    trusting.given("DELETE", "default/wishing", token=changed["registrationAccessToken"])


@pytest.mark.parametrize(
    ("uris", "trusted"),
    [
        ({"redirectUris": ["https://a.test/*", "https://x.below.test/cb"]}, True),
        ({"rootUrl": "https://below.test", "redirectUris": ["/back"], "baseUrl": "/"}, True),
        ({"redirectUris": ["https://a.test/*", "https://b.test/*"]}, False),
        ({"redirectUris": ["https://a.test@b.test/"]}, False),
        ({"redirectUris": ["https://a.test.b.test/"]}, False),
        ({"redirectUris": ["https://xbelow.test/"]}, False),
        ({"redirectUris": ["//b.test/"]}, False),
        ({"redirectUris": ["*"]}, False),
        ({"redirectUris": ["app:/back"]}, False),
        ({"rootUrl": "https://b.test"}, False),
        ({"adminUrl": "https://b.test"}, False),
        ({"baseUrl": "https://b.test"}, False),
    ],
)
def test_uris_of_anonymous_clients_point_to_trusted_hosts(
    trusting: Registration, uris: dict[str, Any], *, trusted: bool
) -> None:
    document = {"clientId": "pointing", **uris}
    if trusted:
        own = registered(trusting, document)["registrationAccessToken"]
        moved = {"clientId": "pointing", "redirectUris": ["https://b.test/*"]}
        assert trusting.refused("PUT", "default/pointing", moved, token=own) == UNTRUSTED_URI
        trusting.given("DELETE", "default/pointing", token=own)
    else:
        status, answer = trusting.refused("POST", "default", document)
        expected = UNTRUSTED_URI if "redirectUris" in uris else UNTRUSTED_URL
        assert (status, answer) == expected or status == 400
        assert trusting.realm.get("clients?clientId=pointing") == []


def test_a_client_keeps_the_policies_of_its_registration(
    trusting: Registration,
) -> None:
    own = registered(trusting, {"clientId": "moving"})["registrationAccessToken"]
    with set_policy(trusting, "trusted-hosts", "anonymous", trusted_hosts=["203.0.113.8"]):
        for method, document in (("GET", None), ("PUT", {"clientId": "moving"}), ("DELETE", None)):
            answer = trusting.refused(method, "default/moving", document, token=own)
            assert answer == UNTRUSTED_HOST
        client_id = trusting.realm.get("clients?clientId=moving")[0]["id"]
        renewed = trusting.own(client_id)
        trusting.given("GET", "default/moving", token=renewed)
    changed = trusting.given("PUT", "default/moving", {"clientId": "moving"}, token=renewed)
    trusting.given("DELETE", "default/moving", token=changed["registrationAccessToken"])


def test_a_realm_has_at_most_so_many_clients(administration: Administration) -> None:
    with administered_realm(administration, "with-room", {}) as realm:
        service = Registration(realm)
        realm.change("DELETE", f"components/{policies(realm)['trusted-hosts', 'anonymous']['id']}")
        known = len(realm.get("clients?max=1000"))
        with set_policy(service, "max-clients", "anonymous", max_clients=[str(known + 1)]):
            registered(service, {"clientId": "last"})
            details = f"It's allowed to have max {known + 1} clients per realm"
            answer = service.refused("POST", "default", {"clientId": "one-more"})
            assert answer == refusal("Max Clients Limit", details)
            # Of those with a token the realm takes more.
            service.given("POST", "default", {"clientId": "more"}, token=service.initial())


def anonymous(service: Registration) -> str | None:
    del service
    return None


@pytest.mark.parametrize(
    ("who", "token"), [("anonymous", anonymous), ("authenticated", Registration.initial)]
)
def test_mappers_and_scopes_are_those_that_the_policies_allow(
    trusting: Registration, who: str, token: Callable[[Registration], str | None]
) -> None:
    mapped = {"clientId": "mapped", "protocolMappers": [MAPPER]}
    scoped = {"clientId": "scoped", "defaultClientScopes": ["chosen"]}
    if not any(scope["name"] == "chosen" for scope in trusting.realm.get("client-scopes")):
        scope = {"name": "chosen", "protocol": "openid-connect"}
        trusting.realm.change("POST", "client-scopes", scope)
    assert trusting.refused("POST", "default", mapped, token=token(trusting)) == refusal(
        "Allowed Protocol Mapper Types", "ProtocolMapper type not allowed"
    )
    assert trusting.refused("POST", "default", scoped, token=token(trusting)) == refusal(
        "Allowed Client Scopes", "Not permitted to use specified clientScope"
    )
    types = ["oidc-hardcoded-role-mapper"]
    with (
        set_policy(
            *(trusting, "allowed-protocol-mappers", who), allowed_protocol_mapper_types=types
        ),
        set_policy(
            *(trusting, "allowed-client-templates", who),
            allowed_client_scopes=["chosen"],
            allow_default_scopes=["false"],
        ),
    ):
        for document in (mapped, scoped):
            made = trusting.ask("POST", "default", document, token=token(trusting))
            assert made.status_code == 201, made.text
            own = made.json()["registrationAccessToken"]
            trusting.given("DELETE", f"default/{document['clientId']}", token=own)
        others = {"clientId": "others", "optionalClientScopes": ["address"]}
        status, _ = trusting.refused("POST", "default", others, token=token(trusting))
        assert status == 403


def test_a_policy_disables_new_clients(service: Registration) -> None:
    with set_policy(service, "client-disabled", "authenticated"):
        made = service.given(
            "POST", "default", {"clientId": "waiting", "enabled": True}, token=service.initial()
        )
        assert made["enabled"] is False
        token = service.bearer("manager")
        sent = {"clientId": "waiting", "enabled": True}
        assert service.refused("PUT", "default/waiting", sent, token=token) == refusal(
            "client-disabled", "Not permitted to enable client"
        )
    service.realm.change("DELETE", f"clients/{made['id']}")


def test_without_trusted_hosts_the_other_policies_decide_alone(
    administration: Administration,
) -> None:
    with administered_realm(administration, "open-to-all", {}) as realm:
        service = Registration(realm)
        realm.change("DELETE", f"components/{policies(realm)['trusted-hosts', 'anonymous']['id']}")
        made = registered(service, {"clientId": "any", "redirectUris": ["https://b.test/*"]})
        assert (made["consentRequired"], made["fullScopeAllowed"]) == (True, False)
        openid = service.ask("POST", "openid-connect", {"redirect_uris": ["https://b.test/"]})
        assert openid.status_code == 201, openid.text
        assert openid.json()["registration_access_token"]


def register_from(service: Registration, address: str, client_id: str) -> int:
    """Return the status of a registration without a token from a network."""
    sent = {"clientId": client_id}
    headers = {"X-Forwarded-For": address}
    answer = service.ask("POST", "default", sent, token=None, content=None, **headers)
    if answer.status_code == TOO_MANY:
        assert answer.json()["error"] == "slow_down"
        assert int(answer.headers["Retry-After"]) > 0
    return answer.status_code


def test_one_network_does_not_fill_the_clients_of_a_realm(administration: Administration) -> None:
    """Nor with addresses of one IPv6 network, nor by deleting what it registered."""
    with administered_realm(administration, "shared-room", {}) as realm:
        service = Registration(realm)
        realm.change("DELETE", f"components/{policies(realm)['trusted-hosts', 'anonymous']['id']}")
        with set_policy(service, "max-clients", "anonymous", max_clients=["50"]):
            for network, addresses in {
                "one": ["198.51.100.7"] * 13,
                "six": [f"2001:db8:7:7::{n}" for n in range(13)],
            }.items():
                made = [
                    register_from(service, address, f"{network}-{number}")
                    for number, address in enumerate(addresses)
                ]
                assert made == [201] * 10 + [TOO_MANY] * 3, network
            (first,) = realm.get("clients?clientId=one-0")
            realm.change("DELETE", f"clients/{first['id']}")
            assert register_from(service, "198.51.100.7", "one-again") == TOO_MANY
            assert register_from(service, "198.51.100.8", "neighbor") == 201
            service.given("POST", "default", {"clientId": "by-token"}, token=service.initial())
            malformed = service.ask("POST", "default", {"clientId": 7.5, "redirectUris": "x"})
            assert malformed.status_code == 400


def test_the_last_clients_of_a_realm_are_for_other_networks(
    administration: Administration,
) -> None:
    """A realm of many clients of administrators has little room: half of it is left each time."""
    with administered_realm(administration, "little-room", {}) as realm:
        service = Registration(realm)
        realm.change("DELETE", f"components/{policies(realm)['trusted-hosts', 'anonymous']['id']}")
        known = len(realm.get("clients?max=1000"))
        for number in range(known, 92):
            realm.change("POST", "clients", {"clientId": f"of-administrators-{number}"})
        with set_policy(service, "max-clients", "anonymous", max_clients=["100"]):
            made = [register_from(service, "198.51.100.7", f"one-{n}") for n in range(8)]
            assert 1 <= made.count(201) <= 4, made
            assert register_from(service, "198.51.100.8", "other") == 201
