"""HTTP Basic client credentials, both halves form-encoded.

Spec: RFC 6749 §2.3.1, RFC 7617 §2
"""

import base64
import binascii
from dataclasses import dataclass, field
from urllib.parse import unquote_plus

from gateway.protocol.errors import ClientAuthenticationFailed
from gateway.protocol.requests import ProtocolRequest


@dataclass(frozen=True, slots=True)
class BasicCredentials:
    """What the Authorization header says."""

    client_id: str
    secret: str = field(repr=False)


def read_basic_credentials(request: ProtocolRequest) -> BasicCredentials | None:
    """Return the header's credentials; None without a usable header.

    A header that cannot be read is an error only where the form names no client either.
    """
    header = request.authorization
    if header is None:
        return None
    credentials = _decode(header)
    if credentials is None and request.parameters.get("client_id") is None:
        raise ClientAuthenticationFailed(
            reason="the Authorization header is not valid Basic credentials", basic_challenge=True
        )
    return credentials


def _decode(header: str) -> BasicCredentials | None:
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode("utf-8")
        client_id, colon, secret = text.partition(":")
        if not colon:
            return None
        return BasicCredentials(_form_decoded(client_id), _form_decoded(secret))
    except (binascii.Error, UnicodeDecodeError):
        return None


def _form_decoded(half: str) -> str:
    return unquote_plus(half, errors="strict")
