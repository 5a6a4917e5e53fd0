"""The types of claim mappers, and which documents they may write to.

A mapper is prepared once, when its scope or client is first used: its configuration is interpreted
then, and a token costs only what differs from token to token.
Keycloak: protocol mappers, their options and priorities
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.domain.errors import FieldError
from gateway.domain.roles import EffectiveRoles
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.subject import TokenSubject
from gateway.representations.protocol_mapper_types import MapperType

AddClaims = Callable[[MappedClaims, TokenSubject], None]
"""Adds to the claims what is known of the subject; what is absent adds nothing."""
ChangeRoles = Callable[[EffectiveRoles], EffectiveRoles]
"""Returns the roles as tokens contain them."""
ConfigCheck = Callable[[Mapping[str, str]], FieldError | None]
"""Returns what is wrong with the configuration of a mapper, None for nothing."""


class ClaimsFor(StrEnum):
    """What claims are for: the mapper's option that must be `true`."""

    ACCESS_TOKEN = "access.token.claim"  # noqa: S105 - an option's name
    LIGHTWEIGHT_TOKEN = "lightweight.claim"  # noqa: S105 - the same
    ID_TOKEN = "id.token.claim"  # noqa: S105 - the same
    USERINFO = "userinfo.token.claim"
    INTROSPECTION = "introspection.token.claim"
    TOKEN_RESPONSE = "access.tokenResponse.claim"  # noqa: S105 - the same


_OLDER_OPTIONS: Final[Mapping[ClaimsFor, ClaimsFor]] = {
    ClaimsFor.USERINFO: ClaimsFor.ID_TOKEN,
    ClaimsFor.INTROSPECTION: ClaimsFor.ACCESS_TOKEN,
}
"""Options of later versions -> the option that counts where they are absent."""

ACCESS: Final = frozenset(
    {ClaimsFor.ACCESS_TOKEN, ClaimsFor.LIGHTWEIGHT_TOKEN, ClaimsFor.INTROSPECTION}
)
TOKENS: Final = ACCESS | {ClaimsFor.ID_TOKEN}
EVERYWHERE: Final = TOKENS | {ClaimsFor.USERINFO}
RESPONSE_TOO: Final = EVERYWHERE | {ClaimsFor.TOKEN_RESPONSE}


@dataclass(frozen=True, slots=True)
class ClaimMapper:
    """A type of mapper that adds claims; `prepare` returns None where nothing can be added.

    `late` comes after the others, and so after all that add audiences of their own.
    """

    mapper_type: str
    purposes: frozenset[ClaimsFor]
    prepare: Callable[[ProtocolMapper], AddClaims | None]
    description: MapperType
    late: bool = False
    check: ConfigCheck | None = None
    needs_attributes: Callable[[ProtocolMapper], bool] | None = None
    """Whether a mapper adds nothing where neither the user nor its groups have attributes."""

    def serves(self, mapper: ProtocolMapper, purpose: ClaimsFor) -> bool:
        """Tell whether the mapper's options name a purpose of its type."""
        option = mapper.config.get(purpose)
        if option is None and purpose in _OLDER_OPTIONS:
            option = mapper.config.get(_OLDER_OPTIONS[purpose])
        return option == "true"


@dataclass(frozen=True, slots=True)
class RoleMapper:
    """A type of mapper that changes roles for every purpose; the lowest `order` goes first."""

    mapper_type: str
    order: int
    prepare: Callable[[ProtocolMapper], ChangeRoles | None]
    description: MapperType
    check: ConfigCheck | None = None
