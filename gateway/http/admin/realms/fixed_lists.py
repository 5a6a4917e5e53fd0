"""Lists of a realm that are the same in every realm. Keycloak: 7.1."""

from typing import Final

from gateway.admin.access import AdminRole
from gateway.admin.realms import VIEW_REALM
from gateway.http.admin.operations import REALM, Operation
from gateway.http.admin.requests import AdminRequest, document_reply
from gateway.http.replies import Reply

_VIEW_PROVIDERS: Final = (AdminRole.VIEW_IDENTITY_PROVIDERS, AdminRole.MANAGE_IDENTITY_PROVIDERS)
_REGISTRATORS: Final = ("CONFIGURE_TOTP",)
"""Required actions by which a user registers a credential."""


def fixed_lists() -> tuple[Operation, ...]:
    """Return the rows; clients read the list of identity providers before they add one."""
    return (
        Operation(
            "GET",
            f"{REALM}/credential-registrators",
            _registrators,
            VIEW_REALM,
            "The required actions by which somebody gets a credential",
            "Realms",
            returns="[string]",
        ),
        Operation(
            "GET",
            f"{REALM}/identity-provider/instances",
            _no_providers,
            _VIEW_PROVIDERS,
            "Identity providers of the realm: none",
            "Identity providers",
            returns="[IdentityProviderRepresentation]",
        ),
    )


async def _registrators(_: AdminRequest) -> Reply:
    return document_reply(list(_REGISTRATORS))


async def _no_providers(_: AdminRequest) -> Reply:
    return document_reply([])
