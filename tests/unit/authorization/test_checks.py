"""The checks of authorization requests: order, texts, and where a refusal goes.

Each expectation was compared with an answer of Keycloak 26.7.3. Keycloak: 12.10
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from gateway.domain.keys import SignatureAlgorithm
from gateway.protocol.authorization import (
    PageError,
    Prompt,
    RequestedLevel,
    ResponseType,
    checks,
    levels,
    pkce,
    request_object,
)
from gateway.protocol.authorization.checks import CHECKS, Check
from gateway.protocol.authorization.endpoints import run_checks
from gateway.protocol.authorization.request import LONGEST_PARAMETERS
from gateway.protocol.errors import OAuthError
from gateway.protocol.response_modes import ResponseMode
from tests.support.authorization_requests import (
    ISSUER,
    NOW,
    URI,
    checked,
    client_entry,
    draft,
    realm_entry,
)

pytestmark = pytest.mark.anyio
CHALLENGE = "x" * 43
S256 = {"code_challenge": CHALLENGE, "code_challenge_method": "S256"}
IMPLICIT = {"response_type": "id_token", "nonce": "n"}
NO_FLOW = (
    "Client is not allowed to initiate browser login with given response_type."
    " {} flow is disabled for the client."
)
QUERY_JWT = (
    "Response_mode 'query.jwt' is allowed only when the authorization response token is encrypted"
)
FORCED = {"pkce.code.challenge.method": "S256"}
Sent = dict[str, str | None]


async def refusal(sent: Sent, *, repeated: tuple[str, ...] = (), **fields: Any) -> OAuthError:
    with pytest.raises(OAuthError) as caught:
        await checked(client_entry(**fields), sent, repeated=repeated)
    return caught.value


CASES: dict[str, tuple[Sent, dict[str, Any]]] = {
    "pushed_request": ({"request_uri": "urn:ietf:params:oauth:request_uri:x", "request": "y"}, {}),
    "request_object": ({"request": "x"}, {}),
    "max_age": ({"max_age": "1"}, {}),
    "redirect_uri": ({"redirect_uri": "https://evil.example/"}, {}),
    "response_type": ({"response_type": "x"}, {}),
    "response_mode": ({"response_mode": "fragment"}, {}),
    "flows": ({}, {"standardFlowEnabled": False}),
    "pushed_only": ({}, {"attributes": {"require.pushed.authorization.requests": "true"}}),
    "sizes": ({"nonce": "x" * 4001}, {}),
    "scope": ({"scope": "unknown"}, {}),
    "nonce": ({"response_type": "id_token"}, {}),
    "code_challenge": ({**S256}, {}),
    "prompt": ({"prompt": "login"}, {}),
    "claims": ({"claims": '{"userinfo":{"name":null}}'}, {}),
    "level": ({"acr_values": "gold"}, {}),
}
"""Check -> a request, and fields of its client, that end differently without it."""
ELSEWHERE = {"client", "repeated_parameters", "id_token_hint", "policies", "policies_at_start"}
"""Checks that tests of their own show."""


def test_every_check_is_in_the_table_by_its_name() -> None:
    defined = {
        name.removeprefix("check_"): value
        for module in (checks, levels, pkce, request_object)
        for name, value in vars(module).items()
        if name.startswith("check_") and value.__module__ == module.__name__
    }
    assert defined == CHECKS
    assert CHECKS.keys() == CASES.keys() | ELSEWHERE


@pytest.mark.parametrize("name", CASES)
async def test_a_request_ends_differently_without_the_check(name: str) -> None:
    sent, fields = CASES[name]
    rest = {other: check for other, check in CHECKS.items() if other != name}

    async def outcome(table: Mapping[str, Check]) -> object:
        try:
            return (await checked(client_entry(**fields), sent, checks=table)).stored()
        except (OAuthError, LookupError) as error:
            return str(error)

    assert await outcome(CHECKS) != await outcome(rest)


def test_no_response_before_the_redirect_uri_is_verified() -> None:
    """Attacks C3."""
    order = list(CHECKS)
    before = order[: order.index("redirect_uri") + 1]
    assert before == [
        *("client", "pushed_request", "request_object", "policies_at_start"),
        *("max_age", "redirect_uri"),
    ]
    assert draft().target() is None


async def test_a_good_request_is_accepted_as_it_was_sent() -> None:
    request = await checked(changed={**S256, "nonce": "n", "login_hint": "ada", "max_age": "0"})
    assert request.redirect_uri == URI
    assert request.response_type == {ResponseType.CODE}
    assert request.response_mode is ResponseMode.QUERY
    assert (request.state, request.nonce, request.login_hint) == ("s", "n", "ada")
    assert request.max_age == timedelta()
    assert request.code_challenge is not None
    assert (request.code_challenge.challenge, request.code_challenge.method) == (CHALLENGE, "S256")
    assert request.scopes.openid
    assert request.redirect_uri_sent


@pytest.mark.parametrize(
    ("sent", "error", "description"),
    [
        ({"response_type": None}, "invalid_request", "Missing parameter: response_type"),
        ({"response_type": ""}, "unsupported_response_type", None),
        ({"response_type": "Code"}, "unsupported_response_type", None),
        ({"response_type": "none code"}, "unsupported_response_type", None),
        ({"response_type": "code  token"}, "unsupported_response_type", None),
        ({"response_mode": ""}, "invalid_request", "Invalid parameter: response_mode"),
        ({"response_mode": "Query"}, "invalid_request", "Invalid parameter: response_mode"),
        (
            {**IMPLICIT, "response_mode": "query"},
            "invalid_request",
            "Response_mode 'query' not allowed for implicit or hybrid flow",
        ),
        (
            {**IMPLICIT, "response_mode": "query.jwt"},
            "invalid_request",
            QUERY_JWT,
        ),
        ({"scope": "openid unknown"}, "invalid_scope", "Invalid scopes: openid unknown"),
        ({"scope": ""}, "invalid_scope", "Invalid scopes: "),
        ({"response_type": "id_token"}, "invalid_request", "Missing parameter: nonce"),
        ({"response_type": "code id_token"}, "invalid_request", "Missing parameter: nonce"),
        (
            {"code_challenge_method": "S256"},
            "invalid_request",
            "Missing parameter: code_challenge",
        ),
        (
            {"code_challenge": CHALLENGE, "code_challenge_method": "s256"},
            "invalid_request",
            "Invalid parameter: code_challenge_method",
        ),
        ({"code_challenge": ""}, "invalid_request", "Invalid parameter: code_challenge"),
        ({"code_challenge": "x" * 42}, "invalid_request", "Invalid parameter: code_challenge"),
        ({"code_challenge": "x" * 129}, "invalid_request", "Invalid parameter: code_challenge"),
        (
            {"code_challenge": "x" * 43 + "\n"},
            "invalid_request",
            "Invalid parameter: code_challenge",
        ),
        ({"prompt": "none login"}, "invalid_request", "Invalid parameter: prompt"),
        ({"claims": "x"}, "invalid_request", "Invalid parameter: claims"),
        ({"claims": "[]"}, "invalid_request", "Invalid parameter: claims"),
        ({"claims": "null"}, "invalid_request", "Invalid parameter: claims"),
        ({"claims": '{"id_token":1}'}, "invalid_request", "Invalid parameter: claims"),
        ({"claims": '{"id_token":{"a":NaN}}'}, "invalid_request", "Invalid parameter: claims"),
        ({"claims": '{"id_token":{"a":1e999}}'}, "invalid_request", "Invalid parameter: claims"),
        (
            {"claims": '{"userinfo":{"\\ud800":null}}'},
            "invalid_request",
            "Invalid parameter: claims",
        ),
        ({"claims": "[" * 3999}, "invalid_request", "Invalid parameter: claims"),
    ],
)
async def test_a_client_is_told_what_is_wrong(
    sent: Sent, error: str, description: str | None
) -> None:
    refused = await refusal(sent)
    assert not isinstance(refused, PageError)
    assert (refused.error, refused.description) == (error, description)


@pytest.mark.parametrize(
    ("sent", "text", "event_error"),
    [
        ({"redirect_uri": "https://x/"}, "Invalid parameter: redirect_uri", "invalid_redirect_uri"),
        ({"redirect_uri": None}, "Invalid parameter: redirect_uri", "invalid_redirect_uri"),
        ({"redirect_uri": ""}, "Invalid parameter: redirect_uri", "invalid_redirect_uri"),
        ({"max_age": "x"}, "Invalid Request", "invalid_request"),
        ({"max_age": ""}, "Invalid Request", "invalid_request"),
        ({"max_age": "99999999999"}, "Invalid Request", "invalid_request"),
        (
            {"max_age": "1", "request": "x", "request_uri": "y"},
            "Invalid Request",
            "invalid_request",
        ),
        ({"request_uri": "https://app.example/object"}, "Invalid Request", "invalid_request"),
        ({"request": ""}, "Invalid Request", "invalid_request"),
        ({"prompt": "create"}, "Registration not allowed", "invalid_request"),
        (
            {"claims": '{"id_token":{"acr":{"essential":true,"values":["unknown"]}}}'},
            "Invalid parameter: claims",
            "invalid_request",
        ),
    ],
)
async def test_a_person_reads_what_is_not_sent_to_a_client(
    sent: Sent, text: str, event_error: str
) -> None:
    refused = await refusal(sent)
    assert isinstance(refused, PageError)
    assert refused.message.text(*refused.arguments) == refused.description == text
    assert refused.event is not None
    assert refused.event.error == event_error


@pytest.mark.parametrize("response_type", ["code", "none", "code token"])
async def test_a_disabled_standard_flow_is_refused(response_type: str) -> None:
    refused = await refusal({"response_type": response_type}, standardFlowEnabled=False)
    assert (refused.error, refused.description) == (
        "unauthorized_client",
        NO_FLOW.format("Standard"),
    )


@pytest.mark.parametrize("response_type", ["token", "id_token", "code token"])
async def test_a_disabled_implicit_flow_is_refused(response_type: str) -> None:
    sent: Sent = {"response_type": response_type, "nonce": "n"}
    refused = await refusal(sent, implicitFlowEnabled=False)
    assert (refused.error, refused.description) == (
        "unauthorized_client",
        NO_FLOW.format("Implicit"),
    )


async def test_a_repeated_parameter_is_refused_whatever_its_name() -> None:
    """Attacks C19."""
    refused = await refusal({}, repeated=("unknown",))
    assert (refused.error, refused.description) == ("invalid_request", "duplicated parameter")


@pytest.mark.parametrize(
    "name", sorted(LONGEST_PARAMETERS.keys() - {"client_id", "request", "request_uri"})
)
async def test_no_parameter_is_longer_than_its_limit(name: str) -> None:
    """Attacks C24."""
    await refusal({name: "x" * (LONGEST_PARAMETERS[name] + 1)})


async def test_a_state_that_is_too_long_is_not_sent_back() -> None:
    each = draft(None, {"state": "x" * 4001})
    with pytest.raises(OAuthError, match="Invalid parameter: state"):
        await run_checks(each)
    target = each.target()
    assert target is not None
    assert target.state is None


@pytest.mark.parametrize(
    ("response_type", "mode", "found"),
    [
        ("code", None, "query"),
        ("code", "jwt", "query.jwt"),
        ("code", "form_post", "form_post"),
        ("none", None, "query"),
        ("code token", None, "fragment"),
        ("token code", "jwt", "fragment.jwt"),
        ("id_token token", "form_post.jwt", "form_post.jwt"),
    ],
)
async def test_a_response_type_has_a_response_mode(
    response_type: str, mode: str | None, found: str
) -> None:
    sent: Sent = {"response_type": response_type, "response_mode": mode, "nonce": "n"}
    assert (await checked(changed=sent)).response_mode == found


@pytest.mark.parametrize(
    ("sent", "description"),
    [
        ({}, "Missing parameter: code_challenge_method"),
        ({"code_challenge": CHALLENGE}, "Missing parameter: code_challenge_method"),
        ({"code_challenge_method": "S256"}, "Missing parameter: code_challenge"),
        (
            {"code_challenge": CHALLENGE, "code_challenge_method": "plain"},
            "Invalid parameter: code challenge method is not matching the configured one",
        ),
        ({**S256, "code_challenge": "short"}, "Invalid parameter: code_challenge"),
    ],
)
async def test_a_client_that_must_use_pkce_does(sent: Sent, description: str) -> None:
    """Attacks C7."""
    assert (await refusal(sent, attributes=FORCED)).description == description
    assert (await checked(client_entry(FORCED), S256)).code_challenge is not None


@pytest.mark.parametrize(
    ("sent", "attributes", "level"),
    [
        ({}, {}, None),
        ({"acr_values": "gold"}, {}, RequestedLevel(2)),
        ({"acr_values": "gold silver"}, {}, RequestedLevel(1)),
        ({"acr_values": "7"}, {}, RequestedLevel(7)),
        ({"acr_values": "unknown"}, {}, RequestedLevel(0)),
        ({"acr_values": "gold"}, {"acr.loa.map": '{"gold":5}'}, RequestedLevel(5)),
        ({"acr_values": "gold"}, {"acr.loa.map": "no JSON"}, RequestedLevel(2)),
        ({}, {"default.acr.values": "gold##silver"}, RequestedLevel(1)),
        ({"acr_values": "silver"}, {"minimum.acr.value": "gold"}, RequestedLevel(2)),
        ({}, {"minimum.acr.value": "gold"}, RequestedLevel(2)),
        ({"claims": '{"id_token":{"acr":{"value":"gold"}}}'}, {}, RequestedLevel(2)),
        (
            {
                "claims": '{"id_token":{"acr":{"essential":true,"values":["gold"]}}}',
                "acr_values": "silver",
            },
            {},
            RequestedLevel(2, essential=True),
        ),
    ],
)
async def test_a_level_is_asked_for_by_its_names(
    sent: Sent, attributes: dict[str, str], level: RequestedLevel | None
) -> None:
    assert (await checked(client_entry(attributes), sent)).level == level


@pytest.mark.parametrize(
    ("changed", "user"),
    [
        ({}, "ada"),
        ({"exp": 1}, "ada"),
        ({"aud": ["app", "other"]}, "ada"),
        ({"aud": "other"}, None),
        ({"iss": "https://gateway.test/realms/other"}, None),
        ({"typ": "Bearer"}, None),
        ({"sub": 5}, None),
    ],
)
async def test_a_hint_names_the_user(changed: dict[str, Any], user: str | None) -> None:
    """An ID token of this realm for this client, expired or not; attacks C23."""
    claims = {"iss": ISSUER, "aud": "app", "typ": "ID", "sub": "ada", "exp": 9e9, **changed}
    token = realm_entry().key_ring.sign(claims, SignatureAlgorithm.RS256, NOW)
    assert (await checked(changed={"id_token_hint": token})).hinted_user == user
    forged = token[:-6] + "AAAAAA"
    assert (await checked(changed={"id_token_hint": forged})).hinted_user is None


async def test_words_that_are_no_prompt_are_left_out() -> None:
    request = await checked(changed={"prompt": "login unknown consent"})
    assert request.prompt == {Prompt.LOGIN, Prompt.CONSENT}


async def test_an_action_may_have_a_parameter() -> None:
    request = await checked(changed={"kc_action": "delete_credential:5"})
    assert (request.action, request.action_parameter) == ("delete_credential", "5")


async def test_the_only_redirect_uri_may_be_left_out_without_openid() -> None:
    request = await checked(changed={"redirect_uri": None, "scope": None})
    assert (request.redirect_uri, request.redirect_uri_sent) == (URI, False)


@pytest.mark.parametrize(
    ("mode", "answered_by"),
    [("form_post", ResponseMode.FORM_POST), ("fragment", ResponseMode.FRAGMENT), ("x", "query")],
)
async def test_a_refused_response_type_uses_the_requested_mode(mode: str, answered_by: str) -> None:
    """OAuth 2.0 Form Post Response Mode §2: errors are posted too."""
    asked = draft(client_entry(), {"response_type": None, "response_mode": mode})
    with pytest.raises(OAuthError):
        await run_checks(asked)
    target = asked.target()
    assert target is not None
    assert target.mode == answered_by
