"""What Keycloak has of users and this version has not, said in a sentence each. Keycloak: 7.2."""

from typing import Final

from gateway.admin.users import VIEW_USERS, UserCredentials
from gateway.http.admin.left_out import BROKERING
from gateway.http.admin.operations import REALM, Operation, not_here
from gateway.http.admin.requests import AdminRequest, document_reply
from gateway.http.replies import Reply

_TAG: Final = "Users"
_LATER: Final = "comes with the pages, in a later version"
_CONSENTS: Final = f"Consent {_LATER}"


class UserLeftoverHandlers:
    """Answers what is always the same."""

    def __init__(self, users: UserCredentials) -> None:
        """Look users up by `users`."""
        self._users = users

    async def identities(self, request: AdminRequest) -> Reply:
        """Return the identities at providers: none."""
        await self._users.require_user(request.realm, request.path["user_id"])
        return document_reply([])


def operations(handlers: UserLeftoverHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    user = f"{REALM}/users/{{user_id}}"
    identity = f"{user}/federated-identity"
    mail = f"Mail with a link {_LATER}"
    return (
        Operation(
            "GET",
            identity,
            handlers.identities,
            VIEW_USERS,
            "Identities of a user at identity providers: none",
            _TAG,
            returns="[FederatedIdentityRepresentation]",
        ),
        not_here("POST", f"{identity}/{{provider}}", _TAG, BROKERING),
        not_here("DELETE", f"{identity}/{{provider}}", _TAG, BROKERING),
        not_here("GET", f"{user}/consents", _TAG, _CONSENTS),
        not_here("DELETE", f"{user}/consents/{{client}}", _TAG, _CONSENTS),
        not_here("PUT", f"{user}/execute-actions-email", _TAG, mail),
        not_here("PUT", f"{user}/send-verify-email", _TAG, mail),
        not_here("PUT", f"{user}/reset-password-email", _TAG, mail),
        not_here("POST", f"{user}/impersonation", _TAG, f"Impersonation {_LATER}"),
    )
