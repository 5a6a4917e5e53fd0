"""Browsers and pages of other origins, answered as Keycloak 26.7.3 does. Keycloak: 12.7."""

from collections.abc import Iterator

import httpx2
import pytest

from tests.support.administered_realm import administered_realm
from tests.support.administration import Administration
from tests.support.registration import Registration
from tests.support.wire import MTLS_PUBLIC_URL, PUBLIC_URL, SECRET, Wire, claims_of, protocol

PAGE = "https://a.example"
"""The web origin of the client UPPER."""
STRANGER = "https://stranger.example"
ALLOWED_HEADERS = (
    "Origin, Accept, X-Requested-With, Access-Control-Request-Method,"
    " Access-Control-Request-Headers, DPoP, Content-Type, Authorization"
)
INVALID_ORIGIN = {"error": "Invalid origin"}
AS_UPPER = {"client_id": "UPPER", "client_secret": SECRET}
PREFLIGHTS = {
    protocol("wire", "token"): "POST, OPTIONS",
    protocol("wire", "revoke"): "POST, OPTIONS",
    protocol("wire", "userinfo"): "GET, HEAD, OPTIONS",
    protocol("wire", "logout"): "GET, HEAD, OPTIONS",
    protocol("wire", "certs"): "GET",
    "/realms/wire": "GET, HEAD, OPTIONS",
    "/realms/wire/.well-known/openid-configuration": "GET",
    "/realms/wire/.well-known/oauth-authorization-server": "GET",
    "/.well-known/oauth-authorization-server/realms/wire": "GET",
    "/realms/wire/clients-registrations/openid-connect": "DELETE, POST, GET, OPTIONS, PUT",
    "/realms/off/protocol/openid-connect/token": "POST, OPTIONS",
    "/admin/realms/wire/users": "DELETE, POST, GET, PUT",
    "/admin/realms/nowhere": "DELETE, POST, GET, PUT",
    "/admin/serverinfo": "DELETE, POST, GET, PUT",
}


def told(response: httpx2.Response) -> dict[str, str]:
    """Return what a response tells browsers, by the last part of each name."""
    start = "access-control-"
    return {
        name.removeprefix(start): value
        for name, value in response.headers.items()
        if name.startswith(start)
    }


def readable(origin: str, exposed: str | None = "Access-Control-Allow-Methods") -> dict[str, str]:
    headers = {"allow-origin": origin, "allow-credentials": "true"}
    return headers if exposed is None else headers | {"expose-headers": exposed}


def options(wire: Wire, path: str, **headers: str) -> httpx2.Response:
    return wire.http.request("OPTIONS", path, headers=headers)


@pytest.mark.parametrize("path", PREFLIGHTS)
def test_a_preflight_is_answered_for_any_origin(wire: Wire, path: str) -> None:
    response = options(wire, path, Origin=STRANGER)
    assert response.status_code == 200
    assert told(response) == {
        "allow-origin": STRANGER,
        "allow-methods": PREFLIGHTS[path],
        "allow-credentials": "true",
        "allow-headers": ALLOWED_HEADERS,
        "max-age": "3600",
    }
    assert told(options(wire, path)) == {}


def test_introspection_and_unknown_realms_are_not_for_pages(wire: Wire) -> None:
    for path in (protocol("wire", "token/introspect"), protocol("nowhere", "token")):
        assert told(options(wire, path, Origin=PAGE)) == {}
    answer = wire.introspect("x", Origin=STRANGER)
    assert (answer.json(), told(answer)) == ({"active": False}, {})
    assert told(wire.get(protocol("nowhere", "certs"), Origin=PAGE)) == {}


@pytest.mark.parametrize(
    "path", ["/realms/wire", "/realms/wire/.well-known/openid-configuration", "certs", "off"]
)
def test_any_page_reads_what_is_public(wire: Wire, path: str) -> None:
    url = {"certs": protocol("wire", "certs"), "off": protocol("off", "certs")}.get(path, path)
    response = wire.get(url, Origin=STRANGER)
    assert (response.status_code, told(response)) == (200, readable(STRANGER, None))
    # A cache must not give one page the answer to another.
    for answer in (response, wire.get(url)):
        is_stored = "no-store" not in answer.headers.get("cache-control", "")
        assert answer.headers.get("vary") == ("origin" if is_stored else None)


@pytest.mark.parametrize(
    ("client_id", "origin", "allowed"),
    [
        ("UPPER", PAGE, True),
        ("UPPER", "https://A.example", False),
        ("UPPER", "http://a.example", False),
        ("UPPER", "null", False),
        ("of-its-pages", "https://app.example:8443", True),
        ("of-its-pages", "https://app.example", False),
        ("of-any-page", STRANGER, True),
        ("of-any-page", "null", True),
        ("svc", PAGE, False),
    ],
)
def test_a_page_gets_tokens_for_a_client_that_lists_its_origin(
    wire: Wire, client_id: str, origin: str, *, allowed: bool
) -> None:
    response = wire.token_request({"client_id": client_id}, Origin=origin)
    if allowed:
        assert (response.status_code, told(response)) == (200, readable(origin))
    else:
        assert (response.status_code, response.json()) == (403, INVALID_ORIGIN)
        assert told(response) == {}


@pytest.mark.parametrize("own", [PUBLIC_URL, MTLS_PUBLIC_URL])
def test_a_page_of_the_gateway_itself_needs_no_permission(wire: Wire, own: str) -> None:
    response = wire.token_request(Origin=own)
    assert (response.status_code, told(response)) == (200, {})


@pytest.mark.parametrize("origin", [PAGE, STRANGER])
def test_errors_before_the_client_is_known_are_for_any_page(wire: Wire, origin: str) -> None:
    for form in ({"client_secret": "x"}, {"client_id": "nobody"}):
        response = wire.token_request(AS_UPPER | form, Origin=origin)
        assert (response.status_code, told(response)) == (401, readable(origin))
    disabled = wire.token_request(realm="off", Origin=origin)
    assert (disabled.status_code, told(disabled)) == (403, readable(origin))
    wrong_method = wire.get(protocol("wire", "token"), Origin=origin)
    assert (wrong_method.status_code, told(wrong_method)) == (405, {})
    for form in (AS_UPPER, AS_UPPER | {"grant_type": "x"}):
        response = wire.post("token", form, Origin=origin)
        assert (response.status_code, told(response)) == (400, {})


def test_errors_of_a_known_client_are_for_its_pages(wire: Wire) -> None:
    for form in ({"scope": "x"}, {"grant_type": "refresh_token", "refresh_token": "x"}):
        response = wire.token_request(AS_UPPER | form, Origin=PAGE)
        assert (response.status_code, told(response)) == (400, readable(PAGE))
        refused = wire.token_request(AS_UPPER | form, Origin=STRANGER)
        assert (refused.status_code, refused.json()) == (403, INVALID_ORIGIN)


def test_a_page_that_may_not_ends_and_revokes_nothing(wire: Wire) -> None:
    tokens = wire.sign_in(form={"scope": "openid"}).json()
    form = {"client_id": "app", "refresh_token": tokens["refresh_token"]}
    revocation = {"client_id": "app", "token": tokens["refresh_token"]}
    for path, sent in (("logout", form), ("revoke", revocation)):
        response = wire.post(path, sent, realm="people", Origin=STRANGER)
        assert (response.status_code, response.json()) == (403, INVALID_ORIGIN)
    assert wire.refresh(tokens["refresh_token"]).status_code == 200


def test_a_refused_page_guesses_no_password(wire: Wire) -> None:
    for password in ("x", "The right password 1"):
        response = wire.sign_in(form={"password": password}, Origin=STRANGER)
        assert (response.status_code, response.json()) == (403, INVALID_ORIGIN)


def test_userinfo_is_for_pages_of_the_tokens_client(wire: Wire) -> None:
    token = wire.token_request({"client_id": "UPPER", "scope": "openid"}).json()["access_token"]
    url, bearer = protocol("wire", "userinfo"), f"Bearer {token}"
    response = wire.get(url, Origin=PAGE, Authorization=bearer)
    assert (response.status_code, told(response)) == (200, readable(PAGE))
    refused = wire.get(url, Origin=STRANGER, Authorization=bearer)
    assert (refused.status_code, refused.json(), told(refused)) == (403, INVALID_ORIGIN, {})
    challenge = readable(STRANGER, "Access-Control-Allow-Methods, WWW-Authenticate")
    for sent in ({}, {"Authorization": "Bearer x"}):
        response = wire.get(url, Origin=STRANGER, **sent)
        assert (response.status_code, told(response)) == (401, challenge)


def test_the_claim_names_the_origins_that_count(wire: Wire) -> None:
    assert claims_of(wire.token("of-its-pages"))["allowed-origins"] == ["https://app.example:8443"]


ADMINISTRATORS = {"maker": ["manage-clients", "create-client"]}
CLIENT = {"redirect_uris": ["https://app.example/callback"]}


@pytest.fixture(scope="module")
def service(administration: Administration) -> Iterator[Registration]:
    """Make a realm whose administrator uses a client with a web origin."""
    with administered_realm(administration, "of-pages", ADMINISTRATORS) as realm:
        realm.change("PUT", "clients/client-of-maker", {"webOrigins": [PAGE]})
        yield Registration(realm)


def test_the_admin_api_is_for_pages_of_the_callers_client(service: Registration) -> None:
    for path, status in (("clients", 200), ("clients/none", 404), ("users", 403)):
        response = service.realm.ask("GET", path, by="maker", Origin=PAGE)
        assert (response.status_code, told(response)) == (status, readable(PAGE, "Location"))
        refused = service.realm.ask("GET", path, by="maker", Origin=STRANGER)
        assert (refused.status_code, refused.json(), told(refused)) == (403, INVALID_ORIGIN, {})
    http = service.realm.administration.http
    nobody = http.get("/admin/realms/of-pages", headers={"Origin": PAGE})
    assert (nobody.status_code, told(nobody)) == (401, {})


def test_a_page_that_may_not_changes_nothing(service: Registration) -> None:
    document = {"clientId": "of-a-stranger"}
    refused = service.realm.ask("POST", "clients", document, by="maker", Origin=STRANGER)
    assert (refused.status_code, refused.json()) == (403, INVALID_ORIGIN)
    assert service.realm.get("clients?clientId=of-a-stranger") == []


def test_a_page_registers_clients_with_a_token_for_its_origin(service: Registration) -> None:
    def register(token: str | None, origin: str) -> httpx2.Response:
        return service.ask("POST", "openid-connect", CLIENT, token=token, Origin=origin)

    for origins, allowed in (([PAGE], [PAGE]), (["*"], [PAGE, STRANGER]), ([], [])):
        token = service.initial(2, webOrigins=origins)
        for origin in (PAGE, STRANGER):
            response = register(token, origin)
            if origin in allowed:
                assert (response.status_code, told(response)) == (201, readable(origin, None))
            else:
                assert (response.status_code, response.json()) == (403, INVALID_ORIGIN)
    bearer = service.bearer("maker")
    made = register(bearer, PAGE)
    assert made.status_code == 201
    path, own = f"openid-connect/{made.json()['client_id']}", "registration_access_token"
    seen = service.ask("GET", path, token=made.json()[own], Origin=PAGE)
    assert (seen.status_code, told(seen)) == (200, readable(PAGE, None))
    for origin, status in ((STRANGER, 403), (PAGE, 200)):
        changed = CLIENT | {"client_id": made.json()["client_id"]}
        answer = service.ask("PUT", path, changed, token=made.json()[own], Origin=origin)
        assert answer.status_code == status
    for sent in (bearer, None):
        assert register(sent, STRANGER).json() == INVALID_ORIGIN
