"""Which scopes a token has, and what of a user a client may learn by them."""

from gateway.protocol.scopes.claims_context import (
    SIGNED_IN,
    ClaimsContext,
    carried_roles,
    resolve_claims,
    scope_of,
    withheld_roles,
    within_reach,
)
from gateway.protocol.scopes.granted import (
    OPENID,
    GrantedScopes,
    grant_scopes,
    scopes_of,
    still_granted,
)
from gateway.protocol.scopes.mapper_checks import MAPPER_TYPES, check_mapper
