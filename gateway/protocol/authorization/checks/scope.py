"""The client may ask for the scopes. Spec: RFC 6749 §3.3; Keycloak: 12.10."""

from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.scopes import grant_scopes


def check(draft: AuthorizationDraft) -> None:
    """Keep the scopes; raises OAuthError."""
    draft.scopes = grant_scopes(draft.request.realm, draft.client.client, draft.get("scope"))
