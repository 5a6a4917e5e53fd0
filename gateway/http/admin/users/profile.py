"""GET and PUT users/profile, GET users/profile/metadata. Keycloak: 7.2, UPConfig."""

from typing import Final

from gateway.admin.access import AdminRole, MalformedBody
from gateway.admin.users import QUERY_USERS, UserProfiles
from gateway.http.admin.operations import REALM, Body, Media, Operation
from gateway.http.admin.requests import AdminRequest, document_reply, entity_reply
from gateway.http.replies import Reply

_TAG: Final = "User profile"
_READERS: Final = (*QUERY_USERS, AdminRole.VIEW_REALM, AdminRole.MANAGE_REALM)


class UserProfileHandlers:
    """Answers what is asked about the profile of a realm."""

    def __init__(self, profiles: UserProfiles) -> None:
        self._profiles = profiles

    async def read(self, request: AdminRequest) -> Reply:
        """Return the profile."""
        return entity_reply(await self._profiles.read(request.realm))

    async def metadata(self, request: AdminRequest) -> Reply:
        """Return what forms are made of."""
        return document_reply(await self._profiles.metadata(request.realm))

    async def replace(self, request: AdminRequest) -> Reply:
        """Store another profile and return it; null brings the standard one back."""
        if not isinstance(request.body, dict | None):
            raise MalformedBody("no profile", shape=True)
        return document_reply(await self._profiles.replace(request.acting, request.body))


def operations(handlers: UserProfileHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    profile = f"{REALM}/users/profile"
    return (
        Operation(
            "GET",
            profile,
            handlers.read,
            _READERS,
            "Which attributes users have",
            _TAG,
            returns="UPConfig",
            versioned=True,
        ),
        Operation(
            "PUT",
            profile,
            handlers.replace,
            (AdminRole.MANAGE_REALM,),
            "Change which attributes users have",
            _TAG,
            body=Body(Media.JSON, "UPConfig", required=False),
            returns="UPConfig",
            status=200,
            versioned=True,
        ),
        Operation(
            "GET",
            f"{profile}/metadata",
            handlers.metadata,
            _READERS,
            "What forms for users are made of",
            _TAG,
            returns="UserProfileMetadata",
        ),
    )
