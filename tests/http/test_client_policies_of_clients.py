"""Client policies judge clients that are created and changed, and set what they demand.

Each text is Keycloak's. Keycloak: client policies (26.7)
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import SECRET, Administration
from tests.support.client_policies import policies_of
from tests.support.registration import Registration

METADATA: Final = "invalid_client_metadata"
REGISTRATION: Final = "invalid_registration"
REQUEST: Final = "invalid_request"
AUTO: Final = {"auto-configure": True}
AUTHORITY: Final = {"ca-subject-dn": "CN=Root,O=Acme", "enforced": True}
SECURE: Final = "https://app.example"
OAUTH_2_1: Final = {"oauth-2-1-compliant": "true", "allow-ipv4-loopback-address": "true"}

REFUSED: Final[tuple[tuple[str, Mapping[str, Any], Mapping[str, Any], str, str], ...]] = (
    ("consent-required", {}, {}, REGISTRATION, "Client is required to enable consentRequired"),
    ("full-scope-disabled", {}, {}, REGISTRATION, "Not permitted to enable fullScopeAllowed"),
    (
        *("reject-implicit-grant", {}, {"implicitFlowEnabled": True}, METADATA),
        "Invalid client metadata: implicit flow enabled",
    ),
    (
        *("reject-ropc-grant", {}, {"directAccessGrantsEnabled": True}, METADATA),
        "Invalid client metadata: resource owner password credentials grant enabled",
    ),
    *(
        ("pkce-enforcer", {}, fields, METADATA, "Invalid client metadata: code_challenge_method")
        for fields in ({}, {"attributes": {"pkce.code.challenge.method": "plain"}})
    ),
    (
        *("dpop-bind-enforcer", {}, {}, METADATA),
        "Invalid client metadata: DPoP token is disabled",
    ),
    (
        *("holder-of-key-enforcer", {}, {}, METADATA),
        "Invalid client metadata: MTLS token in disabled",
    ),
    (
        "secure-client-authenticator",
        {"allowed-client-authenticators": ["client-jwt"]},
        {"clientAuthenticatorType": "client-secret"},
        METADATA,
        "Invalid client metadata: token_endpoint_auth_method",
    ),
    ("secure-client-uris", {}, {"rootUrl": "http://a.example"}, METADATA, "Invalid rootUrl"),
    ("secure-client-uris", {}, {"redirectUris": [f"{SECURE}/*"]}, METADATA, "Invalid redirectUris"),
    (
        "secure-client-uris",
        {},
        {"attributes": {"backchannel.logout.url": "http://a.example/x"}},
        METADATA,
        "Invalid logoutUrl",
    ),
    (
        "secure-client-uris",
        {},
        {"redirectUris": [SECURE], "webOrigins": ["http://a.example"]},
        METADATA,
        "Invalid webOrigins",
    ),
    (
        "secure-client-uris-pattern",
        {"allowed-patterns": ["https://[a-z]+\\.example/.*"]},
        {"redirectUris": ["https://a.test/cb"]},
        METADATA,
        "Invalid redirectUris",
    ),
    (
        *("secure-client-uris-pattern", {}, {"baseUrl": SECURE}, METADATA),
        "Invalid baseUrl: No valid allowed patterns configured",
    ),
    *(
        ("secure-redirect-uris-enforcer", configuration, {"redirectUris": [uri]}, REQUEST, text)
        for configuration, uri, text in (
            ({}, "http://a.example/cb", "Invalid Redirect Uri: invalid uri"),
            ({}, f"{SECURE}/*", "Invalid Redirect Uri: invalid uri"),
            (OAUTH_2_1, f"{SECURE}/*", "Invalid Redirect Uri: invalid uri"),
            ({}, "http://127.0.0.1/cb", "Invalid Redirect Uri: invalid loopback address"),
            (OAUTH_2_1, "http://127.0.0.1/cb", "Invalid Redirect Uri: invalid loopback address"),
            (
                {**OAUTH_2_1, "allow-http-scheme": "true"},
                "http://127.0.0.1:8080/cb",
                "Invalid Redirect Uri: invalid loopback address",
            ),
            ({}, "com.example.app:/cb", "Invalid Redirect Uri: invalid private use scheme"),
            (
                {"allow-private-use-uri-scheme": "true", "oauth-2-1-compliant": "true"},
                "myapp:/cb",
                "Invalid Redirect Uri: invalid private use scheme",
            ),
            (
                {"allow-permitted-domains": ["b\\.example"]},
                f"{SECURE}/cb",
                "Invalid Redirect Uri: invalid uri",
            ),
        )
    ),
    (
        *("secure-redirect-uris-enforcer", {}, {"redirectUris": []}, REQUEST),
        "Invalid Redirect Uri: invalid uri",
    ),
    (
        "secure-signature-algorithm",
        {},
        {"attributes": {"id.token.signed.response.alg": "RS256"}},
        REQUEST,
        "not allowed signature algorithm.",
    ),
    (
        *("secure-response-type", {}, {}, METADATA),
        "Invalid client metadata: ID Token as detached signature in disabled",
    ),
    *(
        (
            *("secure-logout", {}, fields, REGISTRATION),
            "Front-channel logout is not allowed for this client",
        )
        for fields in (
            {"frontchannelLogout": True},
            {"attributes": {"frontchannel.logout.url": SECURE}},
        )
    ),
    (
        "tls-client-auth-ca-subject-dn",
        AUTHORITY,
        {
            "clientAuthenticatorType": "client-x509",
            "attributes": {"x509.subjectdn": "CN=a", "x509.casubjectdn": "CN=Other"},
        },
        REQUEST,
        "Certificate Authority subject DN must be CN=Root,O=Acme",
    ),
    ("reject-request", {}, {}, REQUEST, "Request not allowed"),
)
"""Executor, configuration, fields of a client, error and text."""
_Settings = Mapping[str, Any]
CONFIGURED: Final[tuple[tuple[str, _Settings, _Settings, _Settings], ...]] = (
    ("consent-required", AUTO, {}, {"consentRequired": True}),
    ("full-scope-disabled", AUTO, {}, {"fullScopeAllowed": False}),
    (
        *("reject-implicit-grant", {"auto-configure": "true"}, {"implicitFlowEnabled": True}),
        {"implicitFlowEnabled": False},
    ),
    (
        *("reject-ropc-grant", AUTO, {"directAccessGrantsEnabled": True}),
        {"directAccessGrantsEnabled": False},
    ),
    ("pkce-enforcer", AUTO, {}, {"attributes": {"pkce.code.challenge.method": "S256"}}),
    (
        *("holder-of-key-enforcer", AUTO, {}),
        {"attributes": {"tls.client.certificate.bound.access.tokens": "true"}},
    ),
    ("dpop-bind-enforcer", AUTO, {}, {"attributes": {"dpop.bound.access.tokens": "true"}}),
    (
        "secure-client-authenticator",
        {
            "allowed-client-authenticators": ["client-jwt"],
            "default-client-authenticator": "client-jwt",
        },
        {},
        {"clientAuthenticatorType": "client-jwt"},
    ),
    (
        *("secure-client-uris", {}, {"rootUrl": SECURE, "redirectUris": None}),
        {"redirectUris": [SECURE]},
    ),
    (
        "secure-signature-algorithm",
        {"default-algorithm": "ES256"},
        {},
        {
            "attributes": {
                "user.info.response.signature.alg": "ES256",
                "request.object.signature.alg": "ES256",
                "id.token.signed.response.alg": "ES256",
                "token.endpoint.auth.signing.alg": "ES256",
                "access.token.signed.response.alg": "ES256",
            }
        },
    ),
    (
        *("secure-response-type", AUTO, {}),
        {"attributes": {"id.token.as.detached.signature": "true"}},
    ),
    (
        "tls-client-auth-ca-subject-dn",
        AUTHORITY,
        {"clientAuthenticatorType": "client-x509", "attributes": {"x509.subjectdn": "CN=a"}},
        {"attributes": {"x509.casubjectdn": "CN=Root,O=Acme"}},
    ),
)
"""Executor, configuration, fields of a client, and what it is given."""


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    administrators = {"boss": ["manage-clients"], "clerk": ["manage-clients"]}
    groups = {"groups": [{"name": "staff", "subGroups": [{"name": "chiefs"}]}]}
    with administered_realm(administration, "judged-clients", administrators, **groups) as made:
        yield made


def _client(client_id: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    wanted = {"clientId": client_id, "secret": SECRET, "redirectUris": [f"{SECURE}/cb"]} | dict(
        fields
    )
    return {name: value for name, value in wanted.items() if value is not None}


def _holds(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    attributes = wanted.get("attributes", {})
    rest = {name: value for name, value in wanted.items() if name != "attributes"}
    return rest.items() <= found.items() and attributes.items() <= found["attributes"].items()


def test_a_forbidden_client_is_neither_created_nor_updated(
    realm: AdministeredRealm,
) -> None:
    for place, (executor, configuration, fields, error, text) in enumerate(REFUSED):
        refusal = (400, {"error": error, "error_description": text})
        document = _client(f"old-{place}", fields)
        made = realm.change("POST", "clients", document)
        with policies_of(realm, {executor: configuration}):
            new = _client(f"new-{place}", fields)
            assert realm.refused("POST", "clients", new) == refusal, (executor, fields)
            same = {"clientId": document["clientId"], "description": "changed"}
            assert realm.refused("PUT", f"clients/{made}", same) == refusal, (executor, fields)
            # It may be viewed: what executors demand of clients is for changes alone.
            viewed = realm.ask("GET", f"clients/{made}").status_code
            assert viewed == (400 if executor == "reject-request" else 200), executor
        assert realm.get(f"clients?clientId=new-{place}") == []
        assert "description" not in realm.get(f"clients/{made}")
        realm.change("DELETE", f"clients/{made}")


def test_a_policy_sets_its_values_at_new_and_changed_clients(
    realm: AdministeredRealm,
) -> None:
    for place, (executor, configuration, fields, wanted) in enumerate(CONFIGURED):
        before = realm.change("POST", "clients", _client(f"before-{place}", fields))
        with policies_of(realm, {executor: configuration}):
            made = realm.change("POST", "clients", _client(f"made-{place}", fields))
            if executor not in {"secure-client-authenticator", "secure-client-uris"}:
                change = {"clientId": f"before-{place}", "description": "changed"}
                realm.change("PUT", f"clients/{before}", change)
                assert _holds(realm.get(f"clients/{before}"), wanted), executor
        assert _holds(realm.get(f"clients/{made}"), wanted), executor
        for each in (before, made):
            realm.change("DELETE", f"clients/{each}")


def test_each_executor_sees_the_client_as_the_previous_left_it(
    realm: AdministeredRealm,
) -> None:
    """The order of a profile counts."""
    demand: tuple[str, Mapping[str, Any]] = ("consent-required", {})
    fill = ("consent-required", AUTO)
    profiles = [
        {"name": name, "executors": [{"executor": executor, "configuration": configuration}]}
        for name, (executor, configuration) in (("demand", demand), ("fill", fill))
    ]
    realm.change("PUT", "client-policies/profiles", {"profiles": profiles})
    policy = {
        "name": "consent",
        "enabled": True,
        "conditions": [{"condition": "any-client", "configuration": {}}],
    }
    for order, is_refused in ((["demand", "fill"], True), (["fill", "demand"], False)):
        sent = {"policies": [policy | {"profiles": order}]}
        realm.change("PUT", "client-policies/policies", sent)
        answer = realm.ask("POST", "clients", _client("ordered", {}))
        assert (answer.status_code == 400) is is_refused, answer.text
    realm.change("PUT", "client-policies/policies", {"policies": []})


def test_disabled_policies_and_unmet_conditions_do_nothing(
    realm: AdministeredRealm,
) -> None:
    executors = [{"executor": "reject-request", "configuration": {}}]
    profiles = {"profiles": [{"name": "no", "executors": executors}]}
    realm.change("PUT", "client-policies/profiles", profiles)
    any_client = {"condition": "any-client", "configuration": {}}
    nobody = any_client | {"configuration": {"is-negative-logic": True}}
    roles = {"condition": "client-roles", "configuration": {"roles": ["x"]}}
    for fields in (
        {"enabled": False, "conditions": [any_client]},
        {"enabled": True, "conditions": []},
        {"enabled": True, "conditions": [roles]},
        {"enabled": True, "conditions": [nobody]},
        {"enabled": True, "conditions": [any_client, nobody]},
    ):
        policy = {"name": "p", "profiles": ["no"]} | fields
        realm.change("PUT", "client-policies/policies", {"policies": [policy]})
        realm.change("DELETE", f"clients/{realm.change('POST', 'clients', _client('new', {}))}")
    realm.change("PUT", "client-policies/policies", {"policies": []})


@pytest.mark.parametrize(
    ("executor", "configuration", "reason"),
    [
        ("consent-required", {"auto-configure": "perhaps"}, "auto-configure is 'perhaps'"),
        ("secure-request-object", {"available-period": "-1"}, "available-period is '-1'"),
        ("secure-client-uris-pattern", {"allowed-patterns": ["(a+)+"]}, "allowed-patterns"),
        ("secure-client-uris-pattern", {"client-uri-fields": ["x"]}, "client-uri-fields has 'x'"),
        ("secure-client-uris-pattern", {"allowed-patterns": [7]}, "allowed is a list of texts"),
        ("secure-client-uris-pattern", {"allowed-patterns": {}}, "at most 1000 texts"),
        ("secure-client-uris-pattern", {"allowed-patterns": ["a"] * 1001}, "at most 1000 texts"),
        ("secure-redirect-uris-enforcer", {"allow-permitted-domains": ["("]}, "domains: '('"),
        ("auth-flow-enforcer", {"auth-flow-alias": 7}, "auth-flow-alias is '7'"),
        ("secure-request-object", {"available-period": True}, "available-period is 'True'"),
        ("secure-request-object", {"available-period": 2**31}, "a whole number from 0 to"),
        ("tls-client-auth-ca-subject-dn", {"ca-subject-dn": "?"}, "no distinguished name"),
    ],
)
def test_an_unusable_configuration_is_refused_with_its_reason(
    realm: AdministeredRealm, executor: str, configuration: dict[str, Any], reason: str
) -> None:
    """Attacks C24: a pattern that may take hours is refused when it is stored."""
    entry = {"executor": executor, "configuration": configuration}
    sent = {"profiles": [{"name": "broken", "executors": [entry, entry]}]}
    status, body = realm.refused("PUT", "client-policies/profiles", sent)
    assert status == 400
    assert body["errorMessage"].count(reason) == 2


def test_conditions_select_changes_by_their_author(
    realm: AdministeredRealm,
) -> None:
    boss, registration = realm.account("boss"), Registration(realm)
    (chiefs,) = realm.get("groups?search=chiefs&exact=true")[0]["subGroups"]
    realm.change("PUT", f"users/{boss}/groups/{chiefs['id']}")
    realm.change("POST", "roles", {"name": "approver"})
    realm.change("POST", f"users/{boss}/role-mappings/realm", [realm.get("roles/approver")])
    initial = registration.initial(50)
    address = realm.get("admin-events?max=1")[0]["authDetails"]["ipAddress"]
    made = iter(range(100))

    def by(administrator: str) -> int:
        document = _client(f"by-{next(made)}", {})
        return realm.ask("POST", "clients", document, by=administrator).status_code

    def by_initial_token() -> int:
        document = {"clientId": f"by-{next(made)}", "redirectUris": [f"{SECURE}/cb"]}
        return registration.ask("POST", "default", document, token=initial).status_code

    # Condition, configuration; whether it judges the boss, the clerk and an initial access token.
    for condition, configuration, judged in (
        ("client-updater-source-roles", {"roles": ["approver"]}, (True, False, False)),
        (
            *("client-updater-source-roles", {"roles": ["realm-management.manage-clients"]}),
            (True, True, False),
        ),
        ("client-updater-source-groups", {"groups": ["/staff/chiefs"]}, (True, False, False)),
        ("client-updater-source-groups", {"groups": ["chiefs", "/staff"]}, (False, False, False)),
        (
            *("client-updater-context", {"update-client-source": ["ByAuthenticatedUser"]}),
            (True, True, False),
        ),
        (
            *("client-updater-context", {"update-client-source": ["ByInitialAccessToken"]}),
            (False, False, True),
        ),
        ("client-updater-source-host", {"trusted-hosts": [address]}, (True, True, True)),
        ("client-updater-source-host", {"trusted-hosts": ["10.0.0.1"]}, (False, False, False)),
        ("client-access-type", {"type": ["confidential"]}, (True, True, True)),
        ("client-access-type", {"type": ["public"]}, (False, False, False)),
    ):
        with policies_of(realm, {"reject-request": {}}, {condition: configuration}):
            found = (by("boss") == 400, by("clerk") == 400, by_initial_token() == 400)
        assert found == judged, (condition, configuration)


def test_a_host_is_named_by_its_address(realm: AdministeredRealm) -> None:
    """Answers of DNS are not trusted."""
    entry = {"executor": "reject-request", "configuration": {}}
    realm.change(
        "PUT", "client-policies/profiles", {"profiles": [{"name": "p", "executors": [entry]}]}
    )
    hosts = {"trusted-hosts": ["trusted.example"]}
    condition = {"condition": "client-updater-source-host", "configuration": hosts}
    policy = {"name": "p", "enabled": True, "conditions": [condition], "profiles": ["p"]}
    status, body = realm.refused("PUT", "client-policies/policies", {"policies": [policy]})
    assert status == 400
    assert "names of hosts are not looked up" in body["errorMessage"]


def test_client_roles_and_access_type_select_changes(
    realm: AdministeredRealm,
) -> None:
    """As Keycloak 26.7.3 judges them; a client that is created has no roles."""
    watched = realm.change("POST", "clients", _client("watched-by-role", {}))
    realm.change("POST", f"clients/{watched}/roles", {"name": "watched"})
    others = realm.change("POST", "clients", _client("without-role", {}))
    of_role = {"client-roles": {"roles": ["watched"]}}
    with policies_of(realm, {"reject-request": {}}, of_role):
        for client, status in ((watched, 400), (others, 200)):
            assert realm.ask("GET", f"clients/{client}").status_code == status
        for client, status in ((watched, 400), (others, 204)):
            changed = realm.ask("PUT", f"clients/{client}", {"description": "changed"})
            assert changed.status_code == status, changed.text
        realm.change("POST", "clients", _client("created-without-role", {}))
    of_type = {"client-access-type": {"type": ["confidential"]}}
    with policies_of(realm, {"reject-request": {}}, of_type):
        assert realm.ask("GET", f"clients/{watched}").status_code == 400
