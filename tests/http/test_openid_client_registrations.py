"""Clients that register themselves in the words of RFC 7591, and change by those of RFC 7592."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.administered_realm import administered_realm
from tests.support.administration import Administration
from tests.support.client_documents import serving_documents
from tests.support.registration import Registration

OPTIONAL = "address microprofile-jwt offline_access organization phone"
X_OF_KEY = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
JWKS = {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": X_OF_KEY}]}


@pytest.fixture(scope="module")
def service(administration: Administration) -> Iterator[Registration]:
    """Make a realm and return its registration service."""
    with administered_realm(
        administration, "of-openid-registrations", {"maker": ["create-client"]}
    ) as made:
        yield Registration(made)


def registered(service: Registration, **metadata: Any) -> Any:
    return service.given("POST", "openid-connect", metadata, token=service.bearer("maker"))


def test_a_client_chooses_pairwise_subjects_and_their_sector(service: Registration) -> None:
    """Spec: OpenID Connect Dynamic Client Registration 1.0 §5; attacks C21."""
    uris = ["https://a.test/cb", "https://b.test/cb"]
    with serving_documents() as served:
        served.documents = {"/good": json.dumps(uris).encode(), "/bad": b'["https://a.test/cb"]'}
        statuses = {
            name: service.ask(
                *("POST", "openid-connect"),
                {
                    "redirect_uris": uris,
                    "subject_type": "pairwise",
                    "sector_identifier_uri": f"{served.url}/{name}",
                },
                token=service.initial(),
            )
            .json()
            .get("error")
            for name in ("bad", "none")
        }
    assert statuses == {"bad": "invalid_client_metadata", "none": "invalid_client_metadata"}
    made = registered(service, redirect_uris=uris[:1], subject_type="pairwise")
    assert made["subject_type"] == "pairwise"
    mappers = as_administrator(service, made)["protocolMappers"]
    assert [each["protocolMapper"] for each in mappers] == ["oidc-sha256-pairwise-sub-mapper"]


def test_a_token_that_registers_no_client_fetches_no_document(service: Registration) -> None:
    """attacks: C21."""
    spent = service.initial()
    service.given("POST", "openid-connect", {}, token=spent)
    with serving_documents() as served:
        sector = {"subject_type": "pairwise", "sector_identifier_uri": f"{served.url}/sector"}
        refused = service.refused("POST", "openid-connect", sector, token=spent)
        assert (refused[0], refused[1]["error"]) == (401, "invalid_token")
        assert served.asked == []


def test_the_address_that_begins_a_sign_in_is_kept(service: Registration) -> None:
    """Spec: OpenID Connect Core §4."""
    made = registered(service, initiate_login_uri="https://a.test/login")
    assert made["initiate_login_uri"] == "https://a.test/login"


def as_administrator(service: Registration, made: dict[str, Any]) -> dict[str, Any]:
    (found,) = service.realm.get(f"clients?clientId={made['client_id']}")
    client: dict[str, Any] = found
    return client


def made_here(client: dict[str, Any]) -> dict[str, str]:
    ours = {"realm_client", "client.secret.creation.time"}
    return {name: text for name, text in client["attributes"].items() if name not in ours}


def test_a_client_is_told_what_it_has_become(service: Registration) -> None:
    sent = {"client_name": "N", "redirect_uris": ["https://a.test/cb"]}
    response = service.ask("POST", "openid-connect", sent, token=service.initial())
    assert response.status_code == 201
    made = response.json()
    name = made["client_id"]
    url = (
        f"https://gateway.test/realms/{service.realm.name}"
        f"/clients-registrations/openid-connect/{name}"
    )
    assert response.headers["location"] == url
    client = as_administrator(service, made)
    own = made["registration_access_token"]
    assert made["client_id_issued_at"] > 1_700_000_000
    assert list(made.items()) == [
        ("redirect_uris", ["https://a.test/cb"]),
        ("token_endpoint_auth_method", "client_secret_basic"),
        ("grant_types", ["authorization_code", "refresh_token"]),
        ("response_types", ["code", "none"]),
        ("client_id", name),
        ("client_secret", client["secret"]),
        ("client_name", "N"),
        ("scope", OPTIONAL),
        ("subject_type", "public"),
        ("request_uris", []),
        ("tls_client_certificate_bound_access_tokens", False),
        ("dpop_bound_access_tokens", False),
        ("post_logout_redirect_uris", ["https://a.test/cb"]),
        ("client_id_issued_at", made["client_id_issued_at"]),
        ("client_secret_expires_at", 0),
        ("registration_client_uri", url),
        ("registration_access_token", own),
        ("backchannel_logout_session_required", False),
        ("require_pushed_authorization_requests", False),
        ("frontchannel_logout_session_required", False),
    ]
    del made["client_id_issued_at"]
    assert service.given("GET", f"openid-connect/{name}", token=own) == made
    assert client["webOrigins"] == ["https://a.test"]


FULL = {
    "client_name": "full",
    "redirect_uris": ["https://a.test/cb"],
    "token_endpoint_auth_method": "client_secret_post",
    "token_endpoint_auth_signing_alg": "ES256",
    "client_uri": "https://a.test",
    "logo_uri": "https://a.test/l.png",
    "policy_uri": "https://a.test/p",
    "tos_uri": "https://a.test/t",
    "scope": "phone email",
    "jwks_uri": "https://a.test/jwks",
    "id_token_signed_response_alg": "ES256",
    "userinfo_signed_response_alg": "ES384",
    "request_object_signing_alg": "any",
    "request_uris": ["https://a.test/r"],
    "tls_client_certificate_bound_access_tokens": True,
    "dpop_bound_access_tokens": False,
    "post_logout_redirect_uris": ["https://a.test/out", "https://a.test/over"],
    "backchannel_logout_uri": "https://a.test/bc",
    "backchannel_logout_session_required": True,
    "backchannel_token_delivery_mode": "poll",
    "authorization_signed_response_alg": "RS256",
    "require_pushed_authorization_requests": False,
    "frontchannel_logout_uri": "https://a.test/fc",
    "frontchannel_logout_session_required": True,
}


def test_metadata_comes_back_and_is_the_clients(service: Registration) -> None:
    ignored = {"contacts": ["a@b"], "software_id": "s", "client_secret": "mine", "jwks": None}
    made = registered(service, **FULL, **ignored)
    assert {name: made[name] for name in FULL} == FULL
    assert made["client_secret"] != "mine"
    client = as_administrator(service, made)
    assert (client["name"], client["baseUrl"]) == ("full", "https://a.test")
    assert client["frontchannelLogout"]
    assert client["defaultClientScopes"] == ["basic"]
    assert sorted(client["optionalClientScopes"]) == ["email", "phone"]
    assert made_here(client) == {
        "client.secret.authentication.allowed.method": "client_secret_post",
        "token.endpoint.auth.signing.alg": "ES256",
        "logoUri": "https://a.test/l.png",
        "policyUri": "https://a.test/p",
        "tosUri": "https://a.test/t",
        "use.jwks.url": "true",
        "use.jwks.string": "false",
        "jwks.url": "https://a.test/jwks",
        "id.token.signed.response.alg": "ES256",
        "user.info.response.signature.alg": "ES384",
        "request.object.signature.alg": "any",
        "request.uris": "https://a.test/r",
        "tls.client.certificate.bound.access.tokens": "true",
        "dpop.bound.access.tokens": "false",
        "post.logout.redirect.uris": "https://a.test/out##https://a.test/over",
        "backchannel.logout.url": "https://a.test/bc",
        "backchannel.logout.session.required": "true",
        "backchannel.logout.revoke.offline.tokens": "false",
        "ciba.backchannel.token.delivery.mode": "poll",
        "authorization.signed.response.alg": "RS256",
        "require.pushed.authorization.requests": "false",
        "frontchannel.logout.url": "https://a.test/fc",
        "frontchannel.logout.session.required": "true",
    }


@pytest.mark.parametrize("sent", [None, False, True])
def test_logout_tokens_name_the_session_if_the_client_asks(
    service: Registration, *, sent: bool | None
) -> None:
    """OpenID Connect Back-Channel Logout §2.2: false by default."""
    name = "backchannel_logout_session_required"
    metadata = {"redirect_uris": ["https://a.test/cb"], "backchannel_logout_uri": "https://a.test/"}
    made = registered(service, **metadata, **({} if sent is None else {name: sent}))
    assert made[name] is bool(sent)
    stored = as_administrator(service, made)["attributes"]["backchannel.logout.session.required"]
    assert stored == str(bool(sent)).lower()
    path, token = f"openid-connect/{made['client_id']}", made["registration_access_token"]
    assert service.given("GET", path, token=token)[name] is bool(sent)


def test_what_is_not_said_stays(service: Registration) -> None:
    made = registered(service, **FULL)
    path = f"openid-connect/{made['client_id']}"
    own = made["registration_access_token"]
    sent = {"client_id": made["client_id"], "client_name": "changed", "client_secret": "mine"}
    after = service.given("PUT", path, sent, token=own)
    assert after.pop("registration_access_token") != own
    for name in ("registration_access_token", "client_id_issued_at"):
        del made[name]
    assert after == {**made, "client_name": "changed"}


def test_what_is_read_may_be_sent_back(service: Registration) -> None:
    made = registered(service, **FULL)
    path = f"openid-connect/{made['client_id']}"
    before = as_administrator(service, made)
    after = service.given("PUT", path, made, token=made["registration_access_token"])
    assert made["client_id_issued_at"]
    assert after["client_secret"] == made["client_secret"]
    client = as_administrator(service, made)
    attributes = before.pop("attributes")
    assert attributes.items() <= client.pop("attributes").items()
    assert client == before


@pytest.mark.parametrize(
    ("method", "more", "authenticator"),
    [
        ("client_secret_basic", {}, "client-secret"),
        ("client_secret_post", {}, "client-secret"),
        ("client_secret_jwt", {}, "client-secret-jwt"),
        ("private_key_jwt", {"jwks_uri": "https://a.test/j"}, "client-jwt"),
        ("private_key_jwt", {"jwks": JWKS}, "client-jwt"),
        ("tls_client_auth", {"tls_client_auth_subject_dn": "CN=x"}, "client-x509"),
        ("none", {}, "client-secret"),
    ],
)
def test_a_client_says_how_it_proves_itself(
    service: Registration, method: str, more: dict[str, Any], authenticator: str
) -> None:
    made = registered(service, token_endpoint_auth_method=method, **more)
    assert made["token_endpoint_auth_method"] == method
    assert {name: made[name] for name in more} == more
    has_secret = method.startswith("client_secret")
    assert ("client_secret" in made) == ("client_secret_expires_at" in made) == has_secret
    client = as_administrator(service, made)
    assert client["clientAuthenticatorType"] == authenticator
    assert client["publicClient"] == (method == "none")
    if method == "tls_client_auth":
        assert made_here(client) == {
            "x509.subjectdn": "CN=x",
            "x509.allow.regex.pattern.comparison": "false",
            "backchannel.logout.session.required": "false",
            "backchannel.logout.revoke.offline.tokens": "false",
            "frontchannel.logout.session.required": "false",
        }


FLOWS = (
    "standardFlowEnabled",
    "implicitFlowEnabled",
    "directAccessGrantsEnabled",
    "serviceAccountsEnabled",
)
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


@pytest.mark.parametrize(
    ("sent", "flows", "grants", "responses"),
    [
        (
            {},
            (True, False, False, False),
            ["authorization_code", "refresh_token"],
            ["code", "none"],
        ),
        (
            {"grant_types": ["client_credentials"]},
            (False, False, False, True),
            ["client_credentials"],
            [],
        ),
        (
            {"grant_types": ["password", "refresh_token"]},
            (False, False, True, False),
            ["password", "refresh_token"],
            [],
        ),
        (
            {"grant_types": ["implicit"]},
            (False, True, False, False),
            ["implicit"],
            ["id_token", "id_token token"],
        ),
        (
            {"grant_types": ["authorization_code", "implicit"]},
            (True, True, False, False),
            ["authorization_code", "implicit"],
            [
                *("code", "none", "id_token", "id_token token"),
                *("code id_token", "code token", "code id_token token"),
            ],
        ),
        ({"grant_types": [DEVICE]}, (False, False, False, False), [DEVICE], []),
        ({"grant_types": ["foo"]}, (False, False, False, False), [], []),
        (
            {"grant_types": []},
            (True, False, False, False),
            ["authorization_code"],
            ["code", "none"],
        ),
        (
            {"response_types": ["id_token"]},
            (False, True, False, False),
            ["implicit", "refresh_token"],
            ["id_token", "id_token token"],
        ),
        (
            {"response_types": []},
            (True, False, False, False),
            ["authorization_code", "refresh_token"],
            ["code", "none"],
        ),
        (
            {"grant_types": ["authorization_code"], "response_types": ["token"]},
            (False, True, False, False),
            ["implicit"],
            ["id_token", "id_token token"],
        ),
    ],
)
def test_grants_and_responses_switch_flows(
    service: Registration,
    sent: dict[str, Any],
    flows: tuple[bool, ...],
    grants: list[str],
    responses: list[str],
) -> None:
    made = registered(service, **sent)
    assert (made["grant_types"], made["response_types"]) == (grants, responses)
    client = as_administrator(service, made)
    assert tuple(client[name] for name in FLOWS) == flows


def test_a_change_switches_only_what_it_names(service: Registration) -> None:
    made = registered(service, grant_types=["client_credentials"])
    path = f"openid-connect/{made['client_id']}"
    sent = {"client_id": made["client_id"], "client_name": "N"}
    after = service.given("PUT", path, sent, token=made["registration_access_token"])
    assert after["grant_types"] == ["client_credentials"]
    own = after["registration_access_token"]
    sent = {"client_id": made["client_id"], "grant_types": ["password"]}
    assert service.given("PUT", path, sent, token=own)["grant_types"] == ["password"]
    assert not as_administrator(service, made)["serviceAccountsEnabled"]


def test_scopes_to_ask_for_are_changed(service: Registration) -> None:
    made = registered(service)
    path = f"openid-connect/{made['client_id']}"
    sent = {"client_id": made["client_id"], "scope": "address email"}
    after = service.given("PUT", path, sent, token=made["registration_access_token"])
    assert after["scope"] == "address"
    client = as_administrator(service, made)
    assert "email" in client["defaultClientScopes"]
    sent["scope"] = "nobody's"
    own = after["registration_access_token"]
    status, said = service.refused("PUT", path, sent, token=own)
    assert (status, said["error"]) == (403, "insufficient_scope")
    assert service.given("GET", path, token=own)["scope"] == "address"


def test_a_scope_that_an_administrator_gave_is_kept(service: Registration) -> None:
    realm, made = service.realm, registered(service)
    scope = realm.change("POST", "client-scopes", {"name": "given", "protocol": "openid-connect"})
    client = as_administrator(service, made)["id"]
    realm.change("PUT", f"clients/{client}/optional-client-scopes/{scope}")
    path, own = f"openid-connect/{made['client_id']}", made["registration_access_token"]
    sent = {"client_id": made["client_id"], "scope": "given phone"}
    after = service.given("PUT", path, sent, token=own)
    assert set(after["scope"].split()) == {"given", "phone"}
    realm.change("DELETE", f"clients/{client}/optional-client-scopes/{scope}")
    own = after["registration_access_token"]
    assert service.refused("PUT", path, sent, token=own)[0] == 403


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ({"client_id": "chosen"}, "invalid_client_metadata"),
        ({"redirect_uris": ["javascript:x"]}, "invalid_redirect_uri"),
        ({"redirect_uris": "https://a"}, "invalid_client_metadata"),
        ({"client_uri": "data:x"}, "invalid_client_metadata"),
        ({"token_endpoint_auth_method": "foo"}, "invalid_client_metadata"),
        ({"token_endpoint_auth_method": "self_signed_tls_client_auth"}, "invalid_client_metadata"),
        (
            {"token_endpoint_auth_method": "tls_client_auth", "tls_client_auth_subject_dn": "x"},
            "invalid_client_metadata",
        ),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "invalid_client_metadata"),
        (
            {"token_endpoint_auth_method": "private_key_jwt", "jwks": {"keys": []}},
            "invalid_client_metadata",
        ),
        ({"jwks": {}}, "invalid_client_metadata"),
        ({"jwks": {"keys": [{"kty": "oct", "k": "AQ"}]}}, "invalid_client_metadata"),
        ({"jwks": JWKS, "jwks_uri": "https://a"}, "invalid_client_metadata"),
        ({"jwks_uri": "nope"}, "invalid_client_metadata"),
        ({"response_types": ["foo"]}, "invalid_client_metadata"),
        ({"subject_type": "private"}, "invalid_client_metadata"),
        ({"initiate_login_uri": "http://a.test/login"}, "invalid_client_metadata"),
        ({"client_name": []}, "invalid_client_metadata"),
        ({"client_name": "x" * 256}, "invalid_client_metadata"),
        ({"dpop_bound_access_tokens": "maybe"}, "invalid_client_metadata"),
        ({"scope": "nobody's"}, "insufficient_scope"),
    ],
)
def test_what_cannot_be_is_refused(service: Registration, sent: dict[str, Any], code: str) -> None:
    before = service.realm.get("clients")
    response = service.ask("POST", "openid-connect", sent, token=service.bearer("maker"))
    assert response.status_code in {400, 403}
    assert response.json()["error"] == code
    assert service.realm.get("clients") == before


def test_a_client_keeps_its_name(service: Registration) -> None:
    made = registered(service)
    own = made["registration_access_token"]
    path = f"openid-connect/{made['client_id']}"
    expected = {
        "error": "invalid_client_metadata",
        "error_description": "Client Identifier modified",
    }
    for sent in ({"client_id": "other"}, {"client_name": "N"}):
        assert service.refused("PUT", path, sent, token=own) == (400, expected)
    assert service.ask("DELETE", path, token=own).status_code == 204
    assert service.realm.get(f"clients?clientId={made['client_id']}") == []


def test_metadata_without_effect_are_not_registered(service: Registration) -> None:
    """RFC 7591 §3.2.1: the answer lists what was registered. Keycloak drops them too."""
    dropped = {"default_max_age": 60, "require_auth_time": True, "contacts": ["a@b.test"]}
    made = registered(service, redirect_uris=["https://a.test/cb"], **dropped)
    assert not dropped.keys() & made.keys()
    attributes = as_administrator(service, made)["attributes"]
    assert not [name for name in attributes if "max" in name or "auth.time" in name]
