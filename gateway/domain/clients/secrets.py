"""When the secret of a client is accepted, and the one before it.

The times are attributes of the client, in seconds since 1970. Keycloak: OIDC client secret rotation
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from gateway.domain.clients.client import Client

SECRET_CREATED: Final = "client.secret.creation.time"  # noqa: S105 - an attribute
SECRET_EXPIRES: Final = "client.secret.expiration.time"  # noqa: S105 - an attribute
ROTATED_SECRET: Final = "client.secret.rotated"  # noqa: S105 - an attribute
ROTATED_CREATED: Final = "client.secret.rotated.creation.time"
ROTATED_EXPIRES: Final = "client.secret.rotated.expiration.time"
SECRET_REMAINING: Final = "client.secret.remaining.expiration.time"  # noqa: S105 - an attribute
SECRET_TIMES: Final = (SECRET_CREATED, SECRET_EXPIRES, ROTATED_CREATED, ROTATED_EXPIRES)


def expires_at(client: Client) -> int:
    """Return when the secret expires, in seconds since 1970; 0 where it does not.

    Raises ValueError for an attribute that is not a number.
    """
    return _seconds(client.attributes, SECRET_EXPIRES)


def has_expired(client: Client, now: datetime) -> bool:
    """Tell whether the secret has expired; a time that cannot be read has."""
    if not client.attributes.get(SECRET_EXPIRES):
        return False
    try:
        end = expires_at(client)
    except ValueError:
        return True
    return 0 < end <= now.timestamp()


def accepts_rotated_secret(client: Client, now: datetime) -> bool:
    """Tell whether the rotated secret is still accepted: not without a time of expiration."""
    if client.rotated_secret is None:
        return False
    try:
        return now.timestamp() < _seconds(client.attributes, ROTATED_EXPIRES)
    except ValueError:
        return False


def _seconds(attributes: Mapping[str, str], name: str) -> int:
    return int(attributes.get(name) or 0)
