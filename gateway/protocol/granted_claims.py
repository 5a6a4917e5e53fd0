"""The claims that a grant brings: those of its scopes, then those of the client's own mappers.

Keycloak: 2.1 (protocol mappers)
"""

from typing import Any

from gateway.protocol.claims import ClaimsFor, add_mapped_claims
from gateway.protocol.claims.subject import TokenSubject
from gateway.protocol.client_scopes import GrantedScopes


def add_granted_claims(
    claims: dict[str, Any], granted: GrantedScopes, subject: TokenSubject, purpose: ClaimsFor
) -> None:
    """Add to `claims` what the scopes and the client may tell of the subject."""
    for scope in granted.scopes:
        add_mapped_claims(claims, scope.mappers, subject, purpose)
    add_mapped_claims(claims, subject.client.protocol_mappers, subject, purpose)
