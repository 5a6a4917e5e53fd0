"""`claims` is a JSON object with the members `id_token` and `userinfo`.

Keycloak leaves out what it cannot read. Here the client gets an error, since an essential claim in
it would be lost. Spec: OpenID Connect Core §5.5
"""

import json

from gateway.domain.events import EventError
from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.errors import OAuthError, refused


def check(draft: AuthorizationDraft) -> None:
    """Keep the claims; raises OAuthError."""
    text = draft.get("claims")
    if not text:
        return
    try:
        found = json.loads(text)
        # Half characters and infinite numbers could not be stored.
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise _refused() from error
    members = found.values() if isinstance(found, dict) else [found]
    if not all(isinstance(member, dict | None) for member in members):
        raise _refused()
    draft.claims = found


def _refused() -> OAuthError:
    return refused("invalid_request", "Invalid parameter: claims", EventError.INVALID_REQUEST)
