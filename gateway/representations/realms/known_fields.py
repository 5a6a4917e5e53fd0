"""Which fields an administrator may send with a realm: those that Keycloak's have, and no others.

Realm files are taken with more, for they may come from a later version. Keycloak: strict decoding
"""

from collections.abc import Mapping
from typing import Any, Final

from gateway.representations.clients import CLIENT_FIELDS
from gateway.representations.field_table import FieldTable
from gateway.representations.realms.realm import REALM_TABLE
from gateway.representations.users import USER_TABLE

_EMBEDDED: Final[Mapping[str, tuple[FieldTable, str]]] = {
    "clients": (CLIENT_FIELDS, "ClientRepresentation"),
    "users": (USER_TABLE, "UserRepresentation"),
}


def require_known_realm_fields(document: Mapping[str, Any]) -> None:
    """Raise UnknownField for the first unknown field of the realm, its clients or its users."""
    REALM_TABLE.require_known(document, "RealmRepresentation")
    require_known_resources(document)


def require_known_resources(document: Mapping[str, Any]) -> None:
    """Raise UnknownField for the first unknown field of the clients or users of a document."""
    for list_name, (table, representation) in _EMBEDDED.items():
        items = document.get(list_name)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, Mapping):
                table.require_known(item, representation, f"{list_name}[{index}]")
