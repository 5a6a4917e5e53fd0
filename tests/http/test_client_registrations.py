"""Clients that register themselves in Keycloak's words. Keycloak: clients-registrations/default."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import SECRET, Administration
from tests.support.gateway_process import until
from tests.support.registration import Registration
from tests.support.wire import Wire, claims_of

ADMINISTRATORS = {
    "viewer": ["view-clients"],
    "maker": ["create-client"],
    "manager": ["manage-clients"],
    "chief": ["realm-admin"],
    "greater": ["manage-clients", "manage-users"],
    "nobody": [],
}
UNKNOWN = "Not authorized to view client. Not valid token or client credentials provided."
UNCHANGED = "Not authorized to update client. Maybe missing token or bad token type."
POLICY = "Policy '{}' rejected request to client-registration service. Details: {}"
FORBIDDEN = (403, {"error": "insufficient_scope", "error_description": "Forbidden"})
MASK = "**********"


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm."""
    with administered_realm(administration, "of-registrations", ADMINISTRATORS) as made:
        yield made


@pytest.fixture(scope="module")
def service(realm: AdministeredRealm) -> Registration:
    """Return the registration service of the realm."""
    return Registration(realm)


def error(status: int, code: str, text: str) -> tuple[int, dict[str, str]]:
    return status, {"error": code, "error_description": text}


def registered(service: Registration, client_id: str, **fields: Any) -> Any:
    """Register a client with an initial access token."""
    document = {"clientId": client_id, **fields}
    return service.given("POST", "default", document, token=service.initial())


def token(service: Registration, client_id: str, secret: str) -> httpx2.Response:
    form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret}
    return service.realm.administration.http.post(
        f"/realms/{service.realm.name}/protocol/openid-connect/token", data=form
    )


def test_a_client_registers_itself(service: Registration) -> None:
    sent = {"clientId": "self", "redirectUris": ["https://a.test/*"]}
    response = service.ask("POST", "default", sent, token=service.initial())
    assert response.status_code == 201
    assert response.headers["location"] == (
        f"https://gateway.test/realms/{service.realm.name}/clients-registrations/default/self"
    )
    assert response.headers["cache-control"] == "no-store"
    made = response.json()
    order = list(made)
    assert order[order.index("registrationAccessToken") - 1] == "secret"
    own = made.pop("registrationAccessToken")
    shown = service.realm.get(f"clients/{made['id']}")
    del shown["access"]
    assert made == {**shown, "defaultRoles": []}
    assert made["webOrigins"] == ["https://a.test"]
    assert service.given("GET", "default/self", token=own) == {
        **made,
        "registrationAccessToken": own,
    }


def test_a_registered_client_gets_tokens(service: Registration) -> None:
    made = registered(service, "working", serviceAccountsEnabled=True)
    claims = claims_of(token(service, "working", made["secret"]).json()["access_token"])
    assert claims["azp"] == "working"
    assert set(claims["realm_access"]["roles"]) >= {f"default-roles-{service.realm.name}"}


def test_a_client_without_a_name_is_given_one(service: Registration) -> None:
    made = service.given("POST", "default/", {}, token=service.initial())
    assert made["clientId"] == made["id"]


def test_nobody_is_trusted_without_a_token(service: Registration) -> None:
    refusal = error(403, "insufficient_scope", POLICY.format("Trusted Hosts", "Host not trusted."))
    own = registered(service, "trusting")["registrationAccessToken"]
    for sent in (None, own):
        assert service.refused("POST", "default", {"clientId": "anon"}, token=sent) == refusal
    assert service.realm.get("clients?clientId=anon") == []


@pytest.mark.parametrize(
    ("by", "status"),
    [("maker", 201), ("manager", 201), ("viewer", 403), ("nobody", 403)],
)
def test_a_role_lets_somebody_register_clients(service: Registration, by: str, status: int) -> None:
    response = service.ask("POST", "default", {"clientId": f"by-{by}"}, token=service.bearer(by))
    assert response.status_code == status
    assert len(service.realm.get(f"clients?clientId=by-{by}")) == (status == 201)
    if status == 201:
        assert response.json()["registrationAccessToken"]


def test_an_initial_token_registers_so_many_clients(service: Registration) -> None:
    initial = service.initial(count=2)
    for name in ("first-of-two", "second-of-two"):
        service.given("POST", "default", {"clientId": name}, token=initial)
    refusal = error(401, "invalid_token", "No remaining count on initial access token")
    assert service.refused("POST", "default", {"clientId": "third"}, token=initial) == refusal
    assert service.realm.get("clients?clientId=third") == []


def test_a_registration_that_fails_uses_nothing_up(service: Registration) -> None:
    initial = service.initial()
    taken = error(400, "invalid_client_metadata", "Client Identifier in use")
    assert service.refused("POST", "default", {"clientId": "account"}, token=initial) == taken
    assert service.given("POST", "default", {"clientId": "then"}, token=initial)


def test_of_two_who_use_the_last_registration_one_gets_it(service: Registration) -> None:
    initial = service.initial()

    def once(number: int) -> int:
        document = {"clientId": f"racing-{number}"}
        return service.ask("POST", "default", document, token=initial).status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(once, range(4))) == [201, 401, 401, 401]


@pytest.mark.parametrize("change", ["taken back", "expired"])
def test_an_initial_token_that_holds_no_longer_registers_nobody(
    service: Registration, change: str
) -> None:
    made = service.realm.ask("POST", "clients-initial-access", {"expiration": 1}).json()
    if change == "taken back":
        service.realm.change("DELETE", f"clients-initial-access/{made['id']}")
    else:
        wait_until_over(service, made)
    status, said = service.refused("POST", "default", {"clientId": "late"}, token=made["token"])
    assert (status, said["error"]) == (401, "invalid_token")
    assert service.realm.get("clients?clientId=late") == []


def wait_until_over(service: Registration, made: dict[str, Any]) -> None:
    """Wait until whoever makes another token finds that this one is over."""
    ids = {made["id"]}
    until(lambda: ids.isdisjoint(listed(service)), "the token does not expire")


def listed(service: Registration) -> set[str]:
    service.initial(count=0)
    return {one["id"] for one in service.realm.get("clients-initial-access")}


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_an_initial_token_is_for_nothing_else(service: Registration, method: str) -> None:
    registered(service, f"not-by-initial-{method}")
    document = {"clientId": f"not-by-initial-{method}"} if method == "PUT" else None
    text = "Not initial access token allowed" if method == "GET" else UNCHANGED
    refusal = error(401, "invalid_token", text)
    path = f"default/not-by-initial-{method}"
    assert service.refused(method, path, document, token=service.initial()) == refusal


def test_a_client_changes_itself_and_gets_another_token(service: Registration) -> None:
    made = registered(service, "changing", attributes={"a": "1"})
    first = made["registrationAccessToken"]
    sent = {"clientId": "changing", "name": "N", "attributes": {"b": "2"}}
    after = service.given("PUT", "default/changing", sent, token=first)
    second = after["registrationAccessToken"]
    assert (after["name"], after["attributes"]["a"], after["attributes"]["b"]) == ("N", "1", "2")
    refusal = error(401, "invalid_token", UNCHANGED)
    assert service.refused("PUT", "default/changing", sent, token=first) == refusal
    assert service.refused("GET", "default/changing", token=first) == error(
        401, "invalid_token", UNKNOWN
    )
    assert service.given("GET", "default/changing", token=second)["name"] == "N"


def test_of_two_who_use_a_token_at_once_one_changes_the_client(service: Registration) -> None:
    own = registered(service, "contested")["registrationAccessToken"]

    def change(number: int) -> int:
        sent = {"clientId": "contested", "name": f"N{number}"}
        return service.ask("PUT", "default/contested", sent, token=own).status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(change, range(4))) == [200, 401, 401, 401]


def test_a_token_of_an_administrator_replaces_that_of_the_client(service: Registration) -> None:
    made = registered(service, "replaced")
    own = service.own(made["id"])
    refusal = error(401, "invalid_token", UNKNOWN)
    before = made["registrationAccessToken"]
    assert service.refused("GET", "default/replaced", token=before) == refusal
    assert service.given("GET", "default/replaced", token=own)["clientId"] == "replaced"


def test_a_disabled_client_cannot_enable_itself(service: Registration) -> None:
    made = registered(service, "closed")
    own, path = made["registrationAccessToken"], f"clients/{made['id']}"
    service.realm.change("PUT", path, {"enabled": False})
    sent = {"clientId": "closed", "enabled": True}
    for method, document, text in (
        ("GET", None, UNKNOWN),
        ("PUT", sent, UNCHANGED),
        ("DELETE", None, UNCHANGED),
    ):
        refusal = error(401, "invalid_token", text)
        assert service.refused(method, "default/closed", document, token=own) == refusal
    assert service.realm.get(path)["enabled"] is False
    service.realm.change("PUT", path, {"enabled": True})
    assert service.given("GET", "default/closed", token=own)["enabled"] is True


def test_a_change_that_fails_leaves_the_token(service: Registration) -> None:
    made = registered(service, "steady")
    own = made["registrationAccessToken"]
    renamed = error(400, "invalid_client_metadata", "Client Identifier modified")
    for sent in ({"clientId": "other"}, {"name": "N"}):
        assert service.refused("PUT", "default/steady", sent, token=own) == renamed
    assert service.given("GET", "default/steady", token=own) == made


def test_a_client_is_not_told_of_another(service: Registration) -> None:
    own = registered(service, "mine")["registrationAccessToken"]
    registered(service, "theirs")
    for path in ("default/theirs", "openid-connect/theirs", "install/theirs", "default/nobody"):
        refusal = error(401, "invalid_token", UNKNOWN)
        assert service.refused("GET", path, token=own) == refusal
    refusal = error(401, "invalid_token", UNCHANGED)
    sent = {"clientId": "theirs", "name": "mine now"}
    assert service.refused("PUT", "default/theirs", sent, token=own) == refusal
    assert service.refused("DELETE", "default/theirs", token=own) == refusal


def test_a_client_removes_itself(service: Registration) -> None:
    made = registered(service, "leaving")
    own = made["registrationAccessToken"]
    assert service.ask("DELETE", "default/leaving", token=own).status_code == 204
    assert service.realm.refused("GET", f"clients/{made['id']}")[0] == 404
    refusal = error(401, "invalid_token", UNCHANGED)
    assert service.refused("DELETE", "default/leaving", token=own) == refusal
    again = registered(service, "leaving", id=made["id"])
    assert service.refused("GET", "default/leaving", token=own)[0] == 401
    assert service.given("GET", "default/leaving", token=again["registrationAccessToken"])


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("Bearer junk", "Failed decode token"),
        ("bearer a.b.c", "Failed decode token"),
        ("Bearer", UNKNOWN),
        ("Bearer a b", UNKNOWN),
        ("Basic YTpi", UNKNOWN),
    ],
)
def test_a_token_that_is_none_is_refused(service: Registration, header: str, text: str) -> None:
    response = service.ask("GET", "default/account", Authorization=header)
    assert (response.status_code, response.json()) == error(401, "invalid_token", text)


def test_a_token_of_another_realm_or_kind_is_refused(service: Registration) -> None:
    administration = service.realm.administration
    made = administration.ask("POST", "other/clients-initial-access", document={"count": 1})
    signed_in = administration.signed_in("peggy")
    for sent in (
        made.json()["token"],
        administration.token("manage-clients", "other"),
        administration.token(),
        signed_in["refresh_token"],
    ):
        refusal = error(401, "invalid_token", "Failed decode token")
        document = {"clientId": "foreign"}
        assert service.refused("POST", "default", document, token=sent) == refusal
    theirs = Registration(AdministeredRealm(administration, "guarded"))
    refusal = error(401, "invalid_token", "Failed decode token")
    refresh = signed_in["refresh_token"]
    assert theirs.refused("POST", "default", {"clientId": "x"}, token=refresh) == refusal


@pytest.mark.parametrize(
    ("by", "see", "change"),
    [("viewer", 200, 403), ("manager", 200, 200), ("maker", 403, 403), ("nobody", 403, 403)],
)
def test_roles_let_somebody_see_and_change_clients(
    service: Registration, by: str, see: int, change: int
) -> None:
    made = registered(service, f"seen-by-{by}")
    path, sent = f"default/seen-by-{by}", {"clientId": f"seen-by-{by}", "name": by}
    bearer = service.bearer(by)
    response = service.ask("GET", path, token=bearer)
    assert response.status_code == see
    if see == 200:
        assert response.json()["secret"] == made["secret"]
        assert "registrationAccessToken" not in response.json()
    assert service.ask("PUT", path, sent, token=bearer).status_code == change
    removed = service.ask("DELETE", path, token=bearer).status_code
    assert removed == (204 if change == 200 else 403)


@pytest.mark.parametrize("by", ["manager", "nobody"])
def test_a_client_that_is_not_there_is_told_to_whoever_may_know(
    service: Registration, by: str
) -> None:
    missing = error(404, "invalid_request", "Client not found")
    expected = missing if by == "manager" else FORBIDDEN
    for method in ("GET", "PUT", "DELETE"):
        document = {"clientId": "nobody-there"} if method == "PUT" else None
        found = service.refused(method, "default/nobody-there", document, token=service.bearer(by))
        assert found == expected


def test_nobody_becomes_who_may_do_more(service: Registration) -> None:
    bearer = service.bearer("manager")
    assert service.given("GET", "default/greater", token=bearer)["secret"] == MASK
    assert service.given("GET", "openid-connect/greater", token=bearer)["client_secret"] == MASK
    assert service.given("GET", "install/greater", token=bearer)["credentials"] == {"secret": MASK}
    sent = {"clientId": "greater", "secret": "known"}
    assert service.refused("PUT", "default/greater", sent, token=bearer) == FORBIDDEN
    sent = {"client_id": "greater", "token_endpoint_auth_method": "none"}
    assert service.refused("PUT", "openid-connect/greater", sent, token=bearer) == FORBIDDEN
    sent = {"clientId": "greater", "name": "greater still"}
    assert service.refused("PUT", "default/greater", sent, token=bearer) == FORBIDDEN
    for provider in ("default", "openid-connect"):
        assert service.refused("DELETE", f"{provider}/greater", token=bearer) == FORBIDDEN
    assert service.realm.get("clients/client-of-greater")["secret"] == SECRET


def test_a_token_that_outlives_its_clients_rise_tells_no_secret(service: Registration) -> None:
    made = registered(service, "rising", serviceAccountsEnabled=True, secret="before")
    own = made["registrationAccessToken"]
    realm = service.realm
    account = realm.get(f"clients/{made['id']}/service-account-user")["id"]
    (holder,) = realm.get("clients?clientId=realm-management")
    role = realm.get(f"clients/{holder['id']}/roles/manage-users")
    realm.change("POST", f"users/{account}/role-mappings/clients/{holder['id']}", [role])
    assert service.given("GET", "default/rising", token=own)["secret"] == MASK
    sent = {"clientId": "rising", "secret": "mine"}
    assert service.refused("PUT", "default/rising", sent, token=own) == FORBIDDEN
    assert realm.get(f"clients/{made['id']}")["secret"] == "before"


def test_nobody_changes_the_clients_that_every_realm_has(service: Registration) -> None:
    bearer = service.bearer("manager")
    for name in ("realm-management", "account"):
        assert service.refused("DELETE", f"default/{name}", token=bearer) == FORBIDDEN
    sent = {"clientId": "realm-management", "enabled": False}
    assert service.refused("PUT", "default/realm-management", sent, token=bearer) == FORBIDDEN
    (holder,) = service.realm.get("clients?clientId=realm-management")
    assert holder["enabled"]


def test_no_client_of_administrative_roles_is_registered(administration: Administration) -> None:
    service = Registration(AdministeredRealm(administration, "master"))
    sent = {"clientId": "of-a-realm-to-come-realm"}
    assert service.refused("POST", "default", sent, token=service.initial()) == FORBIDDEN


@pytest.mark.parametrize(
    ("fields", "code", "text"),
    [
        ({"clientId": ""}, "invalid_client_metadata", "Client ID cannot be blank"),
        (
            {"redirectUris": ["http://a#b"]},
            "invalid_redirect_uri",
            "A redirect URI must not contain an URL fragment",
        ),
        (
            {"rootUrl": "javascript:x"},
            "invalid_client_metadata",
            "Root URL uses an illegal scheme",
        ),
        ({"enabled": "maybe"}, "invalid_client_metadata", None),
        ({"clientId": "\0"}, "invalid_request", None),
        (
            {"attributes": {"tls.client.certificate.bound.access.tokens": "yes"}},
            "invalid_client_metadata",
            None,
        ),
        (
            {
                "clientAuthenticatorType": "client-x509",
                "attributes": {"x509.casubjectdn": "Device CA"},
            },
            "invalid_client_metadata",
            None,
        ),
    ],
)
def test_what_is_wrong_with_a_client_is_told(
    service: Registration, fields: dict[str, Any], code: str, text: str | None
) -> None:
    document = {"clientId": "wrong", **fields}
    status, said = service.refused("POST", "default", document, token=service.bearer("maker"))
    assert (status, said["error"]) == (400, code)
    assert text is None or said["error_description"] == text
    assert service.realm.get("clients?clientId=wrong") == []


def test_an_unknown_field_is_named(service: Registration) -> None:
    for provider, name in (
        ("default", "ClientRepresentation"),
        ("openid-connect", "OIDCClientRepresentation"),
    ):
        status, said = service.refused(
            "POST", provider, {"bogus": 1}, token=service.bearer("maker")
        )
        assert status == 400
        assert said["error"].startswith(
            f'Invalid json representation for {name}. Unrecognized field "bogus"'
        )


@pytest.mark.parametrize(
    ("fields", "policy", "details"),
    [
        (
            {
                "protocolMappers": [
                    {
                        "name": "m",
                        "protocol": "openid-connect",
                        "protocolMapper": "oidc-hardcoded-claim-mapper",
                        "config": {},
                    }
                ]
            },
            "Allowed Protocol Mapper Types",
            "ProtocolMapper type not allowed",
        ),
        (
            {"defaultClientScopes": ["nobody's"]},
            "Allowed Client Scopes",
            "Not permitted to use specified clientScope",
        ),
        (
            {"optionalClientScopes": ["email", "role_list-or-what"]},
            "Allowed Client Scopes",
            "Not permitted to use specified clientScope",
        ),
    ],
)
@pytest.mark.parametrize("by", ["initial", "manager"])
def test_policies_say_what_no_client_registers_for_itself(
    service: Registration, fields: dict[str, Any], policy: str, details: str, by: str
) -> None:
    sent = service.initial() if by == "initial" else service.bearer(by)
    refusal = error(403, "insufficient_scope", POLICY.format(policy, details))
    document = {"clientId": "greedy", **fields}
    assert service.refused("POST", "default", document, token=sent) == refusal
    assert service.realm.get("clients?clientId=greedy") == []


def test_no_client_chooses_by_which_flow_its_users_sign_in(service: Registration) -> None:
    flows = {flow["alias"]: flow["id"] for flow in service.realm.get("authentication/flows")}
    chosen = {"authenticationFlowBindingOverrides": {"direct_grant": flows["direct grant"]}}
    text = "The flows of a client are chosen by administrators"
    refusal = error(403, "insufficient_scope", text)
    document = {"clientId": "choosing", **chosen}
    assert service.refused("POST", "default", document, token=service.initial()) == refusal
    assert service.realm.get("clients?clientId=choosing") == []
    own = registered(service, "choosing")["registrationAccessToken"]
    assert service.refused("PUT", "default/choosing", document, token=own) == refusal
    by_one_right = service.refused(
        "PUT", "default/choosing", document, token=service.bearer("manager")
    )
    assert (by_one_right[0], by_one_right[1]["error"]) == (403, "insufficient_scope")
    service.given("PUT", "default/choosing", document, token=service.bearer("chief"))
    kept = service.given("PUT", "default/choosing", {**document, "name": "x"}, token=own)
    assert (
        kept["authenticationFlowBindingOverrides"] == chosen["authenticationFlowBindingOverrides"]
    )
    own = kept["registrationAccessToken"]
    freed = {"clientId": "choosing", "authenticationFlowBindingOverrides": {"direct_grant": ""}}
    assert service.refused("PUT", "default/choosing", freed, token=own) == refusal
    service.given("DELETE", "default/choosing", token=own)


def test_no_client_names_the_levels_of_its_sign_ins(service: Registration) -> None:
    """By names of its own its tokens would say that users have proven more than they have."""
    chosen = {"attributes": {"acr.loa.map": '{"gold": 1}'}}
    refusal = error(403, "insufficient_scope", "The levels of a client are named by administrators")
    document = {"clientId": "naming", **chosen}
    assert service.refused("POST", "default", document, token=service.initial()) == refusal
    own = registered(service, "naming")["registrationAccessToken"]
    assert service.refused("PUT", "default/naming", document, token=own) == refusal
    service.given("PUT", "default/naming", document, token=service.bearer("chief"))
    kept = service.given("PUT", "default/naming", {**document, "name": "x"}, token=own)
    service.given("DELETE", "default/naming", token=kept["registrationAccessToken"])


def test_policies_leave_what_is_harmless(service: Registration) -> None:
    mapper = {
        "name": "m",
        "protocol": "openid-connect",
        "protocolMapper": "oidc-full-name-mapper",
        "config": {},
    }
    made = registered(
        service, "harmless", protocolMappers=[mapper], defaultClientScopes=["offline_access"]
    )
    assert made["defaultClientScopes"] == ["offline_access"]
    assert [one["name"] for one in made["protocolMappers"]] == ["m"]


def test_a_mapper_that_an_administrator_gave_stays(service: Registration) -> None:
    made = registered(service, "mapped")
    mapper = {
        "name": "m",
        "protocol": "openid-connect",
        "protocolMapper": "oidc-audience-mapper",
        "config": {"included.custom.audience": "x"},
    }
    service.realm.change("PUT", f"clients/{made['id']}", {"protocolMappers": [mapper]})
    own = made["registrationAccessToken"]
    seen = service.given("GET", "default/mapped", token=own)
    after = service.given("PUT", "default/mapped", {**seen, "name": "N"}, token=own)
    assert after["protocolMappers"] == seen["protocolMappers"]
    mapper["name"] = "another"
    refusal = service.refused(
        "PUT",
        "default/mapped",
        {"clientId": "mapped", "protocolMappers": [mapper]},
        token=after["registrationAccessToken"],
    )
    assert refusal[0] == 403


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b"", 400),
        (b'{"clientId":"a","clientId":"b"}', 400),
        (b'{"name":"' + b"x" * 66_000 + b'"}', 413),
    ],
)
def test_a_body_that_is_no_client_is_refused(
    service: Registration, content: bytes, status: int
) -> None:
    response = service.ask(
        "POST", "default", token=service.bearer("maker"), content=content, Connection="close"
    )
    assert response.status_code == status


def test_a_body_of_another_type_is_refused(service: Registration) -> None:
    response = service.ask(
        "POST",
        "default",
        token=service.bearer("maker"),
        content=b"{}",
        **{"Content-Type": "text/plain"},
    )
    assert response.status_code == 415


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "default", 405),
        ("PUT", "default", 405),
        ("POST", "default/x", 405),
        ("POST", "install", 405),
        ("PUT", "install/x", 405),
        ("PATCH", "default/x", 405),
        ("POST", "nope", 404),
        ("GET", "nope/x", 404),
    ],
)
def test_what_is_not_there_is_not_there(
    service: Registration, method: str, path: str, status: int
) -> None:
    response = service.ask(method, path, {}, token=service.bearer("manager"))
    assert response.status_code == status
    if status == 404:
        assert response.json() == {"error": "Client registration provider not found"}


def test_an_adapter_is_told_of_its_client(service: Registration) -> None:
    made = registered(service, "adapted", secret="s3cret")
    told = {
        "realm": service.realm.name,
        "auth-server-url": "https://gateway.test/",
        "ssl-required": "none",
        "resource": "adapted",
        "credentials": {"secret": "s3cret"},
        "confidential-port": 0,
    }
    own = made["registrationAccessToken"]
    assert service.given("GET", "install/adapted", token=own) == told
    assert service.given("GET", "install/adapted", token=service.bearer("viewer")) == told
    assert service.refused("GET", "install/adapted", token=service.bearer("nobody")) == FORBIDDEN


@pytest.mark.parametrize(
    ("credentials", "text"),
    [
        ("proving:s3cret", None),
        ("proving:wrong", "Failed to authenticate client"),
        ("viewer:" + SECRET, "Different client authenticated"),
        ("", "Failed to authenticate client"),
    ],
)
def test_an_adapter_may_prove_itself_as_the_client(
    service: Registration, credentials: str, text: str | None
) -> None:
    if not service.realm.get("clients?clientId=proving"):
        registered(service, "proving", secret="s3cret")
    name, _, secret = credentials.partition(":")
    header = httpx2.BasicAuth(name, secret) if name else None
    http = service.realm.administration.http
    url = f"/realms/{service.realm.name}/clients-registrations/install/proving"
    response = http.get(url, auth=header)
    if text is None:
        assert response.json()["credentials"] == {"secret": "s3cret"}
    else:
        expected = error(401, "invalid_token", text)
        assert (response.status_code, response.json()) == expected


def test_the_adapter_of_a_public_client_has_nothing_to_prove(service: Registration) -> None:
    registered(service, "everybodys", publicClient=True)
    response = service.ask("GET", "install/everybodys")
    assert response.json() == {
        "realm": service.realm.name,
        "auth-server-url": "https://gateway.test/",
        "ssl-required": "none",
        "resource": "everybodys",
        "public-client": True,
        "confidential-port": 0,
    }
    assert service.refused("GET", "install/nobodys") == error(401, "invalid_token", UNKNOWN)


def test_a_bound_token_needs_its_certificate(wire: Wire) -> None:
    """RFC 8705 §3; attacks A19."""
    bearer = {"Authorization": f"Bearer {wire.device_token('device-1', 'device-1')}"}
    path = "/realms/wire/clients-registrations/default/svc"
    answers = {}
    for name in ("device-1", "device-2"):
        proof = {"ssl-client-cert": wire.certificates[name], "ssl-client-verify": "SUCCESS"}
        answers[name] = wire.http.get(path, headers=bearer | proof)
    # The device may do nothing here, but it is known who asks.
    assert answers["device-1"].status_code == 403
    text = "Client certificate missing, or its thumbprint and one in the token did NOT match"
    refusal = error(401, "invalid_token", text)
    for answer in (answers["device-2"], wire.http.get(path, headers=bearer)):
        assert (answer.status_code, answer.json()) == refusal
