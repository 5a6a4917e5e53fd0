"""Secrets of clients that expire and rotate, where a client policy of the realm asks for it.

Keycloak 26.7: executor secret-rotation. Unlike there, a token request changes nothing: a client
gets its time of expiration when it is created, changed or given a new secret.
"""

from datetime import timedelta

from gateway.admin.clients.preparation import with_new_secret
from gateway.domain.clients import Client
from gateway.domain.clock import Clock
from gateway.domain.realm import Realm
from gateway.representations.clients import (
    with_rotated_secret,
    with_secret_expiration,
    without_rotated_secret,
)
from gateway.representations.secret_rotation import SecretRotation, secret_rotation_for


def with_renewed_secret(realm: Realm, client: Client, clock: Clock) -> Client:
    """Return the client with a new secret on request.

    The old one is accepted for a while where a policy asks for it; otherwise it is worthless at
    once, and the new one does not expire.
    """
    rotation = secret_rotation_for(realm, client)
    if rotation is not None and client.secret is not None:
        return _rotated(client, rotation, clock)
    return with_secret_expiration(with_new_secret(without_rotated_secret(client), clock), None)


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
    if client.secret_settings.has_expired(now):
        return _rotated(client, rotation, clock)
    end = client.secret_settings.expires_at
    if end is None:
        return with_secret_expiration(client, now + rotation.expiration)
    soon = now + rotation.remaining >= end
    return _rotated(client, rotation, clock) if by_itself and soon else client


def _rotated(client: Client, rotation: SecretRotation, clock: Clock) -> Client:
    now = clock.now()
    renewed = with_new_secret(without_rotated_secret(client), clock)
    renewed = with_secret_expiration(renewed, now + rotation.expiration)
    if rotation.rotated == timedelta():
        return renewed
    return with_rotated_secret(renewed, client.secret, now, now + rotation.rotated)
