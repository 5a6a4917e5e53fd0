"""The document at a client's `sector_identifier_uri` must list its redirect URIs.

It is fetched when a client registers itself. Spec: OpenID Connect Dynamic Client Registration 1.0
§5; Keycloak: SHA256PairwiseSubMapper; attacks C21
"""

from collections.abc import Mapping
from typing import Any, Final

from gateway.admin.clients import sector_problem
from gateway.admin.registration import RegistrationRefused
from gateway.domain.ports.outgoing.remote_documents import RemoteDocuments

_INVALID: Final = "invalid_client_metadata"


def names_sector(metadata: Mapping[str, Any]) -> bool:
    """Return whether a document is to be fetched, which only callers with a right may cause."""
    return isinstance(metadata.get("sector_identifier_uri"), str)


async def check_sector(metadata: Mapping[str, Any], documents: RemoteDocuments) -> None:
    """Check the redirect URIs of a registration; raises RegistrationRefused."""
    address, redirects = metadata["sector_identifier_uri"], metadata.get("redirect_uris")
    uris = redirects if isinstance(redirects, list) else []
    problem = await sector_problem(address, uris, documents)
    if problem is not None:
        raise RegistrationRefused(_INVALID, problem)
