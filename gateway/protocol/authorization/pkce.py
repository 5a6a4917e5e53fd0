"""PKCE: the challenge of an authorization request, and the verifier at the token endpoint."""

import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Final

from gateway.client_policies import VerifiedCodeVerifier
from gateway.domain import base64url
from gateway.domain.events import EventError
from gateway.protocol.authorization.request import AuthorizationDraft, CodeChallenge, ResponseType
from gateway.protocol.errors import OAuthError, refused

PLAIN: Final = "plain"
S256: Final = "S256"
CODE_CHALLENGE_METHODS: Final = (PLAIN, S256)
"""In the order of discovery."""
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}")


def check_code_challenge(draft: AuthorizationDraft) -> None:
    """Keep the challenge; raises OAuthError.

    It is optional unless `pkce.code.challenge.method` is set, as in Keycloak; RFC 9700 §2.1.1
    demands it of public clients. Spec: RFC 7636 §4.3, §4.4.1; Keycloak: 12.10 authorization;
    attacks C7
    """
    if ResponseType.CODE not in draft.response_type:
        return
    challenge, method = (
        draft.parameters.get("code_challenge"),
        draft.parameters.get("code_challenge_method"),
    )
    required = draft.client.client.authorization.code_challenge_method
    if required:
        _require_challenge_method(method, required)
    if challenge is None:
        if required or method is not None:
            raise _refused_challenge("Missing parameter: code_challenge")
        return
    if method is not None and method not in CODE_CHALLENGE_METHODS:
        raise _refused_challenge("Invalid parameter: code_challenge_method")
    if _CHALLENGE.fullmatch(challenge) is None:
        raise _refused_challenge("Invalid parameter: code_challenge")
    draft.code_challenge = CodeChallenge(challenge, method or PLAIN)


def _require_challenge_method(method: str | None, required: str) -> None:
    if method is None:
        raise _refused_challenge("Missing parameter: code_challenge_method")
    if method != required:
        raise _refused_challenge(
            "Invalid parameter: code challenge method is not matching the configured one"
        )


def _refused_challenge(text: str) -> OAuthError:
    return refused("invalid_request", text, EventError.INVALID_REQUEST)


_VERIFIER: Final = re.compile(r"[A-Za-z0-9\-._~]{43,128}", re.ASCII)


@dataclass(frozen=True, slots=True)
class _AcceptedVerifier(VerifiedCodeVerifier):
    """Created by `require_verifier` alone."""


def require_verifier(
    verifier: str | None, challenge: str | None, method: str | None, *, enforced: bool
) -> VerifiedCodeVerifier | None:
    """Raise OAuthError unless the verifier fits the challenge; None without both.

    A verifier without a challenge is refused, since the challenge may have been removed; `enforced`
    demands PKCE. Spec: RFC 7636 §4.1, §4.6; Keycloak: 1.4 (rows 8 to 11); attacks: C7
    """
    if verifier is None:
        if challenge is not None or enforced:
            raise _refused_verifier(
                "PKCE code verifier not specified", EventError.CODE_VERIFIER_MISSING
            )
        return None
    if challenge is None:
        text = "PKCE code verifier specified but challenge not present in authorization"
        raise _refused_verifier(text, EventError.INVALID_CODE_VERIFIER)
    if _VERIFIER.fullmatch(verifier) is None:
        text = "PKCE verification failed: Invalid code verifier"
        raise _refused_verifier(text, EventError.INVALID_CODE_VERIFIER)
    if not hmac.compare_digest(
        _challenge_of_verifier(verifier, method).encode(), challenge.encode()
    ):
        text = "PKCE verification failed: Code mismatch"
        raise _refused_verifier(text, EventError.PKCE_VERIFICATION_FAILED)
    return _AcceptedVerifier(S256 if method == S256 else PLAIN)


def _challenge_of_verifier(verifier: str, method: str | None) -> str:
    if method != S256:
        return verifier
    return base64url.encode(hashlib.sha256(verifier.encode("ascii")).digest())


def _refused_verifier(text: str, event_error: str) -> OAuthError:
    return refused("invalid_grant", text, event_error)
