"""The checks of an authorization request in their order: one file and one line each.

Before the redirect URI was verified a refusal is a page, afterwards it goes to the client; a check
may ask for a page there too. Keycloak: 12.10; attacks C3
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from gateway.protocol.authorization.checks import (
    claims,
    client,
    code_challenge,
    flows,
    id_token_hint,
    level,
    max_age,
    nonce,
    policies,
    policies_at_start,
    prompt,
    pushed_only,
    pushed_request,
    redirect_uri,
    repeated_parameters,
    request_object,
    response_mode,
    response_type,
    scope,
    sizes,
)
from gateway.protocol.authorization.draft import AuthorizationDraft

Check = Callable[[AuthorizationDraft], Awaitable[None] | None]
"""Fills in what it has verified; raises OAuthError, PageError among it, or StoreUnavailable."""

CHECKS: Final[Mapping[str, Check]] = {
    "client": client.check,
    "pushed_request": pushed_request.check,
    "request_object": request_object.check,
    "policies_at_start": policies_at_start.check,
    "max_age": max_age.check,
    "redirect_uri": redirect_uri.check,
    "response_type": response_type.check,
    "response_mode": response_mode.check,
    "flows": flows.check,
    "pushed_only": pushed_only.check,
    "repeated_parameters": repeated_parameters.check,
    "sizes": sizes.check,
    "scope": scope.check,
    "nonce": nonce.check,
    "code_challenge": code_challenge.check,
    "prompt": prompt.check,
    "claims": claims.check,
    "level": level.check,
    "id_token_hint": id_token_hint.check,
    "policies": policies.check,
}
"""The file's name -> its check, in the order in which they run."""
