"""Components of every kind: found by type and name, added, changed and removed.

A component without effect is refused with the reason. Keycloak: ComponentResource, by which a realm
is given keys, a user profile and the like
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from gateway.admin.access import Acting
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest, NotFound, NotSupported, WireFamily
from gateway.representations.components import (
    Component,
    ProviderDescription,
    parse_component,
    render_component,
)

NO_SUCH_PROVIDER: Final = "Invalid provider type or no such provider"
NO_SUCH_COMPONENT: Final = "Could not find component"


def component_path(component_id: str) -> str:
    """Return the path of a component below its realm."""
    return f"components/{component_id}"


class ComponentKind(Protocol):
    """The components of one type. `document` is the sent JSON, for the event."""

    @property
    def type(self) -> str:
        """Keycloak's name of the type."""
        ...

    @property
    def providers(self) -> tuple[ProviderDescription, ...]:
        """The providers of components that can be added."""
        ...

    async def list_components(self, stores: Stores, realm: Realm) -> tuple[Component, ...]: ...

    async def create_component(
        self, acting: Acting, given: Component, document: Mapping[str, Any]
    ) -> str:
        """Add a component; raises InvalidRequest, UnusableSetting or AlreadyExists."""
        ...

    async def replace_component(
        self, acting: Acting, component_id: str, given: Component, document: Mapping[str, Any]
    ) -> None:
        """Change a component; raises the same, NotFound and PreconditionFailed."""
        ...

    async def remove_component(self, acting: Acting, component_id: str) -> None:
        """Remove a component; raises NotFound, InvalidRequest and PreconditionFailed."""
        ...


_UNSUPPORTED: Final = {
    "org.keycloak.storage.UserStorageProvider": "Users come from the realm's own database alone",
    "org.keycloak.storage.ldap.mappers.LDAPStorageMapper": "Users do not come from LDAP",
    "org.keycloak.broker.provider.IdentityProvider": "Identity providers are not supported",
}
"""Types of Keycloak that this version does not support, and the text of the refusal."""


class Components:
    """The use cases."""

    def __init__(self, database: Database, kinds: Sequence[ComponentKind]) -> None:
        self._database = database
        self._kinds = {kind.type: kind for kind in kinds}

    async def list_components(
        self,
        realm: Realm,
        *,
        parent: str | None = None,
        of_type: str | None = None,
        name: str | None = None,
    ) -> list[dict[str, Any]]:
        kinds = [kind for kind in self._kinds.values() if of_type in {None, kind.type}]
        async with self._database.read() as stores:
            found = [each for kind in kinds for each in await kind.list_components(stores, realm)]
        return [
            render_component(each)
            for each in found
            if parent in {None, each.parent_id} and name in {None, each.name}
        ]

    async def get_component(self, acting: Acting, component_id: str) -> dict[str, Any]:
        _, component = await self._find_component(acting.realm, component_id)
        return render_component(component)

    async def create_component(self, acting: Acting, document: Mapping[str, Any]) -> str:
        """Add a component and return its id; raises what its kind does, and NotSupported."""
        given = parse_component(document)
        if given.provider_type in _UNSUPPORTED:
            raise NotSupported(_UNSUPPORTED[given.provider_type])
        kind = self._kinds.get(given.provider_type or "")
        if kind is None or given.provider_id is None:
            raise InvalidRequest(NO_SUCH_PROVIDER, WireFamily.PROSE)
        _require_parent(acting.realm, given)
        return await kind.create_component(acting, given, document)

    async def replace_component(
        self, acting: Acting, component_id: str, document: Mapping[str, Any]
    ) -> None:
        kind, current = await self._find_component(acting.realm, component_id)
        given = parse_component(document)
        if given.provider_type not in {None, current.provider_type}:
            raise InvalidRequest("The type of a component cannot be changed")
        _require_parent(acting.realm, given)
        await kind.replace_component(acting, component_id, given, document)

    async def remove_component(self, acting: Acting, component_id: str) -> None:
        kind, _ = await self._find_component(acting.realm, component_id)
        await kind.remove_component(acting, component_id)

    async def list_types_below(
        self, realm: Realm, component_id: str, of_type: str | None
    ) -> list[dict[str, Any]]:
        """Return the providers of a type for a component; raises NotFound, InvalidRequest."""
        try:
            await self._find_component(realm, component_id)
        except NotFound:
            raise NotFound("Could not find parent component") from None
        if of_type is None:
            raise InvalidRequest("must specify a subtype", WireFamily.PROSE)
        if of_type not in self._kinds:
            raise InvalidRequest(NO_SUCH_PROVIDER, WireFamily.PROSE)
        return [each.document() for each in self._kinds[of_type].providers]

    def list_types(self) -> dict[str, list[dict[str, Any]]]:
        return {
            name: [each.document() for each in kind.providers] for name, kind in self._kinds.items()
        }

    async def _find_component(
        self, realm: Realm, component_id: str
    ) -> tuple[ComponentKind, Component]:
        async with self._database.read() as stores:
            for kind in self._kinds.values():
                for component in await kind.list_components(stores, realm):
                    if component.id == component_id:
                        return kind, component
        raise NotFound(NO_SUCH_COMPONENT)


def _require_parent(realm: Realm, given: Component) -> None:
    """Refuse a component of another parent, which Keycloak stores without effect."""
    if given.parent_id not in {None, realm.id, realm.name}:
        raise InvalidRequest("The parent of a component is its realm")
