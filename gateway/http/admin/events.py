"""The rows of events: .../events, .../events/config and .../admin-events.

Keycloak: 10.5 event endpoints.
"""

from typing import Final

from gateway.admin.access import AdminRole
from gateway.admin.events import EventAdministration
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
from gateway.domain.refusals import InvalidRequest, WireFamily
from gateway.http.admin.operations import PAGING, REALM, Body, Operation, Query, Resource, as_caller
from gateway.http.admin.requests import AdminRequest, document, entity_reply
from gateway.http.replies import Reply
from gateway.representations.events import render_events_config

_REPEATABLE: Final = "may be repeated"
_INSTANT: Final = "yyyy-MM-dd, or milliseconds since 1970"
_WHEN: Final = (
    Query("dateFrom", summary=_INSTANT),
    Query("dateTo", summary=f"{_INSTANT}; that day included"),
    Query("direction", summary="desc (newest first) or asc"),
    *PAGING,
)


def event_operations(events: EventAdministration) -> tuple[Operation, ...]:
    """Return every row about events."""
    view = (AdminRole.VIEW_EVENTS, AdminRole.MANAGE_EVENTS)
    rows = Resource(REALM, "Events", view, (AdminRole.MANAGE_EVENTS,))
    config = "RealmEventsConfigRepresentation"
    return (
        rows.get(
            "/events/config",
            "Get the event settings of the realm",
            _get_configuration,
            returns=config,
            versioned=True,
        ),
        rows.put(
            "/events/config",
            "Update the event settings of the realm",
            as_caller(events.update_settings),
            body=Body(config),
            versioned=True,
        ),
        rows.get(
            "/events",
            "List the events of users and clients",
            lambda r: document(events.list_user_events(r.realm, _user_events(r), _page(r))),
            returns="[EventRepresentation]",
            query=(
                Query("type", summary=f"The type of an event; {_REPEATABLE}"),
                *(Query(name) for name in ("client", "user", "ipAddress")),
                *_WHEN,
            ),
        ),
        rows.delete(
            "/events", "Delete the events of users and clients", as_caller(events.clear_user_events)
        ),
        rows.get(
            "/admin-events",
            "List the events of administrators",
            lambda r: document(events.list_admin_events(r.realm, _admin_events(r), _page(r))),
            returns="[AdminEventRepresentation]",
            query=(
                Query("operationTypes", summary=_REPEATABLE),
                Query("resourceTypes", summary=_REPEATABLE),
                Query("resourcePath", summary="* matches any text"),
                *(Query(name) for name in ("authRealm", "authClient", "authUser")),
                Query("authIpAddress"),
                *_WHEN,
            ),
        ),
        rows.delete(
            "/admin-events",
            "Delete the events of administrators",
            as_caller(events.clear_admin_events),
        ),
    )


async def _get_configuration(request: AdminRequest) -> Reply:
    return entity_reply(render_events_config(request.realm.events))


def _user_events(request: AdminRequest) -> UserEventQuery:
    return UserEventQuery(
        names=_some_of(request, "type", ALL_NAMES),
        client_id=request.query.get("client"),
        user_id=request.query.get("user"),
        ip_address=request.query.get("ipAddress"),
        period=_period(request),
    )


def _admin_events(request: AdminRequest) -> AdminEventQuery:
    sent = request.query
    return AdminEventQuery(
        operations=_some_of(request, "operationTypes", tuple(OperationType)),
        resources=_some_of(request, "resourceTypes", tuple(ResourceType)),
        resource_path=sent.get("resourcePath"),
        auth_realm_id=sent.get("authRealm"),
        auth_client=sent.get("authClient"),
        auth_user_id=sent.get("authUser"),
        ip_address=sent.get("authIpAddress"),
        period=_period(request),
    )


def _some_of(request: AdminRequest, name: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the given names, none for all; raises InvalidRequest for a name that is not known."""
    given = tuple(dict.fromkeys(value for value in request.every(name) if value))
    if not set(known).issuperset(given):
        raise InvalidRequest(f"Invalid value for '{name}'", WireFamily.PROSE)
    return given


def _page(request: AdminRequest) -> EventPage:
    direction = request.query.get("direction") or "desc"
    if direction not in {"asc", "desc"}:
        raise InvalidRequest(
            "Invalid value for sortDirection, expected value is asc or desc", WireFamily.PROSE
        )
    first, maximum = request.page(STANDARD_PAGE)
    most = LARGEST_PAGE if maximum is None else min(maximum, LARGEST_PAGE)
    return EventPage(first, most, newest_first=direction == "desc")


def _period(request: AdminRequest) -> Period:
    since, until = request.instant("dateFrom"), request.instant("dateTo")
    return Period(since and since[0], until and until[1])
