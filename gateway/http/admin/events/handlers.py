"""/admin/realms/{realm}/events, .../events/config and .../admin-events. Keycloak: 10.5."""

from typing import Final

from gateway.admin.access import AdminRole, BadRequest
from gateway.admin.events import EventConfiguration, EventLogs
from gateway.domain.events import (
    ALL_NAMES,
    LARGEST_PAGE,
    STANDARD_PAGE,
    AdminEventQuery,
    EventPage,
    OperationType,
    Period,
    ResourceType,
    UserEventQuery,
)
from gateway.http.admin.instants import instant
from gateway.http.admin.operations import PAGING, REALM, Body, Media, Operation, Query
from gateway.http.admin.requests import AdminRequest, document_reply, done_reply, entity_reply
from gateway.http.replies import Reply
from gateway.representations.events import write_events_config

_TAG: Final = "Events"
_VIEW: Final = (AdminRole.VIEW_EVENTS, AdminRole.MANAGE_EVENTS)
_MANAGE: Final = (AdminRole.MANAGE_EVENTS,)
_CONFIG: Final = Body(Media.OBJECT, "RealmEventsConfigRepresentation")
_WHEN: Final = (
    Query("dateFrom", summary="yyyy-MM-dd, or milliseconds since 1970"),
    Query("dateTo", summary="yyyy-MM-dd, or milliseconds since 1970; that day included"),
    Query("direction", summary="desc, the newest first, or asc"),
    *PAGING,
)


class EventHandlers:
    """Answers what is asked about events."""

    def __init__(self, logs: EventLogs, configuration: EventConfiguration) -> None:
        self._logs = logs
        self._configuration = configuration

    async def configuration(self, request: AdminRequest) -> Reply:
        """Return what is recorded, and who is told."""
        return entity_reply(write_events_config(request.realm.events))

    async def configure(self, request: AdminRequest) -> Reply:
        """Change it."""
        await self._configuration.update(request.acting, request.body)
        return done_reply()

    async def user_events(self, request: AdminRequest) -> Reply:
        """Return a page of what users and clients did."""
        query = UserEventQuery(
            names=_some_of(request, "type", ALL_NAMES),
            client_id=request.query.get("client"),
            user_id=request.query.get("user"),
            ip_address=request.query.get("ipAddress"),
            period=_period(request),
        )
        return document_reply(await self._logs.user_events(request.realm, query, _page(request)))

    async def admin_events(self, request: AdminRequest) -> Reply:
        """Return a page of what administrators did."""
        sent = request.query
        query = AdminEventQuery(
            operations=_some_of(request, "operationTypes", tuple(OperationType)),
            resources=_some_of(request, "resourceTypes", tuple(ResourceType)),
            resource_path=sent.get("resourcePath"),
            auth_realm_id=sent.get("authRealm"),
            auth_client=sent.get("authClient"),
            auth_user_id=sent.get("authUser"),
            ip_address=sent.get("authIpAddress"),
            period=_period(request),
        )
        return document_reply(await self._logs.admin_events(request.realm, query, _page(request)))

    async def clear_user_events(self, request: AdminRequest) -> Reply:
        """Remove what users and clients did."""
        await self._logs.clear_user_events(request.acting)
        return done_reply()

    async def clear_admin_events(self, request: AdminRequest) -> Reply:
        """Remove what administrators did."""
        await self._logs.clear_admin_events(request.acting)
        return done_reply()

    def operations(self) -> tuple[Operation, ...]:
        """Return the rows."""
        events, config = f"{REALM}/events", f"{REALM}/events/config"
        admin_events = f"{REALM}/admin-events"
        return (
            Operation(
                "GET",
                config,
                self.configuration,
                _VIEW,
                "What is recorded, and who is told",
                _TAG,
                returns="RealmEventsConfigRepresentation",
                versioned=True,
            ),
            Operation(
                "PUT",
                config,
                self.configure,
                _MANAGE,
                "Change what is recorded",
                _TAG,
                body=_CONFIG,
                versioned=True,
            ),
            Operation(
                "GET",
                events,
                self.user_events,
                _VIEW,
                "What users and clients did",
                _TAG,
                returns="[EventRepresentation]",
                query=(
                    Query("type", summary="of an event; may be given several times"),
                    *(Query(name) for name in ("client", "user", "ipAddress")),
                    *_WHEN,
                ),
            ),
            Operation(
                "DELETE", events, self.clear_user_events, _MANAGE, "Remove those events", _TAG
            ),
            Operation(
                "GET",
                admin_events,
                self.admin_events,
                _VIEW,
                "What administrators did",
                _TAG,
                returns="[AdminEventRepresentation]",
                query=(
                    Query("operationTypes", summary="may be given several times"),
                    Query("resourceTypes", summary="may be given several times"),
                    Query("resourcePath", summary="* stands for anything"),
                    *(Query(name) for name in ("authRealm", "authClient", "authUser")),
                    Query("authIpAddress"),
                    *_WHEN,
                ),
            ),
            Operation(
                "DELETE",
                admin_events,
                self.clear_admin_events,
                _MANAGE,
                "Remove those events",
                _TAG,
            ),
        )


def _some_of(request: AdminRequest, name: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return what is given of the names that there are, which is nothing for all."""
    given = tuple(dict.fromkeys(value for value in request.every(name) if value))
    if not set(known).issuperset(given):
        raise BadRequest(f"Invalid value for '{name}'")
    return given


def _page(request: AdminRequest) -> EventPage:
    direction = request.query.get("direction") or "desc"
    if direction not in {"asc", "desc"}:
        raise BadRequest("Invalid value for sortDirection, expected value is asc or desc")
    first, maximum = request.page(STANDARD_PAGE)
    most = LARGEST_PAGE if maximum is None else min(maximum, LARGEST_PAGE)
    return EventPage(first, most, newest_first=direction == "desc")


def _period(request: AdminRequest) -> Period:
    since, until = instant(request.query, "dateFrom"), instant(request.query, "dateTo")
    return Period(since and since[0], until and until[1])
