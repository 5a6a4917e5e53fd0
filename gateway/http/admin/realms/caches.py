"""/admin/realms/{realm}/clear-...-cache: letting every gateway read a realm anew. Keycloak: 7.1."""

from typing import Final

from gateway.admin.access import AdminRole, RealmCaches
from gateway.http.admin.operations import REALM, AdminHandler, Operation
from gateway.http.admin.requests import AdminRequest, done_reply
from gateway.http.replies import Reply

_TAG: Final = "Realms"
_MANAGE: Final = (AdminRole.MANAGE_REALM,)
_CACHES: Final = ("clear-realm-cache", "clear-user-cache", "clear-keys-cache")


class CacheHandlers:
    """Empties what gateways remember."""

    def __init__(self, caches: RealmCaches) -> None:
        self._caches = caches

    def _clear(self, path: str) -> AdminHandler:
        async def clear(request: AdminRequest) -> Reply:
            await self._caches.clear(request.acting, path)
            return done_reply()

        return clear

    def operations(self) -> tuple[Operation, ...]:
        """Return the rows."""
        summary = "Let every gateway read the realm anew"
        return tuple(
            Operation(
                "POST", f"{REALM}/{path}", self._clear(path), _MANAGE, summary, _TAG, status=204
            )
            for path in _CACHES
        )
