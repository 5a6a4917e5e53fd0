"""Token exchange: a service exchanges the token that it received for one of its own.

Through nginx, with the real stores. Texts and statuses are those of Keycloak's standard token
exchange (26.7). Spec: RFC 8693; attacks A19, B8
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import httpx2
import pytest

from tests.support.dpop import ProofKey
from tests.support.spec_stack import CHEAP, DEVICE_SUBJECT, Stack, protocol, refusal
from tests.support.wire import BOUND, PASSWORD, SECRET, app, audience, claims_of, client, user

REALM: Final = "exchange"
GRANT: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS: Final = "urn:ietf:params:oauth:token-type:access_token"
ID: Final = "urn:ietf:params:oauth:token-type:id_token"
REFRESH: Final = "urn:ietf:params:oauth:token-type:refresh_token"
ON: Final = {"standard.token.exchange.enabled": "true"}
SAME_SESSION: Final = {"standard.token.exchange.enableRefreshRequestedTokenType": "SAME_SESSION"}
LIGHT: Final = {"client.use.lightweight.access.token.enabled": "true"}
MANAGER: Final = {"realm-management": ["view-users", "view-clients"]}
INVALID: Final = (400, "invalid_request", "Invalid token")
Form = Mapping[str, str | list[str]]


def _device(client_id: str, **attributes: str) -> dict[str, Any]:
    return {
        "clientId": client_id,
        "enabled": True,
        "clientAuthenticatorType": "client-x509",
        "serviceAccountsEnabled": True,
        "directAccessGrantsEnabled": True,
        "attributes": {
            "x509.subjectdn": DEVICE_SUBJECT,
            "x509.allow.regex.pattern.comparison": "false",
            **attributes,
        },
        "protocolMappers": [audience("orders")],
    }


CLIENTS: Final[tuple[dict[str, Any], ...]] = (
    app("app", protocolMappers=[audience("orders"), audience("light")], attributes=ON),
    app("other", protocolMappers=[audience("elsewhere")]),
    client(
        "orders",
        attributes=ON | SAME_SESSION,
        protocolMappers=[audience("stock"), audience("orders")],
    ),
    client(
        "second",
        directAccessGrantsEnabled=True,
        attributes=ON | SAME_SESSION | {"access.token.lifespan": "60"},
        protocolMappers=[audience("stock"), audience("orders")],
    ),
    client("light", attributes=ON | LIGHT, protocolMappers=[audience("orders")]),
    client("off"),
    client("asks", attributes=ON, consentRequired=True),
    client("stock"),
    client("closed", enabled=False),
    _device("bound", **BOUND, **ON),
    _device("loose", **ON, **SAME_SESSION),
)


@pytest.fixture(scope="module")
def exchange(spec: Stack) -> Iterator[Stack]:
    realm = {
        "realm": REALM,
        "enabled": True,
        "sslRequired": "all",
        "defaultSignatureAlgorithm": "ES256",
        "passwordPolicy": CHEAP,
        "eventsEnabled": True,
        "roles": {"client": {"stock": [{"name": "read"}], "orders": [{"name": "write"}]}},
        "clients": list(CLIENTS),
        "users": [
            user("ada", clientRoles={"stock": ["read"], "orders": ["write"], **MANAGER}),
            user("ben"),
        ],
    }
    made = spec.http.post(
        f"{spec.nginx.https}/admin/realms",
        json=realm,
        headers={"Authorization": f"Bearer {spec.administrator()}"},
    )
    assert made.status_code == 201, made.text
    yield spec
    assert spec.ask(REALM, "DELETE").status_code == 204


def _signed_in(stack: Stack, client_id: str = "app", **more: str) -> dict[str, Any]:
    form = {"grant_type": "password", "client_id": client_id, "username": "ada"}
    response = stack.token(REALM, form | {"password": PASSWORD} | more)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def _form(token: str, client_id: str = "orders", **more: str | list[str]) -> dict[str, Any]:
    proof = {} if client_id in {"bound", "loose", "app"} else {"client_secret": SECRET}
    form = {"grant_type": GRANT, "client_id": client_id, "subject_token": token}
    return {**form, "subject_token_type": ACCESS, **proof, **more}


def _ask(stack: Stack, token: str, client_id: str = "orders", **more: Any) -> httpx2.Response:
    return stack.token(REALM, _form(token, client_id, **more))


def _exchanged(stack: Stack, token: str, client_id: str = "orders", **more: Any) -> dict[str, Any]:
    response = _ask(stack, token, client_id, **more)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def _refused(stack: Stack, token: str, client_id: str = "orders", **more: Any) -> Any:
    return refusal(_ask(stack, token, client_id, **more))


def test_a_service_gets_a_token_of_its_own_for_the_same_user(exchange: Stack) -> None:
    first = _signed_in(exchange)
    answer = _exchanged(exchange, first["access_token"])
    before, after = claims_of(first["access_token"]), claims_of(answer["access_token"])
    assert (answer["issued_token_type"], answer["token_type"]) == (ACCESS, "Bearer")
    assert "refresh_token" not in answer
    assert after["sub"] == before["sub"]
    assert (before["azp"], after["azp"]) == ("app", "orders")
    assert "stock" in after["aud"]
    assert after["jti"].startswith("onrtte:")
    shown = _introspected(exchange, answer["access_token"])
    assert (shown["active"], shown["username"]) == (True, "ada")
    chained = _exchanged(exchange, answer["access_token"])
    assert claims_of(chained["access_token"])["sub"] == before["sub"]


def _introspected(stack: Stack, token: str) -> dict[str, Any]:
    form = {"client_id": "orders", "client_secret": SECRET, "token": token}
    url = f"{stack.nginx.https}{protocol(REALM)}/token/introspect"
    found: dict[str, Any] = stack.http.post(url, data=form).json()
    return found


def test_nonstandard_exchanges_are_refused_in_keycloaks_order(exchange: Stack) -> None:
    token = _signed_in(exchange)["access_token"]
    tokens = _signed_in(exchange, scope="openid")
    text = "Parameter '{}' is not supported for standard token exchange"
    for name in ("requested_subject", "requested_issuer", "subject_issuer", "actor_token"):
        expected = (400, "invalid_request", text.format(name))
        assert _refused(exchange, token, **{name: "x"}) == expected
    off = "Standard token exchange is not enabled for the requested client"
    assert _refused(exchange, token, "off") == (400, "invalid_request", off)
    only_access = (400, "invalid_request", "Parameter 'subject_token' supports access tokens only")
    assert _refused(exchange, tokens["id_token"], subject_token_type=ID) == only_access
    for name in ("subject_token", "subject_token_type"):
        form = _form(token)
        del form[name]
        required = f"Parameter '{name}' required for standard token exchange"
        assert refusal(exchange.token(REALM, form)) == (400, "invalid_request", required)
    for wrong in (tokens["id_token"], tokens["refresh_token"], token[:-4] + "AAAA", "x", ""):
        assert _refused(exchange, wrong) == INVALID
    unsupported = (400, "invalid_request", "requested_token_type unsupported")
    for kind in ("urn:ietf:params:oauth:token-type:saml2", "x", ""):
        assert _refused(exchange, token, requested_token_type=kind) == unsupported
    public = (400, "invalid_client", "Public client is not allowed to exchange token")
    assert _refused(exchange, token, "app") == public
    offline = (400, "invalid_request", "Scope offline_access not allowed for token exchange")
    assert _refused(exchange, token, scope="offline_access") == offline
    assert _refused(exchange, token, scope="nothing")[1] == "invalid_scope"
    repeated = exchange.http.post(
        f"{exchange.nginx.https}{protocol(REALM)}/token", data=_form(token) | {"scope": ["", ""]}
    )
    assert refusal(repeated) == (400, "invalid_request", "duplicated parameter")


def test_only_who_received_the_token_exchanges_it(exchange: Stack) -> None:
    """A token for another service is no key to this one's (RFC 8693 §5)."""
    elsewhere = _signed_in(exchange, "other", username="ben")["access_token"]
    expected = (403, "access_denied", "Client is not within the token audience")
    assert _refused(exchange, elsewhere) == expected
    foreign = exchange.signed_in("user-0", "spec")["access_token"]
    assert _refused(exchange, foreign) == INVALID
    error = exchange.ask(f"{REALM}/events", type="TOKEN_EXCHANGE_ERROR").json()
    assert {"not_allowed", "invalid_token"} <= {event["error"] for event in error}
    reasons = {event["details"].get("reason") for event in error}
    assert "client is not within the token audience" in reasons


def test_an_audience_narrows_the_token_and_never_widens_it(exchange: Stack) -> None:
    token = _signed_in(exchange)["access_token"]
    whole = claims_of(_exchanged(exchange, token)["access_token"])
    assert {"orders", "stock"} <= set(whole["resource_access"])
    narrow = claims_of(_exchanged(exchange, token, audience="stock")["access_token"])
    assert narrow["aud"] == "stock"
    assert set(narrow["resource_access"]) == {"stock"}
    both = claims_of(_exchanged(exchange, token, audience=["stock", "orders"])["access_token"])
    assert set(both["aud"]) == {"stock", "orders"}
    missing = (400, "invalid_request", "Requested audience not available: off")
    assert _refused(exchange, token, audience="off") == missing
    unknown = (400, "invalid_client", "Audience not found")
    assert _refused(exchange, token, audience=["stock", "nobody"]) == unknown
    assert _refused(exchange, token, audience="closed") == (
        400,
        "invalid_client",
        "Client disabled",
    )
    many = [f"c{number}" for number in range(21)]
    assert _refused(exchange, token, audience=many)[1] == "invalid_request"


def test_a_narrowed_token_has_no_more_rights_than_it_says(exchange: Stack) -> None:
    """At the admin API, and as introspection describes it; also the lightweight one."""
    token = _signed_in(exchange)["access_token"]
    for client_id in ("orders", "light"):
        allowed = _exchanged(exchange, token, client_id, audience="realm-management")
        refused = _exchanged(exchange, token, client_id, audience=["stock", "orders"])
        for answer, status in ((allowed, 200), (refused, 403)):
            found = exchange.ask(f"{REALM}/users", token=answer["access_token"])
            assert found.status_code == status, (client_id, found.text)
            registered = exchange.http.get(
                f"{exchange.nginx.https}/realms/{REALM}/clients-registrations/default/stock",
                headers={"Authorization": f"Bearer {answer['access_token']}"},
            )
            assert registered.is_success is (status == 200), (client_id, registered.text)
            account = exchange.http.get(
                f"{exchange.nginx.https}/realms/{REALM}/account",
                headers={
                    "Authorization": f"Bearer {answer['access_token']}",
                    "Accept": "application/json",
                },
            )
            assert not account.is_success
        described = _introspected(exchange, refused["access_token"])
        assert described["active"] is True
        assert set(described["resource_access"]) == {"stock", "orders"}


def test_other_types_are_issued_as_asked(exchange: Stack) -> None:
    token = _signed_in(exchange)["access_token"]
    answer = _exchanged(exchange, token, requested_token_type=ID)
    assert (answer["issued_token_type"], answer["token_type"]) == (ID, "N_A")
    claims = claims_of(answer["access_token"])
    assert (claims["typ"], "at_hash" in claims) == ("ID", False), "no access token comes with it"
    assert "id_token" not in answer
    with_id = _exchanged(exchange, token, scope="openid")
    assert claims_of(with_id["id_token"])["azp"] == "orders"
    assert _refused(exchange, token, "light", requested_token_type=REFRESH)[2] == (
        "requested_token_type unsupported"
    )


def test_an_exchanged_refresh_token_keeps_session_and_audience(exchange: Stack) -> None:
    first = _signed_in(exchange)
    answer = _exchanged(
        exchange, first["access_token"], requested_token_type=REFRESH, audience="stock"
    )
    assert answer["issued_token_type"] == REFRESH
    assert answer["session_state"] == first["session_state"]
    [event] = exchange.ask(f"{REALM}/events", type="TOKEN_EXCHANGE", max="1").json()
    assert event["details"]["refresh_token_type"] == "Refresh"
    form = {"grant_type": "refresh_token", "client_id": "orders", "client_secret": SECRET}
    again = exchange.token(REALM, form | {"refresh_token": answer["refresh_token"]}).json()
    assert claims_of(again["access_token"])["aud"] == "stock"
    assert set(claims_of(again["access_token"])["resource_access"]) == {"stock"}
    offline = _signed_in(exchange, scope="offline_access")["access_token"]
    assert _refused(exchange, offline, requested_token_type=REFRESH)[2] == (
        "Refresh token not valid as requested_token_type because creating a new session is needed"
    )
    of_offline = _exchanged(exchange, offline)["access_token"]
    assert _introspected(exchange, of_offline)["active"] is True


def test_the_end_of_the_session_ends_every_token_of_it(exchange: Stack) -> None:
    """The exchanged token, one made of it, and one of an offline session."""
    for scope in ({}, {"scope": "offline_access"}):
        first = _signed_in(exchange, **scope)
        made = _exchanged(exchange, first["access_token"])["access_token"]
        assert _introspected(exchange, made)["active"] is True
        form = {"client_id": "app", "refresh_token": first["refresh_token"]}
        url = f"{exchange.nginx.https}{protocol(REALM)}/logout"
        assert exchange.http.post(url, data=form).status_code == 204
        assert _introspected(exchange, made) == {"active": False}
        assert _refused(exchange, first["access_token"]) == INVALID
    revoked = _signed_in(exchange)["access_token"]
    url = f"{exchange.nginx.https}{protocol(REALM)}/revoke"
    assert exchange.http.post(url, data={"client_id": "app", "token": revoked}).status_code == 200
    assert _refused(exchange, revoked) == INVALID


def test_a_service_exchanges_the_token_of_another_service(exchange: Stack) -> None:
    """Without a session `sub` says whose token it is, and the end of that client ends it."""
    form = {"grant_type": "client_credentials", "client_id": "second", "client_secret": SECRET}
    first = exchange.token(REALM, form).json()["access_token"]
    own = _exchanged(exchange, first, "orders")["access_token"]
    before, after = claims_of(first), claims_of(own)
    assert (after["sub"], after["azp"], "sid" in after) == (before["sub"], "orders", False)
    assert after["exp"] <= before["exp"]
    assert _introspected(exchange, own)["active"] is True
    path = f"{REALM}/clients"
    (second,) = exchange.ask(path, clientId="second").json()
    for enabled in (False, True):
        assert exchange.put(f"{path}/{second['id']}", second | {"enabled": enabled}).is_success
        assert _introspected(exchange, own)["active"] is enabled


def test_an_exchanged_token_is_not_prolonged_by_its_own_client(exchange: Stack) -> None:
    """Else the client would outlive its removal from the session."""
    first = _signed_in(exchange)["access_token"]
    own = _exchanged(exchange, first)["access_token"]
    again = _exchanged(exchange, own)["access_token"]
    assert claims_of(again)["exp"] <= claims_of(own)["exp"] <= claims_of(first)["exp"]


def test_consent_that_was_not_given_is_demanded(exchange: Stack) -> None:
    (asks,) = exchange.ask(f"{REALM}/clients", clientId="app").json()
    mappers = [*asks["protocolMappers"], audience("asks")]
    for mapper in mappers[-1:]:
        path = f"{exchange.nginx.https}/admin/realms/{REALM}/clients/{asks['id']}"
        headers = {"Authorization": f"Bearer {exchange.administrator()}"}
        added = exchange.http.post(f"{path}/protocol-mappers/models", json=mapper, headers=headers)
        assert added.status_code == 201, added.text
    token = _signed_in(exchange)["access_token"]
    text = "Missing consents for Token Exchange in client asks"
    assert _refused(exchange, token, "asks") == (400, "invalid_scope", text)


@pytest.fixture(scope="module")
def device(exchange: Stack) -> Iterator[httpx2.Client]:
    with exchange.nginx.client("device-1") as http:
        yield http


def _by_certificate(stack: Stack, http: httpx2.Client, form: Form, **headers: str) -> Any:
    url = f"{stack.nginx.mtls}{protocol(REALM)}/token"
    return http.post(url, data=dict(form), headers=headers)


def test_an_exchange_keeps_the_certificate_of_a_bound_token(
    exchange: Stack, device: httpx2.Client
) -> None:
    """Also where the client's own tokens are not bound any more, and when it is refreshed."""
    signed_in = {"grant_type": "password", "username": "ada", "password": PASSWORD}
    first = _by_certificate(exchange, device, signed_in | {"client_id": "bound"}).json()
    assert "access_token" in first, first
    bound = claims_of(first["access_token"])["cnf"]
    text = (
        "Sender-constrained token exchange rejected as the token was not issued for the requesting"
        " client"
    )
    assert _refused(exchange, first["access_token"]) == (400, "invalid_request", text)
    form = _form(first["access_token"], "bound")
    made = _by_certificate(exchange, device, form).json()
    assert claims_of(made["access_token"])["cnf"] == bound
    path = f"{REALM}/clients"
    (found,) = exchange.ask(path, clientId="bound").json()
    attributes = found["attributes"] | dict.fromkeys(BOUND, "false") | SAME_SESSION
    assert exchange.put(f"{path}/{found['id']}", found | {"attributes": attributes}).is_success
    refresh = form | {"requested_token_type": REFRESH}
    kept = _by_certificate(exchange, device, refresh).json()
    assert claims_of(kept["access_token"])["cnf"] == bound
    assert claims_of(kept["refresh_token"])["cnf"] == bound
    again = {"grant_type": "refresh_token", "client_id": "bound"}
    renewed = _by_certificate(exchange, device, again | {"refresh_token": kept["refresh_token"]})
    assert claims_of(renewed.json()["access_token"])["cnf"] == bound


def test_an_exchange_keeps_the_key_of_a_bound_token(exchange: Stack) -> None:
    key, other = ProofKey.new(), ProofKey.new()
    url = f"{exchange.nginx.https}{protocol(REALM)}/token"
    form = {"grant_type": "client_credentials", "client_id": "second", "client_secret": SECRET}
    first = exchange.token(REALM, form, DPoP=key.proof("POST", url)).json()["access_token"]
    sent = _form(first, "second")
    assert refusal(exchange.token(REALM, sent)) == (400, "invalid_request", "DPoP proof is missing")
    stolen = exchange.token(REALM, sent, DPoP=other.proof("POST", url))
    mismatch = "DPoP confirmation doesn't match DPoP proof"
    assert refusal(stolen) == (400, "invalid_request", mismatch)
    made = exchange.token(REALM, sent, DPoP=key.proof("POST", url)).json()
    assert claims_of(made["access_token"])["cnf"] == {"jkt": key.thumbprint}
    assert made["token_type"] == "DPoP"
    user_form = form | {"grant_type": "password", "username": "ada", "password": PASSWORD}
    of_user = exchange.token(REALM, user_form, DPoP=key.proof("POST", url)).json()["access_token"]
    asked = _form(of_user, "second", requested_token_type=REFRESH)
    refreshable = exchange.token(REALM, asked, DPoP=key.proof("POST", url))
    assert refusal(refreshable)[2].endswith("because the token is bound to a DPoP key")
    plain = exchange.token(REALM, form).json()["access_token"]
    narrowed = exchange.token(REALM, _form(plain, "second"), DPoP=key.proof("POST", url)).json()
    assert claims_of(narrowed["access_token"])["cnf"] == {"jkt": key.thumbprint}
