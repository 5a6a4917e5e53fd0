"""The code that a user types: which device waits for an answer under it.

An address may try a few codes that do not exist, and has to wait then.
Spec: RFC 8628 §3.3, §5.1; Keycloak: 12.9
"""

from collections.abc import Mapping
from enum import StrEnum
from http import HTTPStatus
from typing import Final

from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.limits.rate_limits import caller_of
from gateway.domain.ports.sign_in.device_authorizations import DeviceAuthorizationStore
from gateway.domain.sign_in.device_authorizations import DeviceStatus, GuessLimit, parse_user_code
from gateway.protocol.authorization import CheckServices, PageError, PageMessage
from gateway.protocol.authorization.checks import client as client_check
from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.device_authorization.connection import (
    DeviceConnection,
    restore_connection,
)
from gateway.protocol.errors import EventFailure, OAuthError
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import still_granted

_LIMIT: Final = GuessLimit()


class UserCodeMessage(StrEnum):
    """What the page of the code says: Keycloak's keys, and one of our own."""

    INVALID = "oauth2DeviceInvalidUserCodeMessage"
    EXPIRED = "oauth2DeviceExpiredUserCodeMessage"
    TOO_MANY = "oauth2DeviceTooManyUserCodesMessage"


class UserCodeRefused(OAuthError):
    """No device waits under the code: the page asks for another one."""

    def __init__(self, message: UserCodeMessage, reason: str) -> None:
        failure = EventFailure(EventError.INVALID_OAUTH2_USER_CODE, reason)
        too_many = message is UserCodeMessage.TOO_MANY
        status = HTTPStatus.TOO_MANY_REQUESTS if too_many else HTTPStatus.OK
        super().__init__("invalid_user_code", status=status, reason=reason, event=failure)
        self.message = message


_REFUSALS: Final[Mapping[DeviceStatus, tuple[UserCodeMessage, str]]] = {
    DeviceStatus.UNKNOWN: (
        UserCodeMessage.INVALID,
        "device code not found (it may already have been used)",
    ),
    DeviceStatus.EXPIRED: (UserCodeMessage.EXPIRED, "device code expired"),
    DeviceStatus.TOO_MANY_GUESSES: (UserCodeMessage.TOO_MANY, "too many unknown codes"),
}


class UserCodes:
    """Finds the devices of user codes."""

    def __init__(self, devices: DeviceAuthorizationStore, services: CheckServices) -> None:
        self._devices = devices
        self._services = services

    async def find(self, request: ProtocolRequest, typed: str) -> DeviceConnection:
        """Return the device that waits under a code.

        Raises UserCodeRefused, PageError where its client has changed, and StoreUnavailable.
        """
        request.event.begin(EventType.OAUTH2_DEVICE_VERIFY_USER_CODE)
        # A text that cannot be a code counts as a guess too.
        code = parse_user_code(typed) or ""
        guesser = caller_of(request.remote_address)
        realm_id = request.realm.realm.id
        found = await self._devices.find(realm_id, code, guesser, _LIMIT)
        if found.authorization is None:
            raise UserCodeRefused(*_REFUSALS.get(found.status, _REFUSALS[DeviceStatus.UNKNOWN]))
        asked = found.authorization
        draft = await self._client(request, {"client_id": asked.client_id})
        if draft.client.client.id != asked.client:
            raise UserCodeRefused(*_REFUSALS[DeviceStatus.UNKNOWN])
        scopes = still_granted(request.realm, draft.client.client, asked.scope.split(" "))
        return DeviceConnection(draft.client, scopes, asked.user_code)

    async def resume(self, request: ProtocolRequest, stored: Mapping[str, str]) -> DeviceConnection:
        """Return the device of a sign-in that goes on; its client must still be permitted.

        Raises PageError, StoredRequestUnusable and StoreUnavailable.
        """
        draft = await self._client(request, stored)
        return restore_connection(stored, request.realm, draft.client)

    async def _client(
        self, request: ProtocolRequest, stored: Mapping[str, str]
    ) -> AuthorizationDraft:
        draft = AuthorizationDraft(request, self._services, stored)
        await client_check.check(draft)
        if not draft.client.client.device_grant.enabled:
            message = PageMessage.oauth2DeviceAuthorizationGrantDisabledMessage
            raise PageError(message, event_error=EventError.NOT_ALLOWED)
        return draft


def note_verified(request: ProtocolRequest, device: DeviceConnection) -> None:
    """Record that the code was right; what the sign-in comes to is recorded at its end."""
    request.event.begin(EventType.OAUTH2_DEVICE_VERIFY_USER_CODE)
    request.event.client_id = device.client.client.client_id
    request.event.details[Detail.SCOPE] = device.scopes.text
