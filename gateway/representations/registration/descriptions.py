"""Descriptions of clients in other formats, as the representation of the admin API.

Keycloak: client registration, client-description-converter (keycloak, openid-connect)
"""

from collections.abc import Mapping
from typing import Any, Final

from gateway.domain.clients import OPENID_CONNECT
from gateway.domain.errors import InvalidInput
from gateway.representations.clients import new_client_document, parse_client
from gateway.representations.field_table import without_none
from gateway.representations.json_input import parse_json
from gateway.representations.registration.openid import client_of_metadata, parse_metadata

_CLIENT: Final[Mapping[str, Any]] = {
    "clientAuthenticatorType": "client-secret",
    "standardFlowEnabled": True,
    "implicitFlowEnabled": False,
    "directAccessGrantsEnabled": False,
    "publicClient": False,
    "frontchannelLogout": False,
    "protocol": OPENID_CONNECT,
}
"""The client of metadata without these settings. Keycloak 26.7, measured."""


def convert_description(text: str) -> dict[str, Any] | None:
    """Return the client that a description describes; None for another format.

    It is the metadata of RFC 7591 where it names `redirect_uris`, else Keycloak's representation.
    Raises InvalidInput and UnknownField.
    """
    try:
        document = parse_json(text.encode(), "the description")
    except InvalidInput:
        return None
    if isinstance(document, dict) and "redirect_uris" in document:
        return {**_CLIENT, **client_of_metadata(parse_metadata(document), new=True)}
    if isinstance(document, dict) and "clientId" in document:
        parse_client(new_client_document(document), "", report_ineffective=True)
        return without_none(document)
    return None
