"""The user's answer: the device gets the session of the sign-in, or is refused.

Spec: RFC 8628 §3.3, §3.5; Keycloak: 1.8
"""

from enum import StrEnum

from gateway.domain.ports.sign_in.device_authorizations import DeviceAuthorizationStore
from gateway.domain.sessions import UserSession
from gateway.domain.sign_in.device_authorizations import DeviceApproval
from gateway.protocol.device_authorization.connection import DeviceConnection
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sign_in_results.session_joining import FinishedSignIn, SessionJoining


class DeviceResult(StrEnum):
    """What the user is shown at the end; the values are those of `error` in Keycloak's URL."""

    CONNECTED = ""
    DENIED = "access_denied"
    EXPIRED = "expired_token"


class DeviceApprovals:
    """Stores the answers of users."""

    def __init__(self, joining: SessionJoining, devices: DeviceAuthorizationStore) -> None:
        self._joining = joining
        self._devices = devices

    async def approve(
        self, request: ProtocolRequest, device: DeviceConnection, finished: FinishedSignIn
    ) -> tuple[DeviceResult, UserSession]:
        """Give the device a part in the user's session.

        Returns the session too where the device has waited too long: the user is signed in.
        Raises as `SessionJoining.join` does, and StoreUnavailable.
        """
        joined = await self._joining.join(request, device, finished)
        part = joined.client_session
        approval = DeviceApproval(
            session_id=joined.session.id,
            user_id=joined.session.user_id,
            approved_at=request.now,
            acr=part.acr,
            authenticated_at=part.authenticated_at,
        )
        realm_id = request.realm.realm.id
        approved = await self._devices.approve(realm_id, device.user_code, part.client, approval)
        return DeviceResult.CONNECTED if approved else DeviceResult.EXPIRED, joined.session

    async def deny(self, request: ProtocolRequest, device: DeviceConnection) -> DeviceResult:
        """Refuse the device its tokens; raises StoreUnavailable."""
        realm_id, client = request.realm.realm.id, device.client.client.id
        denied = await self._devices.deny(realm_id, device.user_code, client)
        return DeviceResult.DENIED if denied else DeviceResult.EXPIRED
