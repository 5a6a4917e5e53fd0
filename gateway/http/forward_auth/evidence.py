"""The evidence of a decision request, from the facts of the edge and its headers."""

from gateway.forward_auth.evidence import Evidence
from gateway.http.edge.facts import EdgeFacts
from gateway.http.forward_auth.original_headers import AUTHORIZATION, COOKIE, OriginalHeaders
from gateway.http.forward_auth.session_cookies import session_cookies


def evidence_of(facts: EdgeFacts, headers: OriginalHeaders) -> Evidence:
    """Return what the caller sent to identify itself."""
    return Evidence(
        facts.remote_address,
        facts.secure,
        headers.text(AUTHORIZATION),
        session_cookies(headers.text(COOKIE)),
        facts.certificate,
    )
