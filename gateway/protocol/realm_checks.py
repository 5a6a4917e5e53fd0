"""What a realm demands before it looks at a protocol request at all.

Keycloak: token endpoint, checks 1 and 2
"""

from http import HTTPStatus

from gateway.protocol.errors import OAuthError
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.transport_security import transport_is_sufficient


def require_https(request: ProtocolRequest) -> None:
    """Refuse a request in the clear where the realm wants TLS."""
    required = request.realm.realm.ssl_required
    if not transport_is_sufficient(required, request.remote_address, secure=request.secure):
        raise OAuthError("invalid_request", "HTTPS required", status=HTTPStatus.FORBIDDEN)


def require_open_realm(request: ProtocolRequest) -> None:
    """Refuse a request in the clear, then any request to a disabled realm."""
    require_https(request)
    if not request.realm.realm.enabled:
        raise OAuthError("access_denied", "Realm not enabled", status=HTTPStatus.FORBIDDEN)
