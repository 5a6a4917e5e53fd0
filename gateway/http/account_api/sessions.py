"""The user's own sessions: listed, listed by device, and ended."""

from datetime import datetime
from http import HTTPStatus
from typing import Any

from gateway.accounts import AccountUseCases
from gateway.accounts.sessions import AccountSessions, OwnDevice, OwnSession
from gateway.http.account_api.operations import AccountOperation, AccountRequest
from gateway.http.replies import JSON_UTF8, Reply, json_reply
from gateway.representations.accounts.applications import render_client_names


class _Sessions:
    def __init__(self, sessions: AccountSessions) -> None:
        self._sessions = sessions

    async def list(self, request: AccountRequest) -> Reply:
        found = await self._sessions.list(request.caller)
        return json_reply([_session(one) for one in found], content_type=JSON_UTF8)

    async def devices(self, request: AccountRequest) -> Reply:
        found = await self._sessions.devices(request.caller)
        return json_reply([_device(one) for one in found], content_type=JSON_UTF8)

    async def end_all(self, request: AccountRequest) -> Reply:
        await self._sessions.end_all(request.caller, current=request.flag("current"))
        return Reply(HTTPStatus.NO_CONTENT)

    async def end(self, request: AccountRequest) -> Reply:
        await self._sessions.end(request.caller, request.path["id"])
        return Reply(HTTPStatus.NO_CONTENT)


def session_operations(use_cases: AccountUseCases) -> tuple[AccountOperation, ...]:
    """Return the rows."""
    handlers = _Sessions(use_cases.sessions)
    return (
        AccountOperation("GET", "sessions", handlers.list),
        AccountOperation("GET", "sessions/devices", handlers.devices),
        AccountOperation("DELETE", "sessions", handlers.end_all),
        AccountOperation("DELETE", "sessions/{id}", handlers.end),
    )


def _session(one: OwnSession) -> dict[str, Any]:
    session = one.session
    return {
        "id": session.id,
        "ipAddress": session.ip_address,
        "started": _seconds(session.started_at),
        "lastAccess": _seconds(session.refreshed_at),
        "expires": _seconds(one.ends_at),
        "clients": [render_client_names(client) for client in one.clients],
        "browser": one.device.browser,
        **_current(is_current=one.is_current),
    }


def _device(found: OwnDevice) -> dict[str, Any]:
    device = found.device
    return {
        "os": device.system,
        "osVersion": device.system_version,
        "device": device.device,
        "lastAccess": _seconds(found.used_at),
        **_current(is_current=found.is_current),
        "sessions": [_session(one) for one in found.sessions],
        "mobile": device.mobile,
    }


def _current(*, is_current: bool) -> dict[str, bool]:
    return {"current": True} if is_current else {}


def _seconds(instant: datetime) -> int:
    return int(instant.timestamp())
