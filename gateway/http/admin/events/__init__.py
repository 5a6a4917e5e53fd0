"""Operations on events. Keycloak: 10.5."""

from gateway.http.admin.events.handlers import EventHandlers
