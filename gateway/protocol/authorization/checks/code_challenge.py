"""PKCE: the challenge has the method that the client must use, or any where it may choose.

Without `pkce.code.challenge.method` a client may leave PKCE out, as in Keycloak; RFC 9700 §2.1.1
demands it of public clients, so administrators should set S256 there.
Spec: RFC 7636 §4.3, §4.4.1; Keycloak: 12.10; attacks C7
"""

import re
from typing import Final

from gateway.domain.events import EventError
from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.authorization.request import CodeChallenge, ResponseType
from gateway.protocol.errors import OAuthError, refused

PLAIN: Final = "plain"
S256: Final = "S256"
CODE_CHALLENGE_METHODS: Final = (PLAIN, S256)
"""In the order of discovery."""
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}")


def check(draft: AuthorizationDraft) -> None:
    """Keep the challenge; raises OAuthError."""
    if ResponseType.CODE not in draft.response_type:
        return
    challenge, method = draft.get("code_challenge"), draft.get("code_challenge_method")
    required = draft.client.client.authorization.code_challenge_method
    if required:
        _require_method(method, required)
    if challenge is None:
        if required or method is not None:
            raise _refused("Missing parameter: code_challenge")
        return
    if method is not None and method not in CODE_CHALLENGE_METHODS:
        raise _refused("Invalid parameter: code_challenge_method")
    if _CHALLENGE.fullmatch(challenge) is None:
        raise _refused("Invalid parameter: code_challenge")
    draft.code_challenge = CodeChallenge(challenge, method or PLAIN)


def _require_method(method: str | None, required: str) -> None:
    if method is None:
        raise _refused("Missing parameter: code_challenge_method")
    if method != required:
        raise _refused(
            "Invalid parameter: code challenge method is not matching the configured one"
        )


def _refused(text: str) -> OAuthError:
    return refused("invalid_request", text, EventError.INVALID_REQUEST)
