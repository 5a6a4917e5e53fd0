"""The evidence of a decision request, from the facts of the edge and its headers."""

from gateway.domain.dpop_proofs import NO_PROOF, SentProof
from gateway.domain.forward_auth import OriginalRequest
from gateway.forward_auth.evidence import Evidence
from gateway.http.edge.facts import EdgeFacts
from gateway.http.forward_auth.original_headers import (
    AUTHORIZATION,
    COOKIE,
    DPOP,
    OriginalHeaders,
)
from gateway.http.forward_auth.session_cookies import session_cookies


def evidence_of(facts: EdgeFacts, headers: OriginalHeaders, original: OriginalRequest) -> Evidence:
    """Return what the caller sent to identify itself."""
    return Evidence(
        facts.remote_address,
        facts.secure,
        headers.text(AUTHORIZATION),
        session_cookies(headers.text(COOKIE)),
        facts.certificate,
        _sent_proof(headers, original),
        headers.unremovable,
    )


def _sent_proof(headers: OriginalHeaders, original: OriginalRequest) -> SentProof:
    """Return the DPoP proof, which has to name the request to the site."""
    text = headers.text(DPOP)
    if text is None:
        return NO_PROOF
    url = f"{original.scheme}://{original.host}{original.uri}"
    return SentProof(text, original.method, (url,))
