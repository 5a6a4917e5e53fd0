"""A `request_uri` of a pushed request is replaced by what was pushed, for its own client.

Parameters beside it do not count. Users may reload the page: the request is used up when its
response is issued. Spec: RFC 9126 §4; Keycloak: 12.8
"""

from typing import Final

from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.authorization.errors import invalid_request_page

PUSHED: Final = "urn:ietf:params:oauth:request_uri:"
USED_UP: Final = "PAR not found, not issued or used multiple times."


async def check(draft: AuthorizationDraft) -> None:
    """Read what was pushed; raises PageError or StoreUnavailable."""
    uri = draft.get("request_uri")
    if uri is None or not uri.startswith(PUSHED):
        return
    if "request_uri" in draft.request.parameters.repeated_names:
        raise invalid_request_page("'request_uri' is present multiple times")
    if draft.get("request") is not None:
        raise invalid_request_page(
            "Illegal to use both 'request' and 'request_uri' parameters together"
        )
    realm_id, client = draft.request.realm.realm.id, draft.client.client
    reference = uri.removeprefix(PUSHED)
    pushed = await draft.services.pushed_requests.find(realm_id, client.id, reference)
    if pushed is None:
        raise invalid_request_page(USED_UP)
    draft.parameters, draft.certificate = pushed.values, pushed.certificate
    draft.was_signed = pushed.was_signed
    draft.pushed_reference = reference
