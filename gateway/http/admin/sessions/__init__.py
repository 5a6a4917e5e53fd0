"""Operations on all sessions of a realm. Keycloak: 7.1."""

from gateway.http.admin.sessions.realm_sessions import SessionHandlers
