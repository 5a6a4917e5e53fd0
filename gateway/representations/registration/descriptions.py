"""Descriptions of clients in other formats, as the representation of the admin API.

Keycloak: client registration, client-description-converter (keycloak, openid-connect)
"""

import json
from typing import Any

from gateway.domain.errors import FieldError, InvalidInput
from gateway.representations.clients import new_client_document
from gateway.representations.field_table import without_none
from gateway.representations.json_input import parse_json
from gateway.representations.registration.openid import client_of_metadata, parse_metadata


def convert_description(text: str) -> dict[str, Any]:
    """Return the client that a description describes; raises InvalidInput and UnknownField.

    It is the metadata of RFC 7591 where it names `redirect_uris`, else Keycloak's representation.
    """
    document = parse_json(text.encode(), "the description")
    if isinstance(document, dict) and "redirect_uris" in document:
        return client_of_metadata(parse_metadata(document), new=True)
    if isinstance(document, dict) and "clientId" in document:
        new_client_document(document)
        return without_none(document)
    given = json.dumps(text[:20])
    raise InvalidInput((FieldError("the description", given, "an object with clientId"),))
