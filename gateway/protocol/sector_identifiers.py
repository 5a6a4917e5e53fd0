"""The document at a client's `sector_identifier_uri` must list its redirect URIs.

It is fetched when a client registers itself. Spec: OpenID Connect Dynamic Client Registration 1.0
§5; Keycloak: SHA256PairwiseSubMapper; attacks C21
"""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from gateway.admin.registration import RegistrationRefused
from gateway.domain.ports.remote_documents import DocumentUnavailable, RemoteDocuments

_INVALID: Final = "invalid_client_metadata"


def names_sector(metadata: Mapping[str, Any]) -> bool:
    """Return whether a document is to be fetched, which only callers with a right may cause."""
    return isinstance(metadata.get("sector_identifier_uri"), str)


async def check_sector(metadata: Mapping[str, Any], documents: RemoteDocuments) -> None:
    """Check the redirect URIs of a registration; raises RegistrationRefused."""
    address, redirects = metadata["sector_identifier_uri"], metadata.get("redirect_uris")
    try:
        listed = json.loads(await documents.fetch(address, newest=timedelta()))
    except (DocumentUnavailable, ValueError, RecursionError) as error:
        raise RegistrationRefused(
            _INVALID, "Failed to get redirect URIs from the Sector Identifier URI."
        ) from error
    if not isinstance(listed, list) or not isinstance(redirects, list):
        raise RegistrationRefused(
            _INVALID, "Failed to get redirect URIs from the Sector Identifier URI."
        )
    if not all(uri in listed for uri in redirects):
        raise RegistrationRefused(
            _INVALID,
            "Client redirect URIs does not match redirect URIs fetched from the Sector Identifier"
            " URI.",
        )
