"""/admin/realms/{realm}/default-groups: the groups that new users join. Keycloak: 7.1."""

from typing import Final

from gateway.admin.access import AdminRole
from gateway.admin.groups import DefaultGroups
from gateway.admin.realms import VIEW_REALM
from gateway.http.admin.operations import REALM, Operation
from gateway.http.admin.requests import AdminRequest, document_reply, done_reply
from gateway.http.replies import Reply

_TAG: Final = "Realms"
_MANAGE: Final = (AdminRole.MANAGE_REALM,)


class DefaultGroupHandlers:
    """Answers what is asked about the groups that new users join."""

    def __init__(self, groups: DefaultGroups) -> None:
        self._groups = groups

    async def list(self, request: AdminRequest) -> Reply:
        """Return the groups."""
        return document_reply(await self._groups.list(request.realm))

    async def add(self, request: AdminRequest) -> Reply:
        """Let new users join one more."""
        await self._groups.set(request.acting, request.path["group_id"], is_default=True)
        return done_reply()

    async def remove(self, request: AdminRequest) -> Reply:
        """Let new users join one less."""
        await self._groups.set(request.acting, request.path["group_id"], is_default=False)
        return done_reply()

    def operations(self) -> tuple[Operation, ...]:
        """Return the rows."""
        groups = f"{REALM}/default-groups"
        one = f"{groups}/{{group_id}}"
        return (
            Operation(
                "GET",
                groups,
                self.list,
                VIEW_REALM,
                "The groups that new users join",
                _TAG,
                returns="[GroupRepresentation]",
            ),
            Operation("PUT", one, self.add, _MANAGE, "Let new users join the group", _TAG),
            Operation("DELETE", one, self.remove, _MANAGE, "Let new users no longer join it", _TAG),
        )
