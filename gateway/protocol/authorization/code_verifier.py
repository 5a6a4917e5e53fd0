"""PKCE at the token endpoint: the verifier must fit the challenge of the authorization request.

Spec: RFC 7636 §4.1, §4.6; Keycloak: 1.4 (rows 8 to 11); attacks: C7
"""

import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Final

from gateway.client_policies import VerifiedCodeVerifier
from gateway.domain import base64url
from gateway.domain.events import EventError
from gateway.protocol.authorization.checks.code_challenge import PLAIN, S256
from gateway.protocol.errors import OAuthError, refused

_VERIFIER: Final = re.compile(r"[A-Za-z0-9\-._~]{43,128}", re.ASCII)


@dataclass(frozen=True, slots=True)
class _AcceptedVerifier(VerifiedCodeVerifier):
    """Created by `require_verifier` alone."""


def require_verifier(
    verifier: str | None, challenge: str | None, method: str | None, *, enforced: bool
) -> VerifiedCodeVerifier | None:
    """Raise OAuthError unless the verifier is the one that the challenge was made from.

    Return what it proves; None without a challenge.

    A verifier without a challenge is refused: the challenge may have been removed on the way to
    the authorization endpoint. `enforced` is for clients that must use PKCE.
    """
    if verifier is None:
        if challenge is not None or enforced:
            raise _refused("PKCE code verifier not specified", EventError.CODE_VERIFIER_MISSING)
        return None
    if challenge is None:
        text = "PKCE code verifier specified but challenge not present in authorization"
        raise _refused(text, EventError.INVALID_CODE_VERIFIER)
    if _VERIFIER.fullmatch(verifier) is None:
        text = "PKCE verification failed: Invalid code verifier"
        raise _refused(text, EventError.INVALID_CODE_VERIFIER)
    if not hmac.compare_digest(_challenge(verifier, method).encode(), challenge.encode()):
        text = "PKCE verification failed: Code mismatch"
        raise _refused(text, EventError.PKCE_VERIFICATION_FAILED)
    return _AcceptedVerifier(S256 if method == S256 else PLAIN)


def _challenge(verifier: str, method: str | None) -> str:
    if method != S256:
        return verifier
    digest = hashlib.sha256(verifier.encode("ascii")).digest()
    return base64url.encode(digest)


def _refused(text: str, event_error: str) -> OAuthError:
    return refused("invalid_grant", text, event_error)
