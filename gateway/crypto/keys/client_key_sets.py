"""The key sets of clients, given by value or fetched from their URLs.

Spec: RFC 7517 §5, RFC 7591 §2 (jwks, jwks_uri)
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import jwt
import orjson
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm

from gateway.domain.clients import Client
from gateway.domain.limits.key_documents import (
    MAX_DOCUMENT_BYTES,
    MAX_KEYS_IN_SET,
    require_at_most,
)
from gateway.domain.ports.client_signatures import NoUsableKey
from gateway.domain.ports.outgoing.remote_documents import DocumentUnavailable, RemoteDocuments

OFTEN: Final = timedelta(seconds=10)
"""Unknown keys do not make the gateway fetch a key set more often. Keycloak 26.7: the same."""
UNREADABLE: Final = (
    ValueError,
    TypeError,
    LookupError,
    UnsupportedAlgorithm,
    x509.InvalidVersion,
    jwt.PyJWTError,
)
"""What parsing a key or a key set raises."""


class ClientKeySets:
    """Finds the key set of a client."""

    def __init__(self, documents: RemoteDocuments) -> None:
        self._documents = documents

    async def fetch(self, client: Client, newest: timedelta | None = None) -> str:
        """Return the document at the client's URL, which may begin at the client's root.

        `newest` asks for one that was fetched within this time. Raises NoUsableKey.
        """
        url = client.verification_keys.key_set_url
        address = f"{client.redirects.root_url}{url}" if url.startswith("/") else url
        try:
            return (await self._documents.fetch(address, newest=newest)).decode("utf-8")
        except (DocumentUnavailable, UnicodeDecodeError) as error:
            raise NoUsableKey(f"the client's key set was not fetched: {error}") from error


def keys_of(text: str) -> list[Mapping[str, Any]]:
    """Return the JWKs of a set, unparsed; raises NoUsableKey."""
    try:
        require_at_most(len(text), MAX_DOCUMENT_BYTES, "Key set in bytes")
        keys = orjson.loads(text)["keys"]
    except UNREADABLE as error:
        raise NoUsableKey("the client's key set cannot be read") from error
    found = keys if isinstance(keys, list) else []
    return [key for key in found[:MAX_KEYS_IN_SET] if isinstance(key, dict)]
