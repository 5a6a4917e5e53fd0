"""The port of one kind of component.

Keycloak: components, by which a realm is given keys, a user profile and the like
"""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from gateway.admin.access import Acting
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.representations.component import Component
from gateway.representations.provider_properties import ProviderDescription

NO_SUCH_PROVIDER: Final = "Invalid provider type or no such provider"
NO_SUCH_COMPONENT: Final = "Could not find component"


def component_path(component_id: str) -> str:
    """Return the path of a component below its realm."""
    return f"components/{component_id}"


class ComponentKind(Protocol):
    """The components of one type. `document` is what was sent, for the event."""

    @property
    def type(self) -> str:
        """Keycloak's name of the type."""
        ...

    @property
    def providers(self) -> tuple[ProviderDescription, ...]:
        """The providers of components that can be added."""
        ...

    async def list(self, stores: Stores, realm: Realm) -> tuple[Component, ...]: ...

    async def create(self, acting: Acting, given: Component, document: Mapping[str, Any]) -> str:
        """Add a component; raises InvalidRequest, UnusableSetting or AlreadyExists."""
        ...

    async def replace(
        self, acting: Acting, component_id: str, given: Component, document: Mapping[str, Any]
    ) -> None:
        """Change a component; raises the same, NotFound and PreconditionFailed."""
        ...

    async def remove(self, acting: Acting, component_id: str) -> None:
        """Remove a component; raises NotFound, InvalidRequest and PreconditionFailed."""
        ...
