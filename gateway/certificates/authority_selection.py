"""Which authorities count for a realm and for a client of it.

| anchors | those that count |
|---|---|
| the client has some | the client's |
| the realm has some | the realm's, and those of the settings where a setting of the realm says so |
| neither | those of the settings, unless a setting of the realm says no |

Intermediates of the realm complete paths to all of them. Attacks: A8, A14
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from gateway.domain.authorities import Authority, AuthorityKind, RegisteredAuthorities
from gateway.domain.certificates import AnchorOrigin
from gateway.domain.limits.caches import SizedCache
from gateway.domain.ports.certificates import (
    AuthorityFactory,
    AuthorityStore,
    SelectedAuthorities,
)
from gateway.domain.realm import Realm, certificate_trust_of

_PREPARED_BYTES: Final = 64 * 1024 * 1024
_PARSED_FACTOR: Final = 12
"""A parsed certificate takes so many times the memory of its encoding."""
_Key = tuple[str, str | None, bool | None]


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The authorities that were prepared from `registered`."""

    registered: RegisteredAuthorities
    selected: SelectedAuthorities = field(repr=False)
    der_bytes: int


class RegisteredAuthoritySelection:
    """AuthoritySelection by what administrators registered, and by the settings."""

    def __init__(self, store: AuthorityStore, factory: AuthorityFactory) -> None:
        self._store = store
        self._factory = factory
        self._prepared: SizedCache[_Key, _Prepared] = SizedCache(_PREPARED_BYTES, _weigh)
        self._of_settings: SelectedAuthorities | None = None

    async def select(self, realm: Realm, client: str | None) -> SelectedAuthorities:
        gateway = await self._factory.gateway()
        registered = await self._store.registered(realm.id)
        wants_gateway = certificate_trust_of(realm).gateway_authorities
        if not registered.authorities and wants_gateway is not False:
            if self._of_settings is None or self._of_settings.authorities is not gateway:
                self._of_settings = SelectedAuthorities(gateway)
            return self._of_settings
        owner = client if client in registered.clients_with_anchors else None
        key = (realm.id, owner, wants_gateway)
        known = self._prepared.get(key)
        if known is None or known.registered is not registered:
            known = await self._prepare(registered, owner, wants_gateway=wants_gateway)
            self._prepared.put(key, known)
        return known.selected

    async def _prepare(
        self, registered: RegisteredAuthorities, owner: str | None, *, wants_gateway: bool | None
    ) -> _Prepared:
        entries = tuple(_entries_for(registered.authorities, owner))
        if owner is not None:
            origin, with_gateway = AnchorOrigin.CLIENT, False
        else:
            origin = AnchorOrigin.REALM
            with_gateway = (
                all(entry.kind is not AuthorityKind.ANCHOR for entry in entries)
                if wants_gateway is None
                else wants_gateway
            )
        authorities = await self._factory.prepare(entries, origin, with_gateway=with_gateway)
        selected = SelectedAuthorities(authorities, registered.clients_with_anchors)
        return _Prepared(registered, selected, sum(len(entry.der) for entry in entries))


def _entries_for(registered: Iterable[Authority], owner: str | None) -> Iterable[Authority]:
    """Return the entries of the owner, and the intermediates of the realm."""
    for entry in registered:
        if entry.client == owner or (
            entry.client is None and entry.kind is AuthorityKind.INTERMEDIATE
        ):
            yield entry


def _weigh(_key: _Key, prepared: _Prepared) -> int:
    return prepared.der_bytes * _PARSED_FACTOR
