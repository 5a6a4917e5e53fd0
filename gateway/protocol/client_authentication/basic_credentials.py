"""HTTP Basic client credentials, both halves form-encoded.

A header that is not Basic, or cannot be read, counts as none: the form may still name the client.
Spec: RFC 6749 §2.3.1, RFC 7617 §2; Keycloak 26.7
"""

import base64
import binascii
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote_plus

from gateway.domain.events import EventError
from gateway.protocol.errors import EventFailure, OAuthError

_BAD_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class BasicCredentials:
    """The credentials of an Authorization header."""

    client_id: str
    secret: str = field(repr=False)


def read_basic_credentials(header: str | None) -> BasicCredentials | None:
    """Return the header's credentials; None without a usable header.

    Raises OAuthError where the halves are Basic credentials with broken form-encoding.
    """
    text = _decode(header) if header is not None else None
    if text is None:
        return None
    client_id, colon, secret = text.partition(":")
    if not colon:
        return None
    return BasicCredentials(_form_decoded(client_id), _form_decoded(secret))


def _decode(header: str) -> str | None:
    scheme, encoded = (*header.split(None, 1), "", "")[:2]
    if scheme.lower() != "basic":
        return None
    unpadded = encoded.rstrip("=")
    try:
        padded = unpadded + "=" * (-len(unpadded) % 4)
        return base64.b64decode(padded, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None


def _form_decoded(half: str) -> str:
    if not _BAD_ESCAPE.search(half):
        with suppress(UnicodeDecodeError):
            return unquote_plus(half, errors="strict")
    raise OAuthError(
        "unauthorized_client",
        "Unexpected error when authenticating client",
        reason="the Basic credentials are not form-encoded",
        event=EventFailure(EventError.INVALID_CLIENT_CREDENTIALS),
    )
