"""Response modes: what a browser gets, whatever the parameters are.

Keycloak: 12.10; Spec: RFC 9207 §2, JARM §2, OAuth 2.0 Form Post Response Mode §2
"""

import asyncio
from datetime import timedelta
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.crypto.client_keys import RegisteredClientEncrypters
from gateway.domain.clients import Client
from gateway.domain.ports.outgoing import NoRemoteDocuments
from gateway.protocol.authorization import RedirectError
from gateway.protocol.errors import OAuthError
from gateway.protocol.response_modes import (
    RESPONSE_MODES,
    AuthorizationResponse,
    Delivery,
    FormPost,
    Redirect,
    ResponseMode,
    ResponseTarget,
    deliver_in_fragment,
    deliver_in_query,
    deliver_response,
)
from tests.support.authorization_requests import ISSUER, NOW, client_entry, draft, realm_entry
from tests.support.wire import claims_of, header_of

URI = "https://app.example/cb"
REQUEST = draft().request
CLIENT = client_entry().client
ENCRYPTION = RegisteredClientEncrypters(NoRemoteDocuments())


def delivery(target: ResponseTarget, parameters: dict[str, str]) -> Delivery:
    response = AuthorizationResponse(target, parameters)
    return asyncio.run(deliver_response(REQUEST, response, ENCRYPTION))


def delivered(
    mode: ResponseMode,
    parameters: dict[str, str],
    *,
    client: Client = CLIENT,
    state: str | None = "s",
    uri: str = URI,
) -> dict[str, str]:
    """Return the parameters in the order in which the browser gets them."""
    found = delivery(ResponseTarget(client, uri, mode, state), parameters)
    if isinstance(found, FormPost):
        assert found.url == uri
        return dict(found.fields)
    parts = urlsplit(found.url)
    assert (parts.scheme, parts.netloc, parts.path) == ("https", "app.example", "/cb")
    in_query = mode in {ResponseMode.QUERY, ResponseMode.QUERY_JWT}
    assert bool(parts.fragment) is not in_query
    text = parts.query if in_query else parts.fragment
    return {name: values[0] for name, values in parse_qs(text, keep_blank_values=True).items()}


_RESPONSE = {"state": "a&b#c?d", "access_token": "T"}
_SIGNS = st.text("&?#=/;a", max_size=12)


@given(_SIGNS)
def test_parameters_stay_in_their_part_of_the_uri(rest: str) -> None:
    """Tokens in the query would reach logs and servers. Spec: RFC 6749 §4.2.2."""
    uri = f"{URI}{rest}"
    before = urlsplit(uri)
    in_query = urlsplit(deliver_in_query(uri, _RESPONSE).url)
    in_fragment = urlsplit(deliver_in_fragment(uri, _RESPONSE).url)
    assert in_query._replace(query="") == before._replace(query="")
    assert in_fragment._replace(fragment="") == before._replace(fragment="")
    for had, has in ((before.query, in_query.query), (before.fragment, in_fragment.fragment)):
        assert has.startswith(had)
        assert has.removeprefix(had).startswith("&") is (had.rstrip("&") == had != "")
        pairs = parse_qsl(had, keep_blank_values=True)
        assert parse_qsl(has, keep_blank_values=True) == [*pairs, *_RESPONSE.items()]


def test_every_mode_is_in_the_table() -> None:
    assert list(RESPONSE_MODES) == list(ResponseMode)


@pytest.mark.parametrize("mode", ["query", "fragment", "form_post"])
def test_a_response_has_state_and_issuer_in_keycloaks_order(mode: str) -> None:
    found = delivered(ResponseMode(mode), {"code": "c", "session_state": "x"})
    assert list(found.items()) == [
        ("state", "s"),
        ("session_state", "x"),
        ("iss", ISSUER),
        ("code", "c"),
    ]


@pytest.mark.parametrize("mode", list(ResponseMode))
def test_an_error_names_the_issuer_too(mode: ResponseMode) -> None:
    """Attacks C8."""
    error = RedirectError("login_required", None, ResponseTarget(CLIENT, URI, mode, ""))
    found = delivered(mode, dict(error.response.parameters), state="")
    if "response" in found:
        found = claims_of(found["response"])
        assert found.pop("aud") == "app"
        del found["exp"]
    assert found == {"error": "login_required", "state": "", "iss": ISSUER}


def test_an_error_has_keycloaks_order() -> None:
    given_parameters = {"error": "invalid_scope", "error_description": "Invalid scopes: x"}
    found = delivered(ResponseMode.QUERY, given_parameters)
    assert list(found) == ["error", "error_description", "state", "iss"]


@pytest.mark.parametrize("mode", ["query.jwt", "fragment.jwt", "form_post.jwt"])
@pytest.mark.parametrize(("chosen", "algorithm"), [("", "RS256"), ("ES256", "ES256")])
def test_a_signed_response_is_for_the_client_and_short_lived(
    mode: str, chosen: str, algorithm: str
) -> None:
    client = client_entry({"authorization.signed.response.alg": chosen}).client
    found = delivered(ResponseMode(mode), {"code": "c"}, client=client)
    assert list(found) == ["response"]
    claims = realm_entry().key_ring.verify_token(found["response"], NOW)
    lasts = int((NOW + timedelta(minutes=1)).timestamp())
    assert claims == {"state": "s", "iss": ISSUER, "code": "c", "aud": "app", "exp": lasts}
    assert header_of(found["response"])["alg"] == algorithm


def test_a_response_that_cannot_be_signed_is_refused() -> None:
    client = client_entry({"authorization.signed.response.alg": "PS512"}).client
    with pytest.raises(OAuthError, match="no active key for"):
        delivered(ResponseMode.QUERY_JWT, {"code": "c"}, client=client)


@pytest.mark.parametrize("mode", ["query.jwt", "fragment.jwt", "form_post.jwt"])
def test_a_response_that_cannot_be_encrypted_is_refused(mode: str) -> None:
    client = client_entry({"authorization.encrypted.response.alg": "RSA-OAEP"}).client
    with pytest.raises(OAuthError, match="no key with the use enc"):
        delivered(ResponseMode(mode), {"code": "c"}, client=client)


def test_a_client_may_leave_out_issuer_and_session() -> None:
    client = client_entry(
        {
            "exclude.issuer.from.auth.response": "true",
            "exclude.session.state.from.auth.response": "true",
        }
    ).client
    found = delivered(ResponseMode.QUERY, {"code": "c", "session_state": "x"}, client=client)
    assert found == {"state": "s", "code": "c"}
    signed = delivered(ResponseMode.QUERY_JWT, {"code": "c"}, client=client)
    assert claims_of(signed["response"])["iss"] == ISSUER


@pytest.mark.parametrize("uri", [f"{URI}?a=b", f"{URI}?", f"{URI}?a=b&", f"{URI}?a=b#f"])
def test_the_query_of_the_redirect_uri_is_kept(uri: str) -> None:
    target = ResponseTarget(CLIENT, uri, ResponseMode.QUERY)
    found = delivery(target, {"code": "c"})
    assert isinstance(found, Redirect)
    kept = {"a": ["b"]} if "a=b" in uri else {}
    assert parse_qs(urlsplit(found.url).query) == {**kept, "iss": [ISSUER], "code": ["c"]}


@given(st.sampled_from(ResponseMode), st.text(max_size=30), st.text(max_size=30))
def test_hostile_parameters_stay_parameters(mode: ResponseMode, state: str, code: str) -> None:
    found = delivered(mode, {"code": code}, state=state)
    if "response" in found:
        found = claims_of(found["response"])
    assert (found["state"], found["code"]) == (state, code)


@given(st.text(max_size=30))
def test_an_address_is_ascii_and_of_one_line(state: str) -> None:
    target = ResponseTarget(CLIENT, URI, ResponseMode.QUERY, state)
    found = delivery(target, {"code": "c"})
    assert isinstance(found, Redirect)
    assert found.url.isascii()
    assert found.url.isprintable()
    assert " " not in found.url
