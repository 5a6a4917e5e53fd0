"""/admin/realms/{realm}/attack-detection/brute-force: who is locked out, and ending it.

The list of all current lock-outs is our addition. Keycloak: 4.3
"""

from typing import Final

from gateway.admin.access import AdminRole, Changes
from gateway.admin.users import VIEW_USERS, Lockouts
from gateway.domain.events import OperationType, ResourceType
from gateway.http.admin.operations import REALM, Operation
from gateway.http.admin.requests import AdminRequest, document_reply, done_reply
from gateway.http.replies import Reply

_USERS: Final = f"{REALM}/attack-detection/brute-force/users"
_TAG: Final = "Attack detection"
_MANAGE: Final = (AdminRole.MANAGE_USERS,)


class AttackDetectionHandlers:
    """Answers what is asked about failed sign-ins."""

    def __init__(self, lockouts: Lockouts, changes: Changes) -> None:
        self._lockouts = lockouts
        self._changes = changes

    async def status(self, request: AdminRequest) -> Reply:
        """Return what is remembered of one user."""
        lockout = await self._lockouts.of_user(request.realm, request.path["user_id"])
        return document_reply(lockout.status())

    async def list(self, request: AdminRequest) -> Reply:
        """Return everybody who is locked out now."""
        found = await self._lockouts.list(request.realm)
        return document_reply([lockout.listed() for lockout in found])

    async def forget(self, request: AdminRequest) -> Reply:
        """Forget one user's failures."""
        user_id = request.path["user_id"]
        await self._lockouts.clear(request.realm, user_id)
        await self._record(request, user_id)
        return done_reply()

    async def forget_all(self, request: AdminRequest) -> Reply:
        """Forget everybody's failures."""
        await self._lockouts.clear_all(request.acting)
        await self._record(request, "")
        return done_reply()

    async def _record(self, request: AdminRequest, user_id: str) -> None:
        path = f"attack-detection/brute-force/users/{user_id}".rstrip("/")
        async with self._changes.begin(request.acting) as change:
            change.record(OperationType.DELETE, ResourceType.USER_LOGIN_FAILURE, path)


def attack_detection_operations(handlers: AttackDetectionHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    one = f"{_USERS}/{{user_id}}"
    return (
        Operation(
            "GET",
            _USERS,
            handlers.list,
            VIEW_USERS,
            "Who is locked out now",
            _TAG,
            returns="[Lockout]",
        ),
        Operation("DELETE", _USERS, handlers.forget_all, _MANAGE, "Let everybody in again", _TAG),
        Operation(
            "GET",
            one,
            handlers.status,
            VIEW_USERS,
            "What is remembered of a user's failures",
            _TAG,
            returns="BruteForceStatus",
        ),
        Operation("DELETE", one, handlers.forget, _MANAGE, "Let a user in again", _TAG),
    )
