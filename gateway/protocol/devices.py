"""Devices of a client with a template: the claims of their tokens, their locks and their quota.

`sub` stays that of the client's service account, as in Keycloak; the claims name the device. A lock
counts for every request of the device and for each of its tokens: `authentication/validity.py`.
"""

from collections.abc import Mapping
from datetime import timedelta
from hashlib import sha256
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

from gateway.domain.certificate_names import DEVICE_CLAIM
from gateway.domain.clients import Client
from gateway.domain.events import EventError
from gateway.domain.limits.rate_limits import RateLimit, RateLimiter
from gateway.domain.ports.certificates import DeviceLock, DeviceLocks, LockCause
from gateway.protocol.errors import EventFailure, OAuthError
from gateway.protocol.events import device_lock_event
from gateway.protocol.requests import ProtocolRequest

NO_DEVICE: Final[Mapping[str, str]] = MappingProxyType({})
"""The claims of a token that is for no device."""


def device_claims(request: ProtocolRequest, client: Client) -> Mapping[str, str]:
    """Return the claims of the device whose certificate the request has; none without one."""
    device = client.devices.device_of(request.certificate)
    return NO_DEVICE if device is None else client.devices.claims_of(device)


def known_device_claims(client: Client, claims: Mapping[str, Any]) -> dict[str, str]:
    """Return the device claims of a token that was issued to the client."""
    template = client.devices.template
    if template is None or DEVICE_CLAIM not in claims:
        return {}
    names = [client.devices.claims.get(name, name) for name in template.names]
    return {name: str(claims[name]) for name in (*names, DEVICE_CLAIM) if name in claims}


class Devices:
    """Refuses devices that ask too often, and locks devices that are refused too often."""

    def __init__(self, locks: DeviceLocks, limiter: RateLimiter) -> None:
        self._locks = locks
        self._limiter = limiter

    async def require_within_quota(self, request: ProtocolRequest, client: Client) -> None:
        """Count a token request of the device; raise OAuthError above the quota of a minute."""
        device, quota = client.devices.device_of(request.certificate), client.devices
        if device is None or not quota.tokens_per_minute:
            return
        limit = RateLimit(
            "device-tokens",
            of_network=quota.tokens_per_minute,
            in_all=quota.tokens_per_minute,
            window=timedelta(minutes=1),
        )
        subject = sha256(f"{client.id} {device.name}".encode()).hexdigest()
        # The device has proven its certificate: its quota is the same from every network.
        if not await self._limiter.admit(request.realm.realm.id, limit, "", subject):
            text, error = "The device asks for too many tokens", EventError.SLOW_DOWN
            raise OAuthError(
                "slow_down",
                text,
                status=HTTPStatus.TOO_MANY_REQUESTS,
                event=EventFailure(error, text),
                retry_after=limit.window,
            )

    async def record_refusal(self, request: ProtocolRequest, client: Client) -> None:
        """Count a refused token request of the device, and lock it where the client says so."""
        device, rules = client.devices.device_of(request.certificate), client.devices
        if device is None or not rules.failures:
            return
        realm_id, name = request.realm.realm.id, device.name
        window = rules.lock_duration
        counted = await self._locks.count_failure(realm_id, client.id, name, window)
        if counted >= rules.failures:
            lock = DeviceLock(name, LockCause.FAILURES, request.now + window)
            await self._locks.lock_device(realm_id, client.id, lock, request.now)
            request.event.further.append(device_lock_event(lock, counted))
