"""Devices without a browser: they ask here, and their users answer in a browser elsewhere.

Spec: RFC 8628 §3.1 to §3.3, §5.1, §6.1; Keycloak: 12.9 device authorization, 1.8 device grant
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode

from gateway.client_policies import EventKind
from gateway.domain.authorization_codes import (
    DeviceApproval,
    DeviceAuthorization,
    DeviceStatus,
    GuessLimit,
    displayed_user_code,
    new_device_code,
    new_user_code,
    parse_user_code,
)
from gateway.domain.certificates import ClientCertificate
from gateway.domain.clients import Client
from gateway.domain.errors import Overloaded
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.limits.input_sizes import scope_excess
from gateway.domain.limits.rate_limits import caller_of
from gateway.domain.ports.lookups import ClientEntry, RealmEntry
from gateway.domain.ports.sign_in import DeviceAuthorizationStore
from gateway.domain.realm import TokenLifespans
from gateway.domain.sessions import UserSession
from gateway.protocol.authorization import (
    CheckServices,
    PageError,
    PageMessage,
    ResponseType,
    SignInRequest,
    StoredRequestUnusable,
    checks,
    pkce,
)
from gateway.protocol.authorization.request import AuthorizationDraft
from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.errors import EventFailure, OAuthError, refused
from gateway.protocol.policy_checks import check_caller
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import still_granted
from gateway.protocol.sender_constraint import bound_certificate
from gateway.protocol.session_tokens import ProtocolServices
from gateway.protocol.sign_in_completion import FinishedSignIn, SessionJoining

DEVICE_NOTE: Final = "device_user_code"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceConnection(SignInRequest):
    """Client, scopes and typed code of a device. Keycloak: 12.9 device authorization."""

    user_code: str = field(repr=False)

    @property
    def event_details(self) -> Mapping[str, str]:
        """The details for the event of the sign-in, as in Keycloak."""
        return {Detail.RESPONSE_TYPE: "code", Detail.RESPONSE_MODE: "query"}

    def stored(self) -> Mapping[str, str]:
        """Return the connection as text by names; `restore_connection` reads it."""
        return {
            "client_id": self.client.client.client_id,
            "scope": " ".join(self.scopes.names),
            DEVICE_NOTE: self.user_code,
        }


def restore_connection(
    stored: Mapping[str, str], realm: RealmEntry, client: ClientEntry
) -> DeviceConnection:
    """Return the connection that `stored` was written from. Raises StoredRequestUnusable."""
    try:
        scopes = still_granted(realm, client.client, stored["scope"].split(" "))
        return DeviceConnection(client=client, scopes=scopes, user_code=stored[DEVICE_NOTE])
    except KeyError as error:
        raise StoredRequestUnusable("malformed") from error


_CODE_LIMIT: Final = GuessLimit()


class UserCodeMessage(StrEnum):
    """The messages of the page of the code: Keycloak's keys, and one of our own."""

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
    """Finds devices by user code, with a limit of guesses for each address.

    Spec: RFC 8628 §3.3, §5.1; Keycloak: 12.9 device authorization
    """

    def __init__(self, devices: DeviceAuthorizationStore, services: CheckServices) -> None:
        self._devices = devices
        self._services = services

    async def find_device(self, request: ProtocolRequest, typed: str) -> DeviceConnection:
        """Return the device of a code; raises UserCodeRefused, PageError, StoreUnavailable."""
        request.event.kind = EventType.OAUTH2_DEVICE_VERIFY_USER_CODE
        # A text that cannot be a code counts as a guess too.
        code = parse_user_code(typed) or ""
        guesser = caller_of(request.remote_address)
        found = await self._devices.find_by_user_code(
            request.realm.realm.id, code, guesser, _CODE_LIMIT
        )
        if found.authorization is None:
            raise UserCodeRefused(*_REFUSALS.get(found.status, _REFUSALS[DeviceStatus.UNKNOWN]))
        asked = found.authorization
        draft = await self._client(request, {"client_id": asked.client_id})
        if draft.client.client.id != asked.client:
            raise UserCodeRefused(*_REFUSALS[DeviceStatus.UNKNOWN])
        scopes = still_granted(request.realm, draft.client.client, asked.scope.split(" "))
        return DeviceConnection(client=draft.client, scopes=scopes, user_code=asked.user_code)

    async def resume_device(
        self, request: ProtocolRequest, stored: Mapping[str, str]
    ) -> DeviceConnection:
        """Return the device of a sign-in; raises PageError, StoredRequestUnusable."""
        draft = await self._client(request, stored)
        return restore_connection(stored, request.realm, draft.client)

    async def _client(
        self, request: ProtocolRequest, stored: Mapping[str, str]
    ) -> AuthorizationDraft:
        draft = AuthorizationDraft(request, self._services, stored)
        await checks.check_client(draft)
        if not draft.client.client.device_grant.enabled:
            message = PageMessage.oauth2DeviceAuthorizationGrantDisabledMessage
            raise PageError(message, event_error=EventError.NOT_ALLOWED)
        return draft


def note_verified(request: ProtocolRequest, device: DeviceConnection) -> None:
    """Record that the code was right; what the sign-in comes to is recorded at its end."""
    request.event.kind = EventType.OAUTH2_DEVICE_VERIFY_USER_CODE
    request.event.client_id = device.client.client.client_id
    request.event.details[Detail.SCOPE] = device.scopes.text


class DeviceResult(StrEnum):
    """The outcome that the user is shown; the values are `error` of Keycloak's URL."""

    CONNECTED = ""
    DENIED = "access_denied"
    EXPIRED = "expired_token"


class DeviceApprovals:
    """Stores the answers of users. Spec: RFC 8628 §3.3, §3.5; Keycloak: 1.8 device grant."""

    def __init__(self, joining: SessionJoining, devices: DeviceAuthorizationStore) -> None:
        self._joining = joining
        self._devices = devices

    async def approve(
        self, request: ProtocolRequest, device: DeviceConnection, finished: FinishedSignIn
    ) -> tuple[DeviceResult, UserSession]:
        """Give the device a part in the user's session; raises as `SessionJoining.join` does."""
        joined = await self._joining.join(request, device, finished)
        part = joined.client_session
        approval = DeviceApproval(
            session_id=joined.session.id,
            user_id=joined.session.user_id,
            approved_at=request.now,
            acr=part.acr,
            authenticated_at=part.authenticated_at,
            generation=part.generation,
        )
        realm_id = request.realm.realm.id
        approved = await self._devices.approve(realm_id, device.user_code, part.client, approval)
        return DeviceResult.CONNECTED if approved else DeviceResult.EXPIRED, joined.session

    async def deny(self, request: ProtocolRequest, device: DeviceConnection) -> DeviceResult:
        """Refuse the device its tokens; raises StoreUnavailable."""
        realm_id, client = request.realm.realm.id, device.client.client.id
        denied = await self._devices.deny(realm_id, device.user_code, client)
        return DeviceResult.DENIED if denied else DeviceResult.EXPIRED


_LONGEST_DEVICE_PARAMETERS: Final = timedelta(days=1)
_TRIES: Final = 5
"""User codes that are tried where others have them: one in 2.5e10 meets another."""


@dataclass(frozen=True, slots=True)
class IssuedDeviceCodes:
    """The answer to a device."""

    device_code: str = field(repr=False)
    user_code: str = field(repr=False)
    """As it is displayed."""
    verification_uri: str
    lifespan: timedelta
    interval: timedelta

    def document(self) -> dict[str, str | int]:
        """Return the response. Spec: RFC 8628 §3.2."""
        complete = f"{self.verification_uri}?{urlencode({'user_code': self.user_code})}"
        second = timedelta(seconds=1)
        return {
            "device_code": self.device_code,
            "user_code": self.user_code,
            "verification_uri": self.verification_uri,
            "verification_uri_complete": complete,
            "expires_in": self.lifespan // second,
            "interval": self.interval // second,
        }


def verification_uri(issuer: str) -> str:
    """Return the address that users open to type their code."""
    return f"{issuer}/device"


async def authorize_device(
    services: ProtocolServices, request: ProtocolRequest
) -> tuple[AuthenticatedClient, IssuedDeviceCodes]:
    """Return the caller and its codes; raises OAuthError or StoreUnavailable.

    Order: client authentication, the client's permission, repeated parameters, sizes, PKCE. Scopes
    that the client may not have are left out, as in Keycloak. Spec: RFC 8628 §3.1, §3.2, §6.1;
    Keycloak: 12.9 device authorization
    """
    request.event.kind = EventType.OAUTH2_DEVICE_AUTH
    caller = await services.clients.authenticate(request)
    check_caller(request, caller, EventKind.DEVICE_AUTHORIZATION_REQUEST)
    client, lifespans = caller.entry.client, request.realm.realm.token_lifespans
    _require_permitted(client)
    draft = _check_request(services, request, caller)
    lifespan = min(
        client.device_grant.code_lifespan or lifespans.device_code, _LONGEST_DEVICE_PARAMETERS
    )
    interval = _polling_interval(client, lifespans)
    asked = await _store_authorization(services, draft, lifespan, interval, caller.certificate)
    return caller, IssuedDeviceCodes(
        asked.device_code,
        displayed_user_code(asked.user_code),
        verification_uri(request.issuer),
        lifespan,
        asked.interval,
    )


def _check_request(
    services: ProtocolServices, request: ProtocolRequest, caller: AuthenticatedClient
) -> AuthorizationDraft:
    """Run the checks that authorization requests of codes have too."""
    if request.parameters.repeated:
        raise refused("invalid_grant", "duplicated parameter", EventError.INVALID_REQUEST)
    draft = AuthorizationDraft(
        request,
        services.checks,
        request.parameters.values,
        entry=caller.entry,
        response_type=frozenset({ResponseType.CODE}),
    )
    checks.check_sizes(draft)
    pkce.check_code_challenge(draft)
    requested = draft.parameters.get("scope") or ""
    excess = scope_excess(requested)
    if excess is not None:
        raise refused("invalid_scope", f"Invalid scopes: {excess}", EventError.INVALID_REQUEST)
    draft.scopes = still_granted(request.realm, caller.entry.client, requested.split(" "))
    return draft


async def _store_authorization(
    services: ProtocolServices,
    draft: AuthorizationDraft,
    lifespan: timedelta,
    interval: timedelta,
    certificate: ClientCertificate | None,
) -> DeviceAuthorization:
    challenge = draft.code_challenge
    for _ in range(_TRIES):
        asked = DeviceAuthorization(
            device_code=new_device_code(),
            user_code=new_user_code(),
            client=draft.client.client.id,
            client_id=draft.client.client.client_id,
            scope=" ".join(draft.scopes.names) if draft.scopes else "",
            interval=interval,
            nonce=draft.parameters.get("nonce") or None,
            code_challenge=challenge.challenge if challenge else None,
            code_challenge_method=challenge.method if challenge else None,
            certificate=bound_certificate(draft.client.client, certificate),
            is_anonymous=draft.client.client.public_client,
        )
        if await services.device_authorizations.add(draft.request.realm.realm.id, asked, lifespan):
            return asked
    raise Overloaded


def _polling_interval(client: Client, lifespans: TokenLifespans) -> timedelta:
    return min(
        client.device_grant.polling_interval or lifespans.device_polling_interval,
        _LONGEST_DEVICE_PARAMETERS,
    )


def _require_permitted(client: Client) -> None:
    if not client.device_grant.enabled:
        text = (
            "Client is not allowed to initiate OAuth 2.0 Device Authorization Grant."
            " The flow is disabled for the client."
        )
        raise refused("unauthorized_client", text, EventError.NOT_ALLOWED)
