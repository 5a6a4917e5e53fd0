"""Validation of protocol mappers when an administrator writes them.

Refused is what Keycloak would accept and then fail with at every token, or would let overwrite a
claim that the protocol needs. Keycloak: validation of mappers
"""

from typing import Final

from gateway.admin.access import (
    NotFound,
)
from gateway.domain.clients import ProtocolMapper
from gateway.domain.errors import FieldError, InvalidInput
from gateway.protocol.claims import CLAIM_MAPPERS
from gateway.protocol.claims.claim_paths import (
    CLAIM_NAME,
    DEEPEST_CLAIM,
    split_claim_path,
)
from gateway.protocol.claims.protocol_claims import RESERVED_CLAIMS
from gateway.protocol.claims.role_lists import role_path
from gateway.representations.refusals import describe

STORED_ONLY: Final = frozenset(
    {
        *("oidc-nonce-backwards-compatible-mapper", "oidc-organization-membership-mapper"),
        *("oidc-organization-group-membership-mapper", "docker-v2-allow-all-mapper"),
        *("saml-audience-mapper", "saml-audience-resolve-mapper", "saml-user-property-mapper"),
        *("saml-authn-context-class-ref-mapper", "saml-group-membership-mapper"),
        *("saml-hardcode-attribute-mapper", "saml-hardcode-role-mapper", "saml-role-name-mapper"),
        *("saml-organization-membership-mapper", "saml-organization-group-membership-mapper"),
        *("saml-role-list-mapper", "saml-user-attribute-mapper"),
        *("saml-user-attribute-nameid-mapper", "saml-user-session-note-mapper"),
    }
)
"""Keycloak's mappers that are stored without an effect: what they serve is not supported."""
MAPPER_TYPES: Final = (*CLAIM_MAPPERS, *sorted(STORED_ONLY))
"""All types that a mapper may have."""

_ROLE_LISTS: Final = frozenset(
    {"oidc-usermodel-realm-role-mapper", "oidc-usermodel-client-role-mapper"}
)
_NOTE: Final = "oidc-usersessionmodel-note-mapper"


def check_mapper(mapper: ProtocolMapper) -> None:
    """Raise NotFound for an unknown type, InvalidInput for an unusable configuration."""
    kind = CLAIM_MAPPERS.get(mapper.mapper_type)
    if kind is None and mapper.mapper_type not in STORED_ONLY:
        raise NotFound("ProtocolMapper provider not found")
    _require_free_claim(mapper)
    error = None if kind is None or kind.check is None else kind.check(mapper.config)
    if error is not None:
        raise InvalidInput((error,))


def _require_free_claim(mapper: ProtocolMapper) -> None:
    name = mapper.config.get(CLAIM_NAME, "")
    path = split_claim_path(name)
    if mapper.mapper_type in STORED_ONLY:
        return
    if len(path) > DEEPEST_CLAIM:
        allowed = f"at most {DEEPEST_CLAIM} names with dots between them"
        raise InvalidInput((FieldError("config.claim.name", describe(name), allowed),))
    if not path or path[0] not in RESERVED_CLAIMS:
        return
    if mapper.mapper_type in _ROLE_LISTS and role_path(mapper.config) is not None:
        return
    own = mapper.mapper_type == _NOTE and name == "auth_time"
    if not own or mapper.config.get("user.session.note") != "AUTH_TIME":
        allowed = "a claim that the protocol does not need for itself"
        raise InvalidInput((FieldError("config.claim.name", describe(name), allowed),))
