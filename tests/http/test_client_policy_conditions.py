"""What each condition of a client policy holds for, rule by rule.

A policy with `reject-request` and the condition shows whether the condition holds.
Keycloak: client policies (26.7)
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.client_policies import ANY_CLIENT, POLICIES, PROFILES, policies_of, policy
from tests.support.recorded_realm import RECORDED, Recorded
from tests.support.registration import Registration

REJECT: Final[Mapping[str, Mapping[str, Any]]] = {"reject-request": {}}
REFUSAL: Final = {"error": "invalid_request", "error_description": "Request not allowed"}
REDIRECT_URI: Final = "https://app.example.test/callback"
DEVICE: Final = "urn:ietf:params:oauth:grant-type:device_code"
EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
ADDRESS: Final = "203.0.113.9"
Conditions = Mapping[str, Mapping[str, Any]]


def _client(client_id: str, **fields: Any) -> dict[str, Any]:
    return {
        "clientId": client_id,
        "enabled": True,
        "secret": SECRET,
        "redirectUris": [REDIRECT_URI],
        "serviceAccountsEnabled": True,
        "directAccessGrantsEnabled": True,
        "implicitFlowEnabled": True,
    } | fields


def _attributes(**attributes: str) -> str:
    return json.dumps([{"key": key, "value": value} for key, value in attributes.items()])


@pytest.fixture(scope="module")
def recorded(administration: Administration) -> Iterator[Recorded]:
    switches = {
        "oauth2.device.authorization.grant.enabled": "true",
        "standard.token.exchange.enabled": "true",
    }
    clients = [
        *RECORDED["clients"][:1],
        _client(
            "svc",
            attributes={**switches, "grade": "high"},
            defaultClientScopes=["basic", "email"],
            optionalClientScopes=["phone"],
        ),
    ]
    administrators = {"boss": ["manage-clients"], "clerk": ["manage-clients"]}
    groups = {"groups": [{"name": "staff"}]}
    document = {**RECORDED, "clients": clients, **groups}
    with administered_realm(administration, "conditions", administrators, **document) as realm:
        (staff,) = realm.get("groups?search=staff")
        realm.change("PUT", f"users/{realm.account('boss')}/groups/{staff['id']}")
        yield Recorded(realm)


@pytest.fixture
def realm(recorded: Recorded) -> AdministeredRealm:
    return recorded.realm


def _is_refused(recorded: Recorded, conditions: Conditions, path: str, **form: str) -> bool:
    """Ask an endpoint as `svc` under a policy with these conditions."""
    with policies_of(recorded.realm, REJECT, conditions):
        response = recorded.post(path, form)
    return bool(response.content) and response.json() == REFUSAL


def _creation_is_refused(
    realm: AdministeredRealm,
    conditions: Conditions,
    by: str = "",
    address: str = ADDRESS,
    **fields: Any,
) -> bool:
    with policies_of(realm, REJECT, conditions):
        document = _client("new", **fields)
        response = realm.ask("POST", "clients", document, by=by, X_Forwarded_For=address)
    if response.is_success:
        realm.change("DELETE", f"clients/{response.headers['location'].rpartition('/')[2]}")
    return response.content != b"" and response.json() == REFUSAL


SILENT_ON_CHANGES: Final[Conditions] = {
    "acr-condition": {"acr-property": "gold"},
    "client-scopes": {"scopes": ["email"]},
    "client-type": {},
    "grant-type": {"grantTypes": ["password"]},
}
SILENT_ON_VIEWS: Final[Conditions] = {
    **SILENT_ON_CHANGES,
    "client-updater-context": {"update-client-source": ["ByAnonymous"]},
    "client-updater-source-groups": {"groups": ["nobodies"]},
    "client-updater-source-host": {"trusted-hosts": ["192.0.2.1"]},
    "client-updater-source-roles": {"roles": ["x"]},
}
SILENT_ON_INTROSPECTION: Final[Conditions] = SILENT_ON_VIEWS
NEGATED: Final = {"is-negative-logic": True}


@pytest.mark.parametrize("condition", SILENT_ON_VIEWS)
def test_a_condition_silent_about_a_request_never_fails(recorded: Recorded, condition: str) -> None:
    """Alone it lets the policy rest, also inverted; beside another one it changes nothing."""
    realm = recorded.realm
    viewed = realm.get("clients?clientId=svc")[0]["id"]
    configuration = SILENT_ON_VIEWS[condition]
    for terms, acts in (
        ({condition: configuration}, False),
        ({condition: {**configuration, **NEGATED}}, False),
        ({**ANY_CLIENT, condition: configuration}, True),
        ({**ANY_CLIENT, condition: {**configuration, **NEGATED}}, True),
    ):
        with policies_of(realm, REJECT, terms):
            viewing = realm.ask("GET", f"clients/{viewed}")
        assert (viewing.status_code == 400) is acts, terms
        if condition in SILENT_ON_CHANGES:
            assert _creation_is_refused(realm, terms) is acts, terms
        if condition in SILENT_ON_INTROSPECTION:
            assert _is_refused(recorded, terms, "token/introspect", token="x") is acts, terms


@pytest.mark.parametrize(
    ("attributes", "holds"),
    [
        (_attributes(grade="high"), True),
        (_attributes(grade="low"), False),
        (_attributes(grade="high", place="here"), False),
        ('[{"key": "grade", "value": "high"}, {"key": "grade", "value": "high"}]', False),
        ("[]", True),
        (None, False),
        ("", False),
    ],
)
def test_a_client_with_all_of_the_attributes_is_meant(
    recorded: Recorded, attributes: str | None, *, holds: bool
) -> None:
    """No attributes at all, and a key that is named twice, match no client; as in Keycloak."""
    conditions = {"client-attributes": {"attributes": attributes}}
    form = {"grant_type": "client_credentials"}
    assert _is_refused(recorded, conditions, "token", **form) is holds


@pytest.mark.parametrize(
    "attributes", ["{", "7", '["a"]', '[{"key": "a"}]', '[{"key": "a", "value": 7}]', "[" * 10_000]
)
def test_attributes_of_another_shape_are_refused(realm: AdministeredRealm, attributes: str) -> None:
    _require_refused(realm, "client-attributes", {"attributes": attributes})


def _require_refused(realm: AdministeredRealm, condition: str, configuration: Any) -> None:
    entry = {"executor": "reject-request", "configuration": {}}
    realm.change("PUT", PROFILES, {"profiles": [{"name": "own", "executors": [entry]}]})
    sent = policy("own", conditions={condition: configuration})
    status, body = realm.refused("PUT", POLICIES, {"policies": [sent]})
    assert (status, f"its condition {condition}: " in body["errorMessage"]) == (400, True)
    realm.change("PUT", PROFILES, {"profiles": []})


def test_a_change_is_judged_by_what_the_client_would_be(realm: AdministeredRealm) -> None:
    for conditions, fields, holds in (
        ({"client-attributes": {"attributes": _attributes(a="b")}}, {"attributes": {"a": "b"}}, 1),
        ({"client-attributes": {"attributes": _attributes(a="b")}}, {"attributes": {"a": "c"}}, 0),
        ({"client-type": {"protocol": "openid-connect"}}, {}, 1),
        ({"client-type": {"protocol": "saml"}}, {}, 0),
        ({"client-access-type": {"type": ["public"]}}, {"publicClient": True}, 1),
        ({"client-access-type": {"type": ["bearer-only"]}}, {"bearerOnly": True}, 1),
        ({"client-access-type": {"type": ["confidential"]}}, {"bearerOnly": True}, 0),
    ):
        assert _creation_is_refused(realm, conditions, **fields) is bool(holds), conditions


def test_an_access_type_change_is_checked_before_and_after(
    realm: AdministeredRealm,
) -> None:
    """Else a client would leave the policy by the change that the policy is to judge."""
    made = realm.change("POST", "clients", _client("changing"))
    for kind, is_judged in (("confidential", True), ("public", True), ("bearer-only", False)):
        with policies_of(realm, REJECT, {"client-access-type": {"type": [kind]}}):
            change = {"clientId": "changing", "publicClient": True}
            status = realm.ask("PUT", f"clients/{made}", change).status_code
        assert (status == 400) is is_judged, kind
        realm.change("PUT", f"clients/{made}", {"clientId": "changing", "publicClient": False})
    realm.change("DELETE", f"clients/{made}")


@pytest.mark.parametrize(
    ("kind", "scope", "requested", "holds"),
    [
        ("Default", "email", "", True),
        ("Default", "phone", "phone", False),
        ("Default", "profile", "", False),
        ("Optional", "phone", "phone", True),
        ("Optional", "phone", "", False),
        ("Optional", "email", "email", False),
        ("Any", "email", "", True),
        ("Any", "phone", "phone", True),
        ("Any", "phone", "", False),
        (None, "email", "", True),
        (None, "phone", "phone", False),
    ],
)
def test_default_scopes_are_the_clients_optional_the_requests(
    recorded: Recorded, kind: str | None, scope: str, requested: str, *, holds: bool
) -> None:
    """Also for a token exchange."""
    conditions = {"client-scopes": {"type": kind, "scopes": [scope]}}
    for grant_type in ("client_credentials", EXCHANGE):
        form = {"grant_type": grant_type, "scope": requested}
        assert _is_refused(recorded, conditions, "token", **form) is holds, grant_type


def test_a_type_of_scopes_that_does_not_exist_is_refused(realm: AdministeredRealm) -> None:
    _require_refused(realm, "client-scopes", {"type": "default", "scopes": ["email"]})


@pytest.mark.parametrize("grant_type", [DEVICE, EXCHANGE, "password", "client_credentials"])
def test_a_grant_is_named_by_its_type(recorded: Recorded, grant_type: str) -> None:
    form = {"grant_type": grant_type, "username": "john", "password": PASSWORD}
    for name in ("grantTypes", "grant_types"):
        for named, holds in (([grant_type], True), (["refresh_token", "implicit"], False)):
            conditions = {"grant-type": {name: named}}
            assert _is_refused(recorded, conditions, "token", **form) is holds, conditions


def test_a_hybrid_response_type_is_of_code_and_implicit_grants(recorded: Recorded) -> None:
    """Else a policy for one of the two would be left by asking for both."""
    url = f"/realms/{recorded.realm.name}/protocol/openid-connect/auth"
    http = recorded.realm.administration.http
    asked = {"client_id": "svc", "redirect_uri": REDIRECT_URI, "scope": "openid", "nonce": "n"}
    for response_type, grants in (
        ("code", {"authorization_code"}),
        ("code id_token", {"authorization_code", "implicit"}),
        ("code token", {"authorization_code", "implicit"}),
        ("id_token", {"implicit"}),
        ("id_token token", {"implicit"}),
    ):
        for named in ("authorization_code", "implicit"):
            conditions = {"grant-type": {"grantTypes": [named]}}
            with policies_of(recorded.realm, REJECT, conditions):
                # Before its parameters are verified, the condition says nothing about a request.
                parameters = asked | {"response_type": response_type}
                response = http.get(url, params=parameters, follow_redirects=False)
            refused = "error=invalid_request" in response.headers.get("location", "")
            assert refused is (named in grants), (response_type, named)


@pytest.mark.parametrize(
    ("hosts", "address", "holds"),
    [
        (["localhost"], "127.0.0.1", True),
        (["localhost"], "::1", True),
        (["localhost"], ADDRESS, False),
        (["203.0.113.0/24"], ADDRESS, True),
        (["203.0.113.0/29", "2001:db8::/32"], ADDRESS, False),
        (["2001:db8::/32"], "2001:db8::7", True),
        (["0.0.0.0/0", "::/0"], "no address", False),
        (None, ADDRESS, False),
    ],
)
def test_a_caller_is_found_by_its_address(
    realm: AdministeredRealm, hosts: list[str] | None, address: str, *, holds: bool
) -> None:
    conditions = {"client-updater-source-host": {"trusted-hosts": hosts}}
    assert _creation_is_refused(realm, conditions, address=address) is holds


def test_a_caller_is_found_by_its_groups_and_its_roles(realm: AdministeredRealm) -> None:
    for condition, configuration, of_boss, of_clerk in (
        ("client-updater-source-groups", {"groups": ["staff"]}, True, False),
        ("client-updater-source-groups", {"groups": ["/staff"]}, True, False),
        ("client-updater-source-groups", {}, False, False),
        (
            *("client-updater-source-roles", {"roles": ["realm-management.manage-clients"]}),
            *(True, True),
        ),
        ("client-updater-source-roles", {"roles": ["manage-clients"]}, False, False),
        ("client-updater-source-roles", {"roles": ["realm-management"]}, False, False),
    ):
        found = tuple(
            _creation_is_refused(realm, {condition: configuration}, by) for by in ("boss", "clerk")
        )
        assert found == (of_boss, of_clerk), (condition, configuration)


def test_a_role_of_a_client_is_no_other_role_of_the_same_text(realm: AdministeredRealm) -> None:
    """The last dot separates client and role; a dot in the name of a role is written `~.`."""
    owners = {name: realm.change("POST", "clients", {"clientId": name}) for name in ("a", "a.b")}
    account = realm.account("clerk")
    given = (
        (None, "a.b.c", {"a~.b~.c"}),
        (owners["a"], "b.c", {"a.b~.c"}),
        (owners["a.b"], "c", {"a.b.c"}),
        (None, "d~", {"d~"}),
        (owners["a"], "e~.f", {"a.e~~~.f"}),
    )
    written = {text for _, _, texts in given for text in texts} | {"b.c", "c", "a.b", "a.e~.f"}
    for owner, role, holds in given:
        roles = f"clients/{owner}/roles" if owner else "roles"
        mapped = f"users/{account}/role-mappings/" + (f"clients/{owner}" if owner else "realm")
        realm.change("POST", roles, {"name": role})
        (document,) = [each for each in realm.get(roles) if each["name"] == role]
        realm.change("POST", mapped, [document])
        for text in sorted(written):
            condition = {"client-updater-source-roles": {"roles": [text]}}
            refused = _creation_is_refused(realm, condition, "clerk")
            assert refused is (text in holds), (owner, role, text)
        assert realm.ask("DELETE", mapped, [document]).is_success


def test_a_caller_is_found_by_its_right(realm: AdministeredRealm) -> None:
    """A client that changes itself shows its registration access token."""
    made = realm.change("POST", "clients", _client("own"))
    registration = Registration(realm)
    for source, by_itself, by_user in (
        ("ByRegistrationAccessToken", True, False),
        ("ByAuthenticatedUser", False, True),
        ("ByInitialAccessToken", False, False),
        ("ByAnonymous", False, False),
    ):
        token = registration.own(made)
        conditions = {"client-updater-context": {"update-client-source": [source]}}
        with policies_of(realm, REJECT, conditions):
            own = registration.ask("PUT", "default/own", _client("own"), token=token)
            other = realm.ask("PUT", f"clients/{made}", {"clientId": "own"})
        found = (own.status_code == 400, other.status_code == 400)
        assert found == (by_itself, by_user), source
    realm.change("DELETE", f"clients/{made}")
