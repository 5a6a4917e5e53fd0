"""What executors set at clients, and what they leave as it is.

Each text is Keycloak's. Keycloak: client policies (26.7)
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from gateway.client_policies import EXECUTORS, ClientChange, EventKind
from gateway.client_policies.interfaces import PolicyConfiguration
from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import SECRET, Administration
from tests.support.authorization_requests import client_entry
from tests.support.client_policies import policies_of
from tests.support.registration import Registration

SECURE: Final = "https://a.example/cb"
AUTHENTICATOR: Final = "secure-client-authenticator"
ALGORITHM: Final = "secure-signature-algorithm"
ISSUED_BY: Final = "tls-client-auth-ca-subject-dn"
ROOT: Final = "CN=Root,O=Acme"
Fields = Mapping[str, Any]


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    with administered_realm(administration, "judged-settings", {}) as made:
        yield made


def _added(
    realm: AdministeredRealm, executor: str, configuration: Fields, fields: Fields
) -> dict[str, Any]:
    """Add a client under a policy for a moment; return it, or its refusal."""
    document = {"clientId": "new", "secret": SECRET, "redirectUris": [SECURE], **fields}
    with policies_of(realm, {executor: configuration}):
        response = realm.ask("POST", "clients", document)
    if not response.is_success:
        assert response.status_code == 400, response.text
        return dict(response.json())
    made = response.headers["location"].rpartition("/")[2]
    found = dict(realm.get(f"clients/{made}"))
    realm.change("DELETE", f"clients/{made}")
    return found


def test_a_method_that_a_client_names_is_kept_or_refused(realm: AdministeredRealm) -> None:
    text = "Invalid client metadata: token_endpoint_auth_method"
    refusal = {"error": "invalid_client_metadata", "error_description": text}
    of_key = {"allowed-client-authenticators": ["client-jwt"]}
    with_default = of_key | {"default-client-authenticator": "client-jwt"}
    of_secret = {"clientAuthenticatorType": "client-secret"}
    assert _added(realm, AUTHENTICATOR, with_default, of_secret) == refusal
    assert _added(realm, AUTHENTICATOR, of_key, {}) == refusal
    both = with_default | {"allowed-client-authenticators": ["client-jwt", "client-secret"]}
    for configuration, fields, method in (
        (with_default, {}, "client-jwt"),
        (both, {}, "client-jwt"),
        (both, of_secret, "client-secret"),
        ({"allowed-client-authenticators": ["client-secret"]}, {}, "client-secret"),
    ):
        made = _added(realm, AUTHENTICATOR, configuration, fields)
        assert made["clientAuthenticatorType"] == method, (configuration, fields)
    public = _added(realm, AUTHENTICATOR, of_key, {"publicClient": True})
    assert public["publicClient"] is True


def test_front_channel_logout_may_be_allowed(realm: AdministeredRealm) -> None:
    fields = {"frontchannelLogout": True, "attributes": {"frontchannel.logout.url": SECURE}}
    made = _added(realm, "secure-logout", {"allow-front-channel-logout": "true"}, fields)
    assert made["frontchannelLogout"] is True


@pytest.mark.parametrize("algorithm", ["PS256", "PS384", "PS512", "ES256", "ES384", "ES512"])
@pytest.mark.parametrize(
    "name", ["id.token.signed.response.alg", "user.info.response.signature.alg"]
)
def test_a_secure_algorithm_is_kept(realm: AdministeredRealm, name: str, algorithm: str) -> None:
    made = _added(realm, ALGORITHM, {}, {"attributes": {name: algorithm}})
    assert made["attributes"][name] == algorithm
    assert made["attributes"]["request.object.signature.alg"] == "PS256"


@pytest.mark.parametrize(
    "name",
    [
        *("id.token.signed.response.alg", "user.info.response.signature.alg"),
        *("request.object.signature.alg", "token.endpoint.auth.signing.alg"),
        "access.token.signed.response.alg",
    ],
)
def test_every_algorithm_of_a_client_is_secure(realm: AdministeredRealm, name: str) -> None:
    for algorithm in ("RS256", "RS512"):
        refusal = _added(realm, ALGORITHM, {}, {"attributes": {name: algorithm}})
        assert refusal["error_description"] == "not allowed signature algorithm.", algorithm


def test_a_default_that_is_not_secure_is_replaced(realm: AdministeredRealm) -> None:
    for configuration, algorithm in (({"default-algorithm": "RS256"}, "PS256"), ({}, "PS256")):
        made = _added(realm, ALGORITHM, configuration, {})
        assert made["attributes"]["id.token.signed.response.alg"] == algorithm


def test_a_self_registered_client_sets_no_access_token_algorithm(
    realm: AdministeredRealm,
) -> None:
    """RFC 7591 has no member for it."""
    registration = Registration(realm)
    token = registration.initial(1)
    with policies_of(realm, {ALGORITHM: {}}):
        document = {"clientId": "self-made", "redirectUris": [SECURE]}
        registration.given("POST", "default", document, token=token)
    (made,) = realm.get("clients?clientId=self-made")
    assert made["attributes"]["id.token.signed.response.alg"] == "PS256"
    assert "access.token.signed.response.alg" not in made["attributes"]


def _by_certificate(**attributes: str) -> dict[str, Any]:
    return {
        "clientAuthenticatorType": "client-x509",
        "attributes": {"x509.subjectdn": "CN=a", **attributes},
    }


def test_a_missing_authority_is_set_and_another_refused(
    realm: AdministeredRealm,
) -> None:
    name = "x509.casubjectdn"
    enforced, proposed = {"ca-subject-dn": ROOT, "enforced": True}, {"ca-subject-dn": ROOT}
    for configuration, fields, authority in (
        (proposed, _by_certificate(), ROOT),
        (proposed, _by_certificate(**{name: "CN=Other"}), "CN=Other"),
        (enforced, _by_certificate(**{name: "cn=Root, o=Acme"}), "cn=Root, o=Acme"),
        (enforced, {}, None),
        (enforced, {"attributes": {name: "CN=Other"}}, "CN=Other"),
    ):
        made = _added(realm, ISSUED_BY, configuration, fields)
        assert made["attributes"].get(name) == authority, (configuration, fields)
    refusal = _added(realm, ISSUED_BY, enforced, _by_certificate(**{name: "CN=Other"}))
    text = "Certificate Authority subject DN must be CN=Root,O=Acme"
    assert refusal["error_description"] == text


def test_secrets_expire_by_who_registers_or_changes_the_client(realm: AdministeredRealm) -> None:
    registration, name = Registration(realm), "client.secret.expiration.time"
    for source, of_users, of_initial_tokens in (
        ("ByAuthenticatedUser", True, False),
        ("ByInitialAccessToken", False, True),
        ("ByAnonymous", False, False),
    ):
        token = registration.initial(1)
        conditions = {"client-updater-context": {"update-client-source": [source]}}
        with policies_of(realm, {"secret-rotation": {}}, conditions):
            by_user = realm.change("POST", "clients", {"clientId": "made", "secret": SECRET})
            registration.given("POST", "default", {"clientId": "registered"}, token=token)
        (registered,) = realm.get("clients?clientId=registered")
        found = realm.get(f"clients/{by_user}")["attributes"], registered["attributes"]
        assert tuple(name in each for each in found) == (of_users, of_initial_tokens), source
        for each in (by_user, registered["id"]):
            realm.change("DELETE", f"clients/{each}")
    made = realm.change("POST", "clients", {"clientId": "own", "secret": SECRET})
    own = {"client-updater-context": {"update-client-source": ["ByRegistrationAccessToken"]}}
    token = registration.own(made)
    with policies_of(realm, {"secret-rotation": {}}, own):
        realm.change("PUT", f"clients/{made}", {"clientId": "own", "description": "x"})
        assert name not in realm.get(f"clients/{made}")["attributes"]
        registration.given("PUT", "default/own", {"clientId": "own"}, token=token)
        assert name in realm.get(f"clients/{made}")["attributes"]
    realm.change("DELETE", f"clients/{made}")


def test_the_address_of_a_sector_is_not_one_of_the_client() -> None:
    """As in Keycloak: it is fetched, and names addresses."""
    executor = EXECUTORS["secure-client-uris"].from_configuration(PolicyConfiguration({}))
    client = client_entry().client
    change = ClientChange(
        EventKind.UPDATE,
        client,
        client,
        lambda _: {"sectorIdentifierUri": ["http://sector.example/uris.json"]},
    )
    executor.check_change(change)
