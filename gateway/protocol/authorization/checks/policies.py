"""The client policies of the realm accept the verified request, also when it is pushed.

Keycloak judges a pushed request when it is used (AUTHORIZATION_REQUEST); here its client learns of
the refusal at once, and it is judged again when it is used.
"""

from collections.abc import Mapping

from gateway.client_policies import AuthorizationRequested
from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.authorization.parameters import DPOP_KEY
from gateway.protocol.policy_checks import check_authorization_request, realm_policies


def check(draft: AuthorizationDraft) -> None:
    """Keep what the policies demand of the sign-in; raises OAuthError for a refused request."""
    request = draft.request
    if not realm_policies(request.realm):
        return
    asked = AuthorizationRequested(
        draft.client.client,
        request.now,
        _with_key(draft),
        request.parameters.values,
        frozenset(str(each) for each in draft.response_type),
        draft.redirect_uri,
        base_url=draft.base_url,
        realm_algorithm=request.realm.realm.signature_algorithm.value,
        request_object=draft.request_object,
        is_push=draft.is_push,
        was_pushed=draft.pushed_reference is not None,
        was_signed=draft.was_signed,
        scopes=frozenset(draft.scopes.names if draft.scopes else ()),
        own_roles=draft.client.own_roles,
        acr_values=draft.acr_values,
    )
    draft.demands = check_authorization_request(request, asked)


def _with_key(draft: AuthorizationDraft) -> Mapping[str, str]:
    """Return the parameters; a proof with which a request is pushed counts as its `dpop_jkt`.

    Spec: RFC 9449 §10.1
    """
    proved = draft.request.proof_key
    return draft.parameters if proved is None else {DPOP_KEY: proved, **draft.parameters}
