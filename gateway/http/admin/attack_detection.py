"""/admin/realms/{realm}/attack-detection/brute-force: who is locked out, and ending it.

The list of all current lock-outs is our addition. Keycloak: 4.3
"""

from gateway.admin.administration_roles import AdminRole
from gateway.admin.lockouts import Lockouts
from gateway.admin.user_listing import VIEW_USERS
from gateway.http.admin.endpoint import AdminRequest, document_reply, done_reply
from gateway.http.replies import Reply


class AttackDetectionHandlers:
    """Answers what is asked about failed sign-ins."""

    def __init__(self, lockouts: Lockouts) -> None:
        """Read from, and change, `lockouts`."""
        self._lockouts = lockouts

    async def status(self, request: AdminRequest) -> Reply:
        """Return what is remembered of one user."""
        request.rights.require(*VIEW_USERS)
        lockout = await self._lockouts.of_user(request.realm, request.path["user_id"])
        return document_reply(lockout.status())

    async def list(self, request: AdminRequest) -> Reply:
        """Return everybody who is locked out now."""
        request.rights.require(*VIEW_USERS)
        found = await self._lockouts.list(request.realm)
        return document_reply([lockout.listed() for lockout in found])

    async def forget(self, request: AdminRequest) -> Reply:
        """Forget one user's failures."""
        request.rights.require(AdminRole.MANAGE_USERS)
        await self._lockouts.forget(request.realm, request.path["user_id"])
        return done_reply()

    async def forget_all(self, request: AdminRequest) -> Reply:
        """Forget everybody's failures."""
        request.rights.require(AdminRole.MANAGE_USERS)
        await self._lockouts.forget_all(request.realm)
        return done_reply()
