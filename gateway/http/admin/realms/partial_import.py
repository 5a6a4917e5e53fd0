"""/admin/realms/{realm}/partialImport and .../partial-export. Keycloak: 7.1."""

from typing import Final

from gateway.admin.access import AdminRole
from gateway.admin.realm_files import PartialExport, PartialImport
from gateway.http.admin.operations import REALM, Body, Media, Operation, Query
from gateway.http.admin.realms.handlers import LARGEST_REALM
from gateway.http.admin.requests import AdminRequest, document_reply
from gateway.http.replies import Reply

_TAG: Final = "Realms"
_MANAGE: Final = (AdminRole.MANAGE_REALM,)


class PartialHandlers:
    """Answers what is asked about parts of realms."""

    def __init__(self, exports: PartialExport, imports: PartialImport) -> None:
        self._exports = exports
        self._imports = imports

    async def take(self, request: AdminRequest) -> Reply:
        """Import users, groups, clients and roles."""
        return document_reply(await self._imports.run(request.acting, request.body))

    async def give(self, request: AdminRequest) -> Reply:
        """Return the realm without its users."""
        document = await self._exports.document(
            request.acting,
            clients=request.flag("exportClients"),
            groups_and_roles=request.flag("exportGroupsAndRoles"),
        )
        return document_reply(document)

    def operations(self) -> tuple[Operation, ...]:
        """Return the rows."""
        return (
            Operation(
                "POST",
                f"{REALM}/partialImport",
                self.take,
                _MANAGE,
                "Import users, groups, clients and roles, all of them or nothing",
                _TAG,
                body=Body(Media.OBJECT, "PartialImportRepresentation", LARGEST_REALM),
                returns="PartialImportResults",
                status=200,
                refuses=(400, 409, 501),
            ),
            Operation(
                "POST",
                f"{REALM}/partial-export",
                self.give,
                _MANAGE,
                "The realm without its users, every secret masked",
                _TAG,
                returns="RealmRepresentation",
                status=200,
                query=(
                    Query("exportClients", "boolean"),
                    Query("exportGroupsAndRoles", "boolean"),
                ),
            ),
        )
