"""The client policies of the realm let the request begin: what comes through the browser alone.

A pushed request has no browser yet. Keycloak: client policies (26.7)
"""

from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.authorization.errors import policy_refusal_page
from gateway.protocol.errors import OAuthError
from gateway.protocol.policy_checks import check_authorization_start


def check(draft: AuthorizationDraft) -> None:
    """Raise PageError: the redirect URI is not verified yet."""
    if draft.is_push:
        return
    client = draft.client.client
    uri = draft.get("redirect_uri") or client.redirects.only(draft.base_url)
    pushed = None if draft.pushed_reference is None else draft.parameters
    try:
        check_authorization_start(draft.request, draft.client, uri, pushed)
    except OAuthError as refusal:
        raise policy_refusal_page(refusal) from refusal
