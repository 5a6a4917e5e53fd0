"""Client scopes: named bundles of protocol mappers and roles; the consents of users to them.

Keycloak: ClientScopeRepresentation, client scopes, UserConsentModel
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from gateway.domain.clients import OPENID_CONNECT, ProtocolMapper
from gateway.domain.roles import EffectiveRoles

IN_TOKEN_SCOPE: Final = "include.in.token.scope"  # noqa: S105 - an attribute's name

_IN_METADATA: Final = "include.in.openid.provider.metadata"
_ON_CONSENT_SCREEN: Final = "display.on.consent.screen"
_CONSENT_TEXT: Final = "consent.screen.text"


class RealmDefault(StrEnum):
    """Which of its lists the scope is in when a client is made that names none."""

    DEFAULT = "default"
    OPTIONAL = "optional"


@dataclass(frozen=True, slots=True)
class ClientScope:
    """A client scope of one realm. `name` is what requests ask for."""

    id: str
    realm_id: str
    name: str
    description: str | None = None
    protocol: str = OPENID_CONNECT
    attributes: Mapping[str, str] = field(default_factory=dict)
    mappers: tuple[ProtocolMapper, ...] = ()
    realm_default: RealmDefault | None = None
    later: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Stored members that a later version has added; only storage reads them."""

    @property
    def in_token_scope(self) -> bool:
        """Tell whether `scope` of a token names it; it does unless the attribute says no."""
        return self._says(IN_TOKEN_SCOPE)

    @property
    def in_metadata(self) -> bool:
        """Tell whether the realm's metadata names it; it does unless the attribute says no."""
        return self._says(_IN_METADATA)

    @property
    def on_consent_screen(self) -> bool:
        """Tell whether users are asked for it; they are unless the attribute says no."""
        return self._says(_ON_CONSENT_SCREEN)

    @property
    def consent_text(self) -> str:
        """Return what the page of consents calls it; `${key}` stands for a message."""
        return self.attributes.get(_CONSENT_TEXT) or self.name

    def _says(self, attribute: str) -> bool:
        return self.attributes.get(attribute, "true").lower() == "true"


@dataclass(frozen=True, slots=True)
class RoleBoundScope:
    """A client scope; with `roles` only users who have one get it. Keycloak: role mappings."""

    scope: ClientScope
    roles: EffectiveRoles = field(default_factory=EffectiveRoles)

    def is_permitted_to(self, held: EffectiveRoles) -> bool:
        """Tell whether a user with these roles gets the scope: one without roles is for all."""
        if self.roles == EffectiveRoles() or not set(self.roles.realm).isdisjoint(held.realm):
            return True
        clients = dict(held.clients)
        return any(
            not set(names).isdisjoint(clients.get(client, ()))
            for client, names in self.roles.clients
        )


@dataclass(frozen=True, slots=True)
class Consent:
    """The client scopes, by name, that a user has granted to a client; `client` is internal."""

    realm_id: str
    user_id: str
    client: str
    scopes: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
