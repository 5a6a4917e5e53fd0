"""A client's part of a session may not last longer than the session.

Keycloak: POST and PUT of clients, client registration (26.7); files are not checked
"""

from gateway.admin.access import InvalidRequest, WireFamily
from gateway.domain.clients import ClientSessionLimits
from gateway.domain.realm import SessionLimits


def require_within_session(of_client: ClientSessionLimits, limits: SessionLimits) -> None:
    """Raise InvalidRequest for a limit that exceeds the realm's."""
    if of_client.idle > limits.idle:
        raise _refused("Client session idle timeout", "idle timeout")
    if of_client.max_lifespan > limits.max_lifespan:
        raise _refused("Client session max lifespan", "max lifespan")


def _refused(setting: str, limit: str) -> InvalidRequest:
    text = f"{setting} cannot exceed realm SSO session {limit}."
    return InvalidRequest(text, WireFamily.OAUTH, code="invalid_input")
