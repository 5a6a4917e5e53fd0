"""A client as it is told: a public one has no secret, whatever it had. Keycloak: 8.4."""

from typing import Any

from gateway.domain.clients import Client
from gateway.representations.clients.client import write_client
from gateway.representations.clients.settings import ROTATED_SECRET


def told_client(
    client: Client, *, masked: bool, registration_token: str | None = None
) -> dict[str, Any]:
    """Return the JSON object; `masked` hides the secret."""
    document = write_client(client, masked=masked, registration_token=registration_token)
    if client.public_client:
        document.pop("secret", None)
        document["attributes"].pop(ROTATED_SECRET, None)
    return document
