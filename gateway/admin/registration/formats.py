"""How a client to register is described: Keycloak's representation, or RFC 7591's metadata.

A format is one value here and one entry in `http/registration`. Keycloak: client registration
providers `default` and `openid-connect`
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.admin.registration.registrars import RegistrationRefused
from gateway.representations.clients import with_protocol_defaults
from gateway.representations.registration import (
    BASIC_SCOPE,
    client_of_metadata,
    parse_metadata,
    requested_scopes,
)

INVALID_METADATA: Final = "invalid_client_metadata"
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Format:
    """Turns what was sent into a document of the admin API; raises UnknownField, InvalidInput.

    `scopes` returns the optional scopes that a known client is to have, None to leave them.
    """

    client_id: str
    """The field with the public name."""
    new_client: Callable[[Document], Document]
    changed_client: Callable[[Document], Document]
    scopes: Callable[[Document], tuple[str, ...] | None]


def _new_openid_client(document: Document) -> Document:
    """Return a client whose name is generated here."""
    metadata = parse_metadata(document)
    if metadata.get("client_id") is not None:
        raise RegistrationRefused(INVALID_METADATA, "Client Identifier included")
    client = client_of_metadata(metadata, new=True)
    scopes = requested_scopes(metadata)
    if scopes is None:
        return client
    always = [BASIC_SCOPE]
    return {**client, "defaultClientScopes": always, "optionalClientScopes": list(scopes)}


KEYCLOAK: Final = Format("clientId", with_protocol_defaults, dict, lambda _: None)
"""The representation of the admin API. Its lists of scopes count at the registration alone."""
OPENID: Final = Format(
    "client_id",
    _new_openid_client,
    lambda document: client_of_metadata(parse_metadata(document), new=False),
    lambda document: requested_scopes(parse_metadata(document)),
)
