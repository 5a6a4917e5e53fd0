"""/admin/realms/{realm}/components and /keys. Keycloak: 7.3, 8.5 (KeysMetadata)."""

from typing import Final

from gateway.admin.access import AdminRole
from gateway.admin.components import Components
from gateway.admin.keys import KeyMetadata
from gateway.http.admin.operations import REALM, Body, Media, Operation, Query
from gateway.http.admin.requests import (
    AdminRequest,
    created_reply,
    document_reply,
    done_reply,
    entity_reply,
)
from gateway.http.replies import Reply

_TAG: Final = "Component"
_VIEW: Final = (AdminRole.VIEW_REALM, AdminRole.MANAGE_REALM)
_MANAGE: Final = (AdminRole.MANAGE_REALM,)
_BODY: Final = Body(Media.OBJECT, "ComponentRepresentation")


class ComponentsHandlers:
    """Answers what is asked about components and keys."""

    def __init__(self, components: Components, keys: KeyMetadata) -> None:
        self._components = components
        self._keys = keys

    async def keys(self, request: AdminRequest) -> Reply:
        """Return what may be known of the realm's keys."""
        return document_reply(await self._keys.of(request.realm))

    async def matching(self, request: AdminRequest) -> Reply:
        """Return the components that match."""
        sent = request.query
        found = await self._components.matching(
            request.realm,
            parent=sent.get("parent"),
            of_type=sent.get("type"),
            name=sent.get("name"),
        )
        return document_reply(found)

    async def create(self, request: AdminRequest) -> Reply:
        """Add a component."""
        return created_reply(request, await self._components.create(request.acting, request.body))

    async def one(self, request: AdminRequest) -> Reply:
        """Return a component."""
        return entity_reply(await self._components.one(request.realm, request.path["id"]))

    async def replace(self, request: AdminRequest) -> Reply:
        """Change a component."""
        await self._components.replace(request.acting, request.path["id"], request.body)
        return done_reply()

    async def remove(self, request: AdminRequest) -> Reply:
        """Take a component away."""
        await self._components.remove(request.acting, request.path["id"])
        return done_reply()

    async def below(self, request: AdminRequest) -> Reply:
        """Return what could be added below a component."""
        found = await self._components.below(
            request.realm, request.path["id"], request.query.get("type")
        )
        return document_reply(found)


def operations(handlers: ComponentsHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    every, one = f"{REALM}/components", f"{REALM}/components/{{id}}"
    shown = "ComponentRepresentation"
    return (
        Operation(
            "GET",
            f"{REALM}/keys",
            handlers.keys,
            _VIEW,
            "The realm's keys, and which of them signs",
            "Key",
            returns="KeysMetadataRepresentation",
        ),
        Operation(
            "GET",
            every,
            handlers.matching,
            _VIEW,
            "Components that match",
            _TAG,
            returns=f"[{shown}]",
            query=(Query("parent"), Query("type"), Query("name")),
        ),
        Operation(
            "POST",
            every,
            handlers.create,
            _MANAGE,
            "Add a component: a key, which signs as its priority says",
            _TAG,
            body=_BODY,
            refuses=(409, 501),
        ),
        Operation(
            "GET", one, handlers.one, _VIEW, "One component", _TAG, returns=shown, versioned=True
        ),
        Operation(
            "PUT", one, handlers.replace, _MANAGE, "Change it", _TAG, body=_BODY, versioned=True
        ),
        Operation("DELETE", one, handlers.remove, _MANAGE, "Take it away", _TAG, versioned=True),
        Operation(
            "GET",
            f"{one}/sub-component-types",
            handlers.below,
            _VIEW,
            "What could be added below a component",
            _TAG,
            returns="[ComponentTypeRepresentation]",
            query=(Query("type"),),
            refuses=(400,),
        ),
    )
