"""What else is asked of a realm: a fixed list, and what this version has not. Keycloak: 7.1."""

from typing import Final

from gateway.admin.realms import VIEW_REALM
from gateway.http.admin.left_out import FINE_GRAINED
from gateway.http.admin.operations import REALM, Operation, not_here
from gateway.http.admin.requests import AdminRequest, document_reply
from gateway.http.replies import Reply

_TAG: Final = "Realms"
_REGISTRATORS: Final = ("CONFIGURE_TOTP",)
"""Required actions by which somebody gets a credential."""
_NO_MAIL: Final = "This version sends no mail"
_NO_FEDERATION: Final = "User federation is not part of this product"
_NOT_HERE: Final = (
    ("POST", "testSMTPConnection", _NO_MAIL),
    ("GET", "users-management-permissions", FINE_GRAINED),
    ("PUT", "users-management-permissions", FINE_GRAINED),
    ("POST", "clear-crl-cache", "Revocation lists are read anew whenever their files change"),
    ("POST", "testLDAPConnection", _NO_FEDERATION),
    ("POST", "ldap-server-capabilities", _NO_FEDERATION),
    ("GET", "client-types", "Client types are not here"),
    ("PUT", "client-types", "Client types are not here"),
)


async def _registrators(_: AdminRequest) -> Reply:
    return document_reply(list(_REGISTRATORS))


def operations() -> tuple[Operation, ...]:
    """Return the rows that need nothing, and those of what is not here."""
    registrators = Operation(
        "GET",
        f"{REALM}/credential-registrators",
        _registrators,
        VIEW_REALM,
        "The required actions by which somebody gets a credential",
        _TAG,
        returns="[string]",
    )
    missing = (not_here(method, f"{REALM}/{path}", _TAG, text) for method, path, text in _NOT_HERE)
    return (registrators, *missing)
