"""Whatever is sent as a DPoP proof is verified or refused with a reason. RFC 9449 §4.3."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.crypto.client_signatures import ProofSignatureVerifier
from gateway.domain.ports.client_keys import InvalidProof
from tests.support.dpop import ProofKey, assembled

_KEY = ProofKey.new()
_PROOF = _KEY.proof("POST", "https://id.example.test/token")
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda each: (
        st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=4), each, max_size=3)
    ),
    max_leaves=8,
)
_MEMBERS = st.sampled_from(["kty", "crv", "x", "y", "n", "e", "d", "alg", "use", "kid"])
_HEADER = st.fixed_dictionaries(
    {},
    optional={
        "typ": st.just("dpop+jwt") | _JSON,
        "alg": st.sampled_from(["ES256", "PS256", "EdDSA", "none"]) | _JSON,
        "jwk": st.dictionaries(_MEMBERS, _JSON, max_size=6).map(lambda more: _KEY.jwk | more)
        | _JSON,
        "kid": _JSON,
    },
)


@given(
    st.lists(st.tuples(st.integers(0, len(_PROOF) - 1), st.characters()), min_size=1, max_size=3)
)
def test_an_altered_proof_is_refused(changes: list[tuple[int, str]]) -> None:
    characters = list(_PROOF)
    for place, character in changes:
        characters[place] = character
    altered = "".join(characters)
    verifier = ProofSignatureVerifier()
    assert verifier.verify_proof(_PROOF).thumbprint == _KEY.thumbprint
    if altered == _PROOF:
        return
    with pytest.raises(InvalidProof):
        verifier.verify_proof(altered)


@given(_HEADER, _JSON, st.binary(max_size=70))
def test_any_header_is_refused_with_a_reason(
    header: dict[str, object], payload: dict[str, object], signature: bytes
) -> None:
    with pytest.raises(InvalidProof, match=r"^[ -!#-\[\]-~]+$"):
        ProofSignatureVerifier().verify_proof(assembled(header, payload, signature))


@given(st.text(max_size=80))
def test_any_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidProof):
        ProofSignatureVerifier().verify_proof(text)


def test_the_thumbprint_is_that_of_the_specification() -> None:
    """RFC 7638 §3.1 and RFC 8037 §A.3."""
    keys = [ProofKey.new(algorithm) for algorithm in ("ES384", "EdDSA", "PS256")]
    found = [
        ProofSignatureVerifier().verify_proof(key.proof("GET", "https://a.test/")) for key in keys
    ]
    assert [proof.thumbprint for proof in found] == [key.thumbprint for key in keys]
