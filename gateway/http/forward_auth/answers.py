"""Decisions as responses: 200, 401 or 403, headers and no body.

An answer with a body costs nginx its connection to the gateway. Spec: RFC 6750 §3, RFC 9449 §7.1
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from gateway.domain.forward_auth import (
    Forbidden,
    OriginalRequest,
    Reason,
    Unauthenticated,
)
from gateway.forward_auth.browser import SIGN_IN_PATH, leading_to
from gateway.http.errors import nonce_header, proof_challenge
from gateway.http.forward_auth.original_headers import (
    ACCEPT,
    FETCH_MODE,
    REQUESTED_WITH,
    OriginalHeaders,
)
from gateway.http.replies import Headers, Reply

REASON: Final = b"x-realmgate-reason"
SIGN_IN: Final = b"x-realmgate-sign-in"
_NO_STORE: Final = (b"cache-control", b"no-store")
CHALLENGE: Final = b"www-authenticate"
_LONGEST: Final = 400
"""Characters of a realm's name or of scopes in a challenge."""
_REFUSED: Final = "The token is not valid"
_DESCRIPTIONS: Final[Mapping[Reason, str]] = {
    Reason.CREDENTIAL_NOT_ACCEPTED: "Bearer tokens are not accepted here",
    Reason.CERTIFICATE_MISMATCH: "The token is bound to another certificate",
    Reason.TOKEN_NOT_BOUND: "The token is not bound to a certificate or a DPoP key",
    Reason.AUDIENCE_NOT_ALLOWED: "The token is for another service",
    Reason.REALM_NOT_ALLOWED: "The token is of another realm",
    Reason.HTTPS_REQUIRED: "HTTPS is required",
    Reason.MISSING_REALM_ROLE: "A required role is missing",
    Reason.MISSING_CLIENT_ROLE: "A required role is missing",
    Reason.MISSING_SCOPE: "A required scope is missing",
    Reason.MISSING_GROUP: "A required group is missing",
    Reason.CLIENT_NOT_ALLOWED: "The client is not allowed",
    Reason.CERTIFICATE_NOT_ALLOWED: "The certificate is not allowed",
}
"""What a caller reads; why a token is not valid is for the log."""


def refusal(
    decision: Unauthenticated | Forbidden,
    original: OriginalRequest,
    headers: OriginalHeaders,
) -> Reply:
    """Return the answer; for a browser that may sign in with the URL of the sign-in."""
    if isinstance(decision, Forbidden):
        return forbidden(decision)
    reason = (REASON, decision.reason.value.encode())
    added: Headers = (reason, _NO_STORE, *_challenges(decision))
    is_navigation = original.method in {"GET", "HEAD"} and is_shown_to_people(headers)
    if decision.may_sign_in and is_navigation:
        added += ((SIGN_IN, _sign_in_url(original)),)
    return Reply(HTTPStatus.UNAUTHORIZED, added)


def forbidden(decision: Forbidden) -> Reply:
    """Return the answer; with a challenge where another token would help."""
    added: Headers = ((REASON, decision.reason.value.encode()), _NO_STORE)
    if decision.error is not None:
        added += ((CHALLENGE, _challenge(decision)),)
    return Reply(HTTPStatus.FORBIDDEN, added)


def _challenges(decision: Unauthenticated) -> Headers:
    """Return the challenge, and the nonce for the next DPoP proof where that is the reason."""
    proof = decision.proof
    if proof is None:
        return ((CHALLENGE, _challenge(decision)),)
    realm = _quoted(decision.site.realms[0])
    text = proof_challenge(realm, proof.error, _quoted(proof.description))
    nonce = () if proof.nonce is None else (nonce_header(proof.nonce),)
    return ((CHALLENGE, text.encode("ascii")), *nonce)


def _challenge(decision: Unauthenticated | Forbidden) -> bytes:
    realm = decision.site.realms[0] if decision.site is not None else ""
    parts = [f'realm="{_quoted(realm)}"']
    if decision.error is not None:
        parts += [
            f'error="{decision.error}"',
            f'error_description="{_DESCRIPTIONS.get(decision.reason, _REFUSED)}"',
        ]
        if decision.reason is Reason.MISSING_SCOPE and decision.rule is not None:
            parts.append(f'scope="{_quoted(" ".join(decision.rule.requirements.scopes))}"')
    return f"Bearer {', '.join(parts)}".encode("ascii")


def _quoted(text: str) -> str:
    """Return the text in the characters of RFC 6750 §3, others as `?`."""
    return "".join(
        character if " " <= character <= "~" and character not in '"\\' else "?"
        for character in text[:_LONGEST]
    )


def is_shown_to_people(headers: OriginalHeaders) -> bool:
    """Tell whether a browser shows the response to its user."""
    mode = headers.text(FETCH_MODE)
    if mode is not None:
        return mode == "navigate"
    accepts = headers.text(ACCEPT) or ""
    return "text/html" in accepts and headers.text(REQUESTED_WITH) is None


def _sign_in_url(original: OriginalRequest) -> bytes:
    origin = f"{original.scheme}://{original.host}"
    return f"{origin}{leading_to(SIGN_IN_PATH, f'{origin}{original.uri}')}".encode("ascii")
