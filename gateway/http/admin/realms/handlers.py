"""/admin/realms and /admin/realms/{realm}: listing, making, changing and removing realms.

Keycloak: 7.1
"""

from typing import Final

from gateway.admin.access import AdminRole
from gateway.admin.realm_files import RealmCreation
from gateway.admin.realms import RealmChanges, RealmListing
from gateway.http.admin.operations import BRIEF, REALM, Body, Decided, Media, Operation
from gateway.http.admin.requests import (
    AdminRequest,
    created_reply,
    document_reply,
    done_reply,
    entity_reply,
)
from gateway.http.replies import Reply

REALMS: Final = "/admin/realms"
LARGEST_REALM: Final = 32 * 1024 * 1024
"""In bytes: a realm may bring its users along. nginx: admin-api.conf"""
_TAG: Final = "Realms"
_SCHEMA: Final = "RealmRepresentation"
_MANAGE: Final = (AdminRole.MANAGE_REALM,)


class RealmsHandlers:
    """Answers what is asked about realms."""

    def __init__(
        self, listing: RealmListing, creation: RealmCreation, changes: RealmChanges
    ) -> None:
        self._listing = listing
        self._creation = creation
        self._changes = changes

    async def list(self, request: AdminRequest) -> Reply:
        """Return the realms that the caller may see."""
        brief = request.flag("briefRepresentation")
        return document_reply(await self._listing.visible(request.acting, brief=brief))

    async def create(self, request: AdminRequest) -> Reply:
        """Make a realm."""
        realm = await self._creation.create(request.acting, request.body)
        return created_reply(request, realm.name)

    async def one(self, request: AdminRequest) -> Reply:
        """Return one realm."""
        return entity_reply(await self._listing.one(request.acting))

    async def update(self, request: AdminRequest) -> Reply:
        """Change one realm."""
        await self._changes.update(request.acting, request.body)
        return done_reply()

    async def remove(self, request: AdminRequest) -> Reply:
        """Remove one realm."""
        await self._changes.remove(request.acting)
        return done_reply()


def operations(handlers: RealmsHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    unreadable = "unable to read contents from stream"
    return (
        Operation(
            "GET",
            REALMS,
            handlers.list,
            Decided.BY_USE_CASE,
            "Realms that the caller administers",
            _TAG,
            returns=f"[{_SCHEMA}]",
            query=(BRIEF,),
        ),
        Operation(
            "POST",
            REALMS,
            handlers.create,
            Decided.BY_USE_CASE,
            "Make a realm, with all that its representation brings",
            _TAG,
            body=Body(Media.OBJECT, _SCHEMA, LARGEST_REALM, unreadable=unreadable),
        ),
        Operation(
            "GET",
            REALM,
            handlers.one,
            Decided.BY_USE_CASE,
            "One realm; less of it for who may not see its settings",
            _TAG,
            returns=_SCHEMA,
            versioned=True,
        ),
        Operation(
            "PUT",
            REALM,
            handlers.update,
            _MANAGE,
            "Change settings of a realm, or its name",
            _TAG,
            body=Body(Media.OBJECT, _SCHEMA),
            versioned=True,
            refuses=(409,),
        ),
        Operation(
            "DELETE",
            REALM,
            handlers.remove,
            _MANAGE,
            "Remove a realm and all that is in it",
            _TAG,
            versioned=True,
            refuses=(400,),
        ),
    )
