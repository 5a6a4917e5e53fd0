"""Sessions as administrators see them. Keycloak: UserSessionRepresentation; whole seconds."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from gateway.domain.clients import Client
from gateway.domain.consents import Consent
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


def render_consent(client: Client, consent: Consent | None, *, offline: bool) -> dict[str, Any]:
    """Return what a user has granted to a client; `offline` tells of offline tokens.

    Keycloak: GET users/{id}/consents
    """
    document: dict[str, Any] = {
        "clientId": client.client_id,
        "grantedClientScopes": list(consent.scopes) if consent else [],
    }
    if consent is not None:
        document["createdDate"] = _milliseconds(consent.created_at)
        document["lastUpdatedDate"] = _milliseconds(consent.updated_at)
    grants = [{"client": client.id, "key": "Offline Token"}] if offline else []
    return {**document, "additionalGrants": grants}


def _milliseconds(instant: datetime) -> int:
    return int(instant.timestamp()) * 1000
