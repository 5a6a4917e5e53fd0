"""Sessions as administrators see them. Keycloak: UserSessionRepresentation; whole seconds."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from gateway.domain.clients import Client
from gateway.domain.sessions import UserSession


def render_session(session: UserSession, client_ids: Mapping[str, str]) -> dict[str, Any]:
    """Return the JSON object; `client_ids` are the public names of clients by internal id."""
    return {
        "id": session.id,
        "username": session.username,
        "userId": session.user_id,
        "ipAddress": session.ip_address,
        "start": _milliseconds(session.started_at),
        "lastAccess": _milliseconds(session.refreshed_at),
        "rememberMe": session.remember_me,
        "clients": {
            client: client_ids[client] for client in session.clients if client in client_ids
        },
        "transientUser": False,
    }


def render_offline_grant(client: Client) -> dict[str, Any]:
    """Return a client with offline tokens of a user. Keycloak: GET users/{id}/consents."""
    return {
        "clientId": client.client_id,
        "grantedClientScopes": [],
        "additionalGrants": [{"client": client.id, "key": "Offline Token"}],
    }


def _milliseconds(instant: datetime) -> int:
    return int(instant.timestamp()) * 1000
