"""What a realm demands before a request to it is looked at: TLS, and that the realm is enabled.

`http/guarded_endpoint.py` applies both to every route. Keycloak: token endpoint, checks 1 and 2
"""

from http import HTTPStatus

from gateway.domain.realm import Realm
from gateway.protocol.errors import OAuthError
from gateway.protocol.transport_security import transport_is_sufficient


def require_https(realm: Realm, remote_address: str, *, secure: bool) -> None:
    """Raise OAuthError (403) for a request in clear where the realm requires TLS."""
    if not transport_is_sufficient(realm.ssl_required, remote_address, secure=secure):
        raise OAuthError("invalid_request", "HTTPS required", status=HTTPStatus.FORBIDDEN)


def require_enabled(realm: Realm) -> None:
    """Raise OAuthError (403) where the realm is disabled."""
    if not realm.enabled:
        raise OAuthError("access_denied", "Realm not enabled", status=HTTPStatus.FORBIDDEN)
