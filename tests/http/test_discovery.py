"""What a realm tells the world. OpenID Connect Discovery §3, RFC 7517, RFC 8705 §5."""

import pytest

from tests.support.wire import MTLS_PUBLIC_URL, PUBLIC_URL, Wire, protocol

CONFIGURATION = "/realms/wire/.well-known/openid-configuration"
ISSUER = f"{PUBLIC_URL}/realms/wire"


def test_the_metadata_lists_what_works_and_nothing_else(wire: Wire) -> None:
    response = wire.get(CONFIGURATION)
    document = response.json()
    assert document["issuer"] == ISSUER
    assert document["grant_types_supported"] == [
        *("authorization_code", "client_credentials"),
        *("urn:ietf:params:oauth:grant-type:device_code", "password", "refresh_token"),
        *("urn:ietf:params:oauth:grant-type:token-exchange", "implicit"),
    ]
    assert document["code_challenge_methods_supported"] == ["plain", "S256"]
    assert document["token_endpoint_auth_methods_supported"] == [
        "client_secret_basic",
        "client_secret_post",
        "private_key_jwt",
        "client_secret_jwt",
        "tls_client_auth",
        "self_signed_tls_client_auth",
    ]
    assert document["request_uri_parameter_supported"] is True
    assert document["require_request_uri_registration"] is True
    assert document["tls_client_certificate_bound_access_tokens"] is True
    assert document["acr_values_supported"] == ["0", "1"]
    assert {"auth_time", "nonce", "acr", "azp"} <= {*document["claims_supported"]}
    assert {"name", "given_name", "family_name", "preferred_username", "email"} <= {
        *document["claims_supported"]
    }
    assert response.headers["cache-control"] == "no-cache, must-revalidate, no-transform, no-store"


@pytest.mark.parametrize("prefix", ["", "/auth"])
@pytest.mark.parametrize(
    "path",
    [
        "/realms/wire/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/realms/wire",
    ],
)
def test_the_metadata_is_also_that_of_an_authorization_server(
    wire: Wire, prefix: str, path: str
) -> None:
    """RFC 8414 §3, inserted, and below the realm as in Keycloak."""
    assert wire.get(prefix + path).json() == wire.get(CONFIGURATION).json()
    unknown = wire.get((prefix + path).replace("wire", "nowhere"))
    assert (unknown.status_code, unknown.json()) == (404, {"error": "Realm does not exist"})


def test_every_endpoint_it_names_answers(wire: Wire) -> None:
    document = wire.get(CONFIGURATION).json()
    aliases = document["mtls_endpoint_aliases"]
    named = [url for name, url in document.items() if name.endswith(("_endpoint", "_uri"))]
    assert len(named) == 10
    for url in named:
        assert wire.get(url.removeprefix(PUBLIC_URL)).status_code in {200, 400, 401, 405}
    for name, url in aliases.items():
        assert url == document[name].replace(PUBLIC_URL, MTLS_PUBLIC_URL)


def test_the_key_set_is_cached_by_its_tag(wire: Wire) -> None:
    first = wire.get(protocol("wire", "certs"))
    assert first.headers["cache-control"] == "public, max-age=60"
    again = wire.get(protocol("wire", "certs"), If_None_Match=first.headers["etag"])
    assert (again.status_code, again.content) == (304, b"")
    other = wire.get(protocol("wire", "certs"), If_None_Match='"something else"')
    assert other.json() == first.json()


def test_a_key_set_holds_public_members_only(wire: Wire) -> None:
    private = {"d", "p", "q", "dp", "dq", "qi", "k"}
    keys = wire.get(protocol("wire", "certs")).json()["keys"]
    assert {key["alg"] for key in keys} >= {"RS256", "ES256", "EdDSA"}
    assert not any(private & set(key) for key in keys)
    assert {key["alg"] for key in keys if key["use"] == "enc"} == {"RSA-OAEP"}
    assert {key["use"] for key in keys} == {"sig", "enc"}


def test_the_realms_document_carries_its_rsa_key(wire: Wire) -> None:
    document = wire.get("/realms/wire").json()
    assert document["realm"] == "wire"
    assert document["token-service"] == f"{ISSUER}/protocol/openid-connect"
    assert document["tokens-not-before"] == 0
    assert document["public_key"].startswith("MII")


@pytest.mark.parametrize(
    "path", ["", "/.well-known/openid-configuration", "/protocol/openid-connect/certs"]
)
def test_a_disabled_realm_still_tells_and_an_unknown_one_is_404(wire: Wire, path: str) -> None:
    assert wire.get(f"/realms/off{path}").status_code == 200
    unknown = wire.get(f"/realms/nowhere{path}")
    assert (unknown.status_code, unknown.json()) == (404, {"error": "Realm does not exist"})


@pytest.mark.parametrize(
    "path", ["", "/.well-known/openid-configuration", "/protocol/openid-connect/certs"]
)
def test_a_document_is_read_only(wire: Wire, path: str) -> None:
    for method in ("POST", "PUT", "DELETE"):
        response = wire.http.request(method, f"/realms/wire{path}")
        assert (response.status_code, response.json()) == (
            405,
            {"error": "HTTP 405 Method Not Allowed"},
        )
    head = wire.http.head(f"/realms/wire{path}")
    assert (head.status_code, head.content) == (200, b"")
