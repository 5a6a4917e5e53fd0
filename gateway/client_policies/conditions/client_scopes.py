"""client-scopes: holds for clients that have, or requests that ask for, certain client scopes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from gateway.client_policies.conditions.condition import Condition, Vote, vote
from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import (
    TOKEN_REQUESTS,
    AuthorizationRequested,
    ClientRequest,
    EventKind,
    PolicyEvent,
)
from gateway.client_policies.refusal import InvalidConfiguration

_DEFAULT: Final = "Default"
_OPTIONAL: Final = "Optional"
_ANY: Final = "Any"
_KINDS: Final = TOKEN_REQUESTS | {
    EventKind.USERINFO_REQUEST,
    EventKind.IMPLICIT_HYBRID_TOKEN_RESPONSE,
}


@dataclass(frozen=True, slots=True)
class ClientScopes(Condition):
    """Holds for default scopes that the client has, or optional ones that a request asks for."""

    provider: ClassVar = "client-scopes"
    type: str = _DEFAULT
    scopes: frozenset[str] = frozenset()

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        kind = configuration.text("type") or _DEFAULT
        if kind not in {_DEFAULT, _OPTIONAL, _ANY}:
            raise InvalidConfiguration(f"type is {kind[:50]!r}, allowed is Default, Optional, Any")
        return cls(kind, frozenset(configuration.texts("scopes")))

    def vote(self, event: PolicyEvent) -> Vote:
        if isinstance(event, AuthorizationRequested):
            return self._vote(event, event.scopes)
        if isinstance(event, ClientRequest) and event.kind in _KINDS:
            return self._vote(event, event.scopes or ())
        return Vote.ABSTAIN

    def _vote(
        self, event: AuthorizationRequested | ClientRequest, requested: Iterable[str]
    ) -> Vote:
        client, found = event.client, set[str]()
        if self.type != _OPTIONAL:
            found |= self.scopes.intersection(client.default_client_scopes)
        if self.type != _DEFAULT:
            found |= self.scopes.intersection(client.optional_client_scopes).intersection(requested)
        return vote(bool(found))
