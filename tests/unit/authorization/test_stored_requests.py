"""A sign-in keeps a request as text: it comes back as it was, and is bounded. Attacks C24."""

from datetime import timedelta
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.protocol.authorization import (
    AuthorizationRequest,
    CodeChallenge,
    Prompt,
    RequestedLevel,
    ResponseType,
    StoredRequestUnusable,
    restore_request,
)
from gateway.protocol.authorization.request import LARGEST_STORED, LONGEST_PARAMETERS
from gateway.protocol.response_modes import ResponseMode
from gateway.protocol.scopes import grant_scopes
from tests.support.authorization_requests import checked, client_entry, realm_entry

CLIENT: Final = client_entry()
TEXT = st.none() | st.text(min_size=1, max_size=50)
WORDS = st.lists(st.text("abcde-", min_size=1, max_size=8), max_size=4).map(tuple)
SMALL = st.text(max_size=10)
JSON: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers() | SMALL
CLAIMS = st.dictionaries(SMALL, st.none() | st.dictionaries(SMALL, JSON, max_size=3), max_size=3)
CHALLENGES = st.builds(CodeChallenge, SMALL, st.sampled_from(["plain", "S256"]))
LEVELS = st.builds(RequestedLevel, st.integers(0, 9), essential=st.booleans())


@st.composite
def requests(draw: st.DrawFn) -> AuthorizationRequest:
    scope = draw(st.sampled_from([None, "openid", "openid "]))
    return AuthorizationRequest(
        client=CLIENT,
        redirect_uri=draw(st.text(max_size=50)),
        response_type=draw(st.frozensets(st.sampled_from(ResponseType), min_size=1)),
        response_mode=draw(st.sampled_from(ResponseMode)),
        scopes=grant_scopes(realm_entry(), CLIENT.client, scope),
        redirect_uri_sent=draw(st.booleans()),
        state=draw(st.none() | st.text(max_size=50)),
        nonce=draw(st.none() | st.text(max_size=50)),
        prompt=draw(st.frozensets(st.sampled_from(Prompt))),
        max_age=draw(st.none() | st.integers(0, 2**31).map(lambda age: timedelta(seconds=age))),
        login_hint=draw(TEXT),
        hinted_user=draw(TEXT),
        level=draw(st.none() | LEVELS),
        claims=draw(CLAIMS),
        ui_locales=draw(WORDS),
        display=draw(TEXT),
        code_challenge=draw(st.none() | CHALLENGES),
        action=draw(TEXT),
        action_parameter=draw(TEXT),
        identity_provider=draw(TEXT),
    )


@given(requests())
def test_a_stored_request_comes_back_as_it_was(request: AuthorizationRequest) -> None:
    assert restore_request(request.stored(), realm_entry(), CLIENT) == request


@given(st.dictionaries(st.sampled_from([*LONGEST_PARAMETERS, "level", "hinted_user"]), SMALL))
def test_a_malformed_one_is_refused_as_such(stored: dict[str, str]) -> None:
    try:
        restore_request({**stored, "client_id": "app"}, realm_entry(), CLIENT)
    except StoredRequestUnusable as error:
        assert str(error).startswith(("malformed", "its claims"))


@pytest.mark.anyio
async def test_the_largest_accepted_request_can_be_restored() -> None:
    sizes = {
        name: LONGEST_PARAMETERS[name] for name in ("state", "nonce", "login_hint", "acr_values")
    }
    sent = {name: "é" * longest for name, longest in sizes.items()}
    sent |= {
        name: "x" * LONGEST_PARAMETERS[name] for name in ("ui_locales", "display", "kc_idp_hint")
    }
    sent |= {"claims": '{"userinfo":{"' + "é" * (LONGEST_PARAMETERS["claims"] - 25) + '":null}}'}
    sent |= {"kc_action": "a:" + "x" * 253, "code_challenge": "x" * 128}
    request = await checked(CLIENT, sent)
    stored = request.stored()
    assert sum(map(len, stored.values())) < LARGEST_STORED
    assert restore_request(stored, realm_entry(), CLIENT) == request


@pytest.mark.parametrize(
    "changed", [{"client_id": "other"}, {"state": "x" * LARGEST_STORED}, {"response_type": "x"}]
)
@pytest.mark.anyio
async def test_a_foreign_a_large_and_an_unknown_one_are_refused(changed: dict[str, str]) -> None:
    stored = {**(await checked(CLIENT)).stored(), **changed}
    with pytest.raises(StoredRequestUnusable):
        restore_request(stored, realm_entry(), CLIENT)


@pytest.mark.anyio
async def test_no_secret_of_the_request_stands_in_its_repr() -> None:
    sent = dict.fromkeys(("state", "nonce", "login_hint"), "a-secret-value")
    assert "a-secret-value" not in repr(await checked(CLIENT, sent))
