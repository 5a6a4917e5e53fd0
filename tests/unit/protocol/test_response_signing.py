"""Signed responses never pass for tokens, whatever mappers add. RFC 8725 §3.11."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gateway.protocol.claims.protocol_claims import OWN_CLAIMS
from gateway.protocol.tokens.response_signing import access_token_claims, userinfo_claims

ABOUT_THE_JWT = (
    "exp",
    "iat",
    "nbf",
    "jti",
    "iss",
    "aud",
    "sub",
    "typ",
    "azp",
    "sid",
    "scope",
    "cnf",
    *sorted(OWN_CLAIMS),
)
TYPED = {"sub": "u", "iss": "https://gateway.test/realms/r", "aud": "app"}
VALUES = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text(), max_size=2)
HOSTILE = st.dictionaries(st.sampled_from([*ABOUT_THE_JWT, "name", "active", "jwt"]), VALUES)


@given(HOSTILE)
def test_userinfo_has_no_claim_about_the_jwt_but_the_typed_ones(claims: dict[str, Any]) -> None:
    signed = userinfo_claims(TYPED, claims)
    assert {name: signed[name] for name in signed if name in ABOUT_THE_JWT} == TYPED
    assert signed.get("name") == claims.get("name")


@given(HOSTILE, HOSTILE)
def test_a_token_as_jwt_keeps_its_own_claims(token: dict[str, Any], answer: dict[str, Any]) -> None:
    claims = access_token_claims(token, answer)
    for name in ABOUT_THE_JWT:
        from_answer = name in {"sub", "aud"} and name not in token
        expected = answer if from_answer else token
        assert (name in claims) == (name in expected)
        assert claims.get(name) == expected.get(name)
    assert not {"active", "jwt"} & set(claims)
