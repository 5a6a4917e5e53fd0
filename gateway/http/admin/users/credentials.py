"""Credentials of a user, a new password, identities at identity providers. Keycloak: 7.2."""

from typing import Any, Final

from gateway.admin.access import AdminRole, MalformedBody
from gateway.admin.users import VIEW_USERS, UserCredentials
from gateway.http.admin.operations import REALM, Body, Media, Operation
from gateway.http.admin.requests import AdminRequest, document_reply, done_reply
from gateway.http.replies import Reply

_TAG: Final = "Credentials of users"
_MANAGE: Final = (AdminRole.MANAGE_USERS,)
_DONE: Final = 204


class UserCredentialsHandlers:
    """Answers what is asked about credentials."""

    def __init__(self, credentials: UserCredentials) -> None:
        self._credentials = credentials

    async def list(self, request: AdminRequest) -> Reply:
        """Return the credentials."""
        return document_reply(await self._credentials.list(request.realm, _user(request)))

    async def of_stores(self, request: AdminRequest) -> Reply:
        """Return the kinds that the user's own store keeps: users have none but ours."""
        await self._credentials.require_user(request.realm, _user(request))
        return document_reply([])

    async def identities(self, request: AdminRequest) -> Reply:
        """Return the identities at identity providers: none."""
        await self._credentials.require_user(request.realm, _user(request))
        return document_reply([])

    async def reset_password(self, request: AdminRequest) -> Reply:
        """Set a password."""
        body = _object_or_nothing(request.body)
        await self._credentials.reset_password(request.acting, _user(request), body)
        return done_reply()

    async def label(self, request: AdminRequest) -> Reply:
        """Name a credential."""
        credential_id = request.path["credential_id"]
        await self._credentials.label(request.acting, _user(request), credential_id, request.body)
        return done_reply()

    async def remove(self, request: AdminRequest) -> Reply:
        """Forget a credential."""
        credential_id = request.path["credential_id"]
        await self._credentials.remove(request.acting, _user(request), credential_id)
        return done_reply()

    async def move(self, request: AdminRequest) -> Reply:
        """Put a credential behind another, or first."""
        path = request.path
        await self._credentials.move(
            request.acting, _user(request), path["credential_id"], path.get("previous_id")
        )
        return done_reply()

    async def disable(self, request: AdminRequest) -> Reply:
        """Disable kinds of credentials, of which there is none that can be disabled."""
        kinds = request.body
        if kinds is not None and not _is_texts(kinds):
            raise MalformedBody("no list of texts", shape=True)
        await self._credentials.require_user(request.realm, _user(request))
        return done_reply()


def _user(request: AdminRequest) -> str:
    return request.path["user_id"]


def _object_or_nothing(body: Any) -> dict[str, Any]:
    if body is None:
        return {}
    if not isinstance(body, dict):
        raise MalformedBody("no object", shape=True)
    return body


def _is_texts(body: Any) -> bool:
    return isinstance(body, list) and all(isinstance(item, str) for item in body)


def operations(handlers: UserCredentialsHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    user = f"{REALM}/users/{{user_id}}"
    one = f"{user}/credentials/{{credential_id}}"
    kinds = f"{user}/configured-user-storage-credential-types"
    return (
        Operation(
            "GET",
            f"{user}/credentials",
            handlers.list,
            VIEW_USERS,
            "Credentials of a user, without what they hide",
            _TAG,
            returns="[CredentialRepresentation]",
        ),
        Operation(
            "GET",
            kinds,
            handlers.of_stores,
            VIEW_USERS,
            "Kinds of credentials that a user's own store keeps: none",
            _TAG,
            returns="[string]",
        ),
        Operation(
            "GET",
            f"{user}/federated-identity",
            handlers.identities,
            VIEW_USERS,
            "Identities of a user at identity providers: none",
            "Users",
            returns="[FederatedIdentityRepresentation]",
        ),
        Operation(
            "PUT",
            f"{user}/reset-password",
            handlers.reset_password,
            _MANAGE,
            "Give a user a password",
            _TAG,
            body=Body(Media.JSON, "CredentialRepresentation", required=False),
        ),
        Operation(
            "PUT",
            f"{one}/userLabel",
            handlers.label,
            _MANAGE,
            "Name a credential",
            _TAG,
            body=Body(Media.TEXT),
        ),
        Operation("DELETE", one, handlers.remove, _MANAGE, "Remove a credential", _TAG),
        Operation(
            "POST",
            f"{one}/moveToFirst",
            handlers.move,
            _MANAGE,
            "Put a credential before all others",
            _TAG,
            status=_DONE,
        ),
        Operation(
            "POST",
            f"{one}/moveAfter/{{previous_id}}",
            handlers.move,
            _MANAGE,
            "Put a credential behind another",
            _TAG,
            status=_DONE,
        ),
        Operation(
            "PUT",
            f"{user}/disable-credential-types",
            handlers.disable,
            _MANAGE,
            "Without effect: no kind of credential can be disabled, only removed",
            _TAG,
            body=Body(Media.JSON, required=False),
        ),
    )
