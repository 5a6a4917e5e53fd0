"""`id_token_hint` names the user: an ID token of this realm for this client, expired or not.

Keycloak leaves out one that it cannot verify, and so does this: the client compares the user that
signs in with the one it expected. Spec: OpenID Connect Core §3.1.2.1; attacks C23
"""

from typing import Any

from gateway.domain.errors import InvalidToken
from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.claims.protocol_claims import ID_TOKEN_TYPE


def check(draft: AuthorizationDraft) -> None:
    """Keep the user that a valid hint names."""
    token = draft.get("id_token_hint")
    if not token:
        return
    try:
        claims = draft.request.realm.key_ring.verify(token, draft.request.now)
    except InvalidToken:
        return
    subject = claims.get("sub")
    is_ours = claims.get("iss") == draft.request.issuer and claims.get("typ") == ID_TOKEN_TYPE
    if is_ours and _is_for(draft, claims.get("aud")) and isinstance(subject, str):
        draft.hinted_user = subject


def _is_for(draft: AuthorizationDraft, audience: Any) -> bool:
    return draft.client.client.client_id in (audience if isinstance(audience, list) else [audience])
