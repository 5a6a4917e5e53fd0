"""Secrets of clients that expire and rotate, where a client policy of the realm asks for it.

Keycloak 26.7: executor secret-rotation. Unlike there, a token request changes nothing: a client
gets its time of expiration when it is created, changed or given a new secret.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from gateway.admin.clients.preparation import with_new_secret
from gateway.domain.clients import (
    ROTATED_CREATED,
    ROTATED_EXPIRES,
    SECRET_EXPIRES,
    SECRET_REMAINING,
    Client,
    expires_at,
    has_expired,
)
from gateway.domain.clock import Clock
from gateway.domain.realm import Realm
from gateway.representations.secret_rotation import SecretRotation, secret_rotation_for


def with_renewed_secret(realm: Realm, client: Client, clock: Clock) -> Client:
    """Return the client with a new secret on request.

    The old one is accepted for a while where a policy asks for it; otherwise it is worthless at
    once, and the new one does not expire.
    """
    rotation = secret_rotation_for(realm, client)
    if rotation is not None and client.secret is not None:
        return _rotated(client, rotation, clock)
    return _without(with_new_secret(without_rotated_secret(client), clock), SECRET_EXPIRES)


def with_rotation_applied(
    realm: Realm, client: Client, clock: Clock, *, by_itself: bool = False
) -> Client:
    """Return a client that is created or changed as the realm's policy wants its secret.

    A secret without an end gets one, and one that has expired is rotated; so is one that expires
    soon where the client changes itself (`by_itself`).
    """
    rotation = secret_rotation_for(realm, client)
    if rotation is None or client.secret is None:
        return client
    now = clock.now()
    if has_expired(client, now):
        return _rotated(client, rotation, clock)
    end = expires_at(client)
    if end == 0:
        return _expiring(client, now + rotation.expiration)
    soon = now.timestamp() >= end - rotation.remaining.total_seconds()
    return _rotated(client, rotation, clock) if by_itself and soon else client


def without_rotated_secret(client: Client) -> Client:
    """Return the client without the secret before the current one."""
    times = (ROTATED_CREATED, ROTATED_EXPIRES)
    return _without(replace(client, rotated_secret=None), *times)


def _rotated(client: Client, rotation: SecretRotation, clock: Clock) -> Client:
    now = clock.now()
    renewed = with_new_secret(without_rotated_secret(client), clock)
    renewed = _expiring(renewed, now + rotation.expiration)
    if rotation.rotated == timedelta():
        return renewed
    times = {ROTATED_CREATED: _text(now), ROTATED_EXPIRES: _text(now + rotation.rotated)}
    attributes = {**renewed.attributes, **times}
    return replace(renewed, rotated_secret=client.secret, attributes=attributes)


def _expiring(client: Client, end: datetime) -> Client:
    return replace(client, attributes={**client.attributes, SECRET_EXPIRES: _text(end)})


def _without(client: Client, *names: str) -> Client:
    left_out = {*names, SECRET_REMAINING}
    kept = {name: text for name, text in client.attributes.items() if name not in left_out}
    return replace(client, attributes=kept)


def _text(instant: datetime) -> str:
    return str(int(instant.timestamp()))
