"""The token endpoint: order of checks, statuses, codes and texts. Keycloak: 1.1, 1.6 (26.7)."""

import pytest

from tests.support.wire import FORM, SECRET, Wire, basic, claims_of

GRANT = {"grant_type": "client_credentials"}
SVC = {"client_id": "svc", "client_secret": SECRET}
G = "grant_type=client_credentials"
S = f"client_secret={SECRET}"
MISSING = (400, "invalid_request", "Missing form parameter: grant_type")
UNSUPPORTED = (400, "unsupported_grant_type", "Unsupported grant_type")
UNKNOWN = (401, "invalid_client", "Invalid client or Invalid client credentials")
UNPROVED = (401, "unauthorized_client", "Invalid client or Invalid client credentials")
PUBLIC = (401, "unauthorized_client", "Public client not allowed to retrieve service account")
NO_ACCOUNT = (401, "unauthorized_client", "Client not enabled to retrieve service account")
UNBOUND = (400, "invalid_request", "Client Certification missing for MTLS HoK Token Binding")
CIBA = "urn:openid:params:grant-type:ciba"
UNSIGNED = (400, "invalid_client", "Parameter client_assertion_type is missing")
ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
OTHER_TYPE = (
    400,
    "invalid_client",
    f"Parameter client_assertion_type has value 'x' but expected is '{ASSERTION_TYPE}'",
)
REPEATED = (400, "invalid_request", "duplicated parameter")
Answer = tuple[int, str, str]

REFUSALS: dict[str, tuple[str, Answer]] = {
    "nothing at all": ("", MISSING),
    "no grant_type": (f"client_id=svc&{S}", MISSING),
    "no grant_type, something twice": ("a=1&a=1", MISSING),
    "empty grant_type": ("grant_type=", UNSUPPORTED),
    "unknown grant_type and client": ("grant_type=x&client_id=nobody", UNSUPPORTED),
    "a grant of Keycloak, no client": ("grant_type=authorization_code", UNKNOWN),
    "a grant of Keycloak, wrong secret": (
        f"grant_type={CIBA}&client_id=svc&client_secret=x",
        UNPROVED,
    ),
    "a grant of Keycloak, something twice": (
        f"grant_type={CIBA}&client_id=svc&{S}&a=1&a=1",
        REPEATED,
    ),
    "a grant of Keycloak": (f"grant_type={CIBA}&client_id=svc&{S}", UNSUPPORTED),
    "a client that signs, its secret": (f"{G}&client_id=signs&{S}", UNSIGNED),
    "a client that signs, nothing": (f"{G}&client_id=signs", UNSIGNED),
    "a client that signs, an assertion": (
        f"{G}&client_id=signs&client_assertion=a.b.c&client_assertion_type=x",
        OTHER_TYPE,
    ),
    "grant_type in another case": (f"grant_type=Client_Credentials&client_id=svc&{S}", UNSUPPORTED),
    "unknown grant_type before a known one": (f"grant_type=x&{G}&client_id=svc&{S}", UNSUPPORTED),
    "no client": (G, UNKNOWN),
    "empty client_id": (f"{G}&client_id=", UNKNOWN),
    "unknown client": (f"{G}&client_id=nobody&{S}", UNKNOWN),
    "unknown client, something twice": (f"{G}&client_id=nobody&a=1&a=1", UNKNOWN),
    "unknown client before a known one": (f"{G}&client_id=nobody&client_id=svc&{S}", UNKNOWN),
    "client_id in another case": (f"{G}&client_id=SVC&{S}", UNKNOWN),
    "disabled client": (f"{G}&client_id=disabled&{S}", UNKNOWN),
    "no secret": (f"{G}&client_id=svc", UNPROVED),
    "empty secret": (f"{G}&client_id=svc&client_secret=", UNPROVED),
    "wrong secret": (f"{G}&client_id=svc&client_secret=x", UNPROVED),
    "wrong secret, something twice": (f"{G}&client_id=svc&client_secret=x&a=1&a=1", UNPROVED),
    "bearer-only client, wrong secret": (f"{G}&client_id=bear&client_secret=x", UNPROVED),
    "bearer-only client": (
        f"{G}&client_id=bear&{S}",
        (400, "invalid_client", "Bearer-only not allowed"),
    ),
    "client of another protocol": (
        f"{G}&client_id=saml&{S}",
        (400, "invalid_client", "Wrong client protocol."),
    ),
    "public client": (f"{G}&client_id=pub", PUBLIC),
    "public client, bad scope": (f"{G}&client_id=pub&scope=x", PUBLIC),
    "no service account": (f"{G}&client_id=nosa&{S}", NO_ACCOUNT),
    "no service account, bad scope": (f"{G}&client_id=nosa&{S}&scope=x", NO_ACCOUNT),
    "unknown scope": (
        f"{G}&client_id=svc&{S}&scope=openid+x",
        (400, "invalid_scope", "Invalid scopes: openid x"),
    ),
    "empty scope": (
        f"{G}&client_id=svc&{S}&scope=",
        (400, "invalid_scope", "Invalid scopes: "),
    ),
    "bad scope before a missing certificate": (
        f"{G}&client_id=bound&{S}&scope=x",
        (400, "invalid_scope", "Invalid scopes: x"),
    ),
    "bound token without a certificate": (f"{G}&client_id=bound&{S}", UNBOUND),
    "a known parameter twice": (f"{G}&client_id=svc&{S}&scope=email&scope=email", REPEATED),
    "an unknown parameter twice": (f"{G}&client_id=svc&{S}&x=1&x=2", REPEATED),
    "an empty parameter twice": (f"{G}&client_id=svc&{S}&x=&x=", REPEATED),
    "grant_type twice": (f"{G}&{G}&client_id=svc&{S}", REPEATED),
    "client_id twice": (f"{G}&client_id=svc&client_id=svc&{S}", REPEATED),
    "client_secret twice": (f"{G}&client_id=svc&{S}&{S}", REPEATED),
    "a bad scope twice": (f"{G}&client_id=svc&{S}&scope=x&scope=x", REPEATED),
    "public client, something twice": (f"{G}&client_id=pub&x=1&x=1", REPEATED),
}
"""What is wrong: the form, and the answer of the first check that fails."""


@pytest.mark.parametrize(("form", "answer"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_has_its_documented_status_code_and_text(
    wire: Wire, form: str, answer: Answer
) -> None:
    """RFC 6749 §5.2; attacks C19."""
    status, error, description = answer
    response = wire.post("token", form)
    assert (response.status_code, response.json()) == (
        status,
        {"error": error, "error_description": description},
    )
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["pragma"] == "no-cache"
    assert response.headers["content-type"] == "application/json"


def test_a_parameter_in_query_and_body_is_repeated(wire: Wire) -> None:
    """attacks: C19."""
    response = wire.post("token?client_id=svc", GRANT | SVC)
    assert response.json()["error_description"] == "duplicated parameter"


def test_a_query_of_any_shape_is_no_failure(wire: Wire) -> None:
    form = GRANT | SVC
    assert wire.post("token?" + "a&" * 200, form).status_code == 400
    for query in ("%ff=%ff", "%", "a=%00", "=", "&&", "a=" + "x" * 5000):
        assert wire.post(f"token?{query}", form).status_code == 200


def test_the_query_alone_says_nothing(wire: Wire) -> None:
    """Attacks D13: a secret in the query is no secret."""
    response = wire.post("token?client_id=svc&client_secret=" + SECRET, GRANT)
    assert (response.status_code, response.json()["error"]) == (401, "invalid_client")


def test_an_unknown_realm_is_404(wire: Wire) -> None:
    for name in ("nowhere", "WIRE", "a%20b", "x" * 300):
        response = wire.post("token", GRANT | SVC, realm=name)
        assert response.status_code == 404
        assert response.json() == {"error": "Realm does not exist"}


def test_a_disabled_realm_is_403_whatever_is_asked(wire: Wire) -> None:
    for form in ({}, GRANT, GRANT | SVC):
        response = wire.post("token", form, realm="off")
        assert response.status_code == 403
        assert response.json() == {
            "error": "access_denied",
            "error_description": "Realm not enabled",
        }


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "HEAD"])
def test_a_wrong_method_is_405(wire: Wire, method: str) -> None:
    response = wire.http.request(method, "/realms/wire/protocol/openid-connect/token")
    assert response.status_code == 405
    assert "POST" in response.headers["allow"]
    if method != "HEAD":
        assert response.json() == {"error": "HTTP 405 Method Not Allowed"}


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "multipart/form-data"])
def test_a_body_that_is_no_form_counts_as_an_empty_one(wire: Wire, content_type: str) -> None:
    response = wire.post("token", GRANT | SVC, Content_Type=content_type)
    assert (response.status_code, *response.json().values()) == MISSING


def test_a_form_in_another_encoding_is_415(wire: Wire) -> None:
    """Keycloak ignores the parameter: two readers would see two forms."""
    response = wire.post("token", GRANT | SVC, Content_Type=f"{FORM}; charset=utf-16")
    assert response.status_code == 415
    assert response.json() == {
        "error": "The content-type header value did not match the value in @Consumes"
    }


@pytest.mark.parametrize("tail", [b"&a=%zz", b"&a=%", b"&a=%ff", b"&a=%00", b"&%c3%28=1"])
def test_a_malformed_form_is_400(wire: Wire, tail: bytes) -> None:
    response = wire.post("token", b"grant_type=client_credentials" + tail)
    assert response.status_code == 400
    assert response.json()["error"] == "invalid_request"


def test_an_oversized_body_is_413(wire: Wire) -> None:
    response = wire.post("token", b"a=" + b"x" * 70_000)
    assert response.status_code == 413
    assert response.json()["error"] == "invalid_request"


def test_an_unmatched_path_is_404_with_the_default_headers(wire: Wire) -> None:
    response = wire.get("/somewhere")
    assert response.status_code == 404
    assert response.json() == {"error": "Unable to find matching target resource method"}
    assert response.headers["x-frame-options"] == "SAMEORIGIN"


# HTTP Basic. RFC 6749 §2.3.1; Keycloak 26.7.3 as measured.


@pytest.mark.parametrize("scheme", ["Basic ", "basic ", "BASIC   "])
def test_a_basic_header_authenticates(wire: Wire, scheme: str) -> None:
    header = scheme + basic("svc").removeprefix("Basic ")
    assert wire.post("token", GRANT, Authorization=header).status_code == 200


def test_both_halves_are_form_decoded(wire: Wire) -> None:
    response = wire.post("token", GRANT, Authorization=basic("with space:colon"))
    assert claims_of(response.json()["access_token"])["azp"] == "with space:colon"


def test_the_form_overrides_the_header(wire: Wire) -> None:
    form = GRANT | {"client_id": "svc2", "client_secret": SECRET}
    response = wire.post("token", form, Authorization=basic("svc", "wrong"))
    assert claims_of(response.json()["access_token"])["azp"] == "svc2"


@pytest.mark.parametrize("form", [{"client_secret": "x"}, {"client_secret": ""}])
def test_a_wrong_form_secret_beats_a_right_header_secret(wire: Wire, form: dict[str, str]) -> None:
    response = wire.post("token", GRANT | form, Authorization=basic("svc"))
    assert (response.status_code, response.json()["error"]) == (401, "unauthorized_client")


@pytest.mark.parametrize(
    "header",
    ["Basic !!!", "Basic c3Zj", "Basic", "Bearer abc", "Digest a=b", "x", "Basic //46eA=="],
)
def test_an_unreadable_header_counts_as_none(wire: Wire, header: str) -> None:
    alone = wire.post("token", GRANT, Authorization=header)
    assert (alone.status_code, alone.json()["error"]) == (401, "invalid_client")
    assert wire.post("token", GRANT | SVC, Authorization=header).status_code == 200


def test_broken_form_encoding_inside_is_400(wire: Wire) -> None:
    response = wire.post("token", GRANT | SVC, Authorization="Basic c3ZjOiV6eg==")
    assert response.status_code == 400
    assert response.json() == {
        "error": "unauthorized_client",
        "error_description": "Unexpected error when authenticating client",
    }


# What real clients send besides. Clients: python-keycloak, Authlib.


def test_empty_parameters_of_other_grants_count_as_absent(wire: Wire) -> None:
    empty = {"code": "", "redirect_uri": "", "username": "", "password": ""}
    assert wire.token_request({**empty, "scope": "openid"}).status_code == 200


def test_a_charset_on_the_form_is_fine(wire: Wire) -> None:
    response = wire.token_request(Content_Type=f"{FORM};charset=UTF-8")
    assert response.status_code == 200


def test_both_path_forms_answer(wire: Wire) -> None:
    path = "/auth/realms/wire/protocol/openid-connect/token"
    response = wire.http.post(path, data=GRANT | SVC)
    assert response.status_code == 200
