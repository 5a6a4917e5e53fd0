"""What creating or changing a client adds: its secret, scope `service_account`, service account.

Where a client policy of the realm requires it, secrets expire and rotate. Unlike in Keycloak, a
token request changes nothing: a client gets its time of expiration when it is created, changed or
given a new secret. Keycloak: creating a client; executor secret-rotation (26.7)
"""

from dataclasses import replace
from datetime import datetime

from gateway.admin.users import NewUser, store_new_user
from gateway.authentication.unique_names import require_free_names
from gateway.client_policies import (
    ClientChange,
    EventKind,
    SecretRotation,
    Updater,
    applied_executors,
)
from gateway.domain.clients import WITH_SECRET, Client, SecretSettings
from gateway.domain.clock import Clock
from gateway.domain.ports.storage import Stores
from gateway.domain.random_values import random_text, uuid4
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.domain.users import SERVICE_ACCOUNT_PREFIX, User, canonical_name
from gateway.representations.clients import (
    with_creation_attributes,
    with_rotated_secret,
    with_rotated_secret_expiration,
    with_secret,
    with_secret_expiration,
    without_rotated_secret,
)
from gateway.representations.realms import policies_of

_SECRET_BYTES = 32
_SERVICE_ACCOUNT_SCOPE = "service_account"


def prepared_client(client: Client, clock: Clock, *, of_file: bool = False) -> Client:
    """Return a new client with what its settings require and its document omits.

    A bearer-only client of a file stays without a secret, as the built-in ones are exported.
    """
    prepared = _with_scope(with_creation_attributes(client))
    return _with_secret(prepared, clock, of_bearer_only=not of_file)


def changed_client(
    client: Client, before: Client, clock: Clock, *, account_requested: bool = False
) -> Client:
    """Return a changed client with the additions of its creation and of the change.

    A change that says again that there is a service account brings its scope back.
    """
    client = with_creation_attributes(client, before)
    if client.service_accounts_enabled and (
        account_requested or not before.service_accounts_enabled
    ):
        client = _with_scope(client)
    elif before.service_accounts_enabled and not client.service_accounts_enabled:
        client = _without_scope(client)
    return _with_secret(client, clock)


def with_new_secret(client: Client, clock: Clock) -> Client:
    """Return the client with a new random secret."""
    return with_secret(client, Secret(random_text(_SECRET_BYTES)), clock.now())


def with_renewed_secret(realm: Realm, client: Client, clock: Clock, updater: Updater) -> Client:
    """Return the client with a new secret on request of `updater`.

    Where a policy requires it, the old one is accepted for a while; otherwise it is rejected at
    once, and the new one does not expire.
    """
    rotation = _rotation_for(realm, client, updater)
    if rotation is not None and client.secret is not None:
        return _rotated(client, rotation, clock)
    return with_secret_expiration(with_new_secret(without_rotated_secret(client), clock), None)


def with_rotation_applied(
    realm: Realm,
    client: Client,
    clock: Clock,
    updater: Updater,
    *,
    before: Client | None = None,
    by_itself: bool = False,
) -> Client:
    """Return a client that `updater` creates or changes, with its secret as the policy requires.

    A secret without an expiration gets one, and an expired secret is rotated; so is a secret that
    expires soon where the client changes itself (`by_itself`). A sent expiration may be earlier
    than that of the policy and that of `before`, but not later.
    """
    rotation = _rotation_for(realm, client, updater)
    if rotation is None or client.secret is None:
        return client
    now = clock.now()
    if before is not None and before.secret != client.secret == before.rotated_secret:
        # Noted even where the rotated secret is taken away at once: it has had its period.
        client = replace(client, rotated_secret=before.rotated_secret)
    client = _within_periods(client, before, rotation, now)
    end = client.secret_settings.expires_at
    soon = end is not None and now + rotation.remaining >= end
    expired = client.secret_settings.has_expired(now)
    return _rotated(client, rotation, clock) if expired or (by_itself and soon) else client


def _within_periods(
    client: Client, before: Client | None, rotation: SecretRotation, now: datetime
) -> Client:
    """Return the client whose secrets end with the periods of the policy, at the latest.

    A secret that was there `before` ends no later than it would have, also where the rotated one
    comes back as the current one.
    """
    times, had = client.secret_settings, SecretSettings()
    if before is not None and before.secret == client.secret:
        had = replace(had, expires_at=before.secret_settings.expires_at)
    elif before is not None and before.rotated_secret == client.secret:
        had = replace(had, expires_at=before.secret_settings.rotated_expires_at or now)
    if before is not None and before.rotated_secret == client.rotated_secret:
        had = replace(had, rotated_expires_at=before.secret_settings.rotated_expires_at)
    end = _earliest(now + rotation.expiration, times.expires_at, had.expires_at)
    if end != times.expires_at:
        client = with_secret_expiration(client, end)
    if times.rotated_expires_at is None:
        return client
    end = _earliest(now + rotation.rotated, times.rotated_expires_at, had.rotated_expires_at)
    if end != times.rotated_expires_at:
        client = with_rotated_secret_expiration(client, end)
    return client


def _earliest(latest: datetime, *ends: datetime | None) -> datetime:
    """Return the earliest of the instants; None is no end."""
    return min([latest, *(end for end in ends if end is not None)])


def _rotation_for(realm: Realm, client: Client, updater: Updater) -> SecretRotation | None:
    """Return the rotation that the realm's policies demand for the client; the last one counts."""
    if client.public_client or client.bearer_only:
        return None
    change = ClientChange(EventKind.UPDATED, client, client, updater=updater)
    executors = applied_executors(policies_of(realm), change)
    found = [each for each in executors if isinstance(each, SecretRotation)]
    return found[-1] if found else None


def _rotated(client: Client, rotation: SecretRotation, clock: Clock) -> Client:
    now = clock.now()
    renewed = with_new_secret(without_rotated_secret(client), clock)
    renewed = with_secret_expiration(renewed, now + rotation.expiration)
    end = _rotated_until(client, rotation, now)
    if end <= now:
        return renewed
    return with_rotated_secret(renewed, client.secret, now, end)


def _rotated_until(client: Client, rotation: SecretRotation, now: datetime) -> datetime:
    """Return until when the secret is accepted once it is rotated; not after `now` for never.

    A secret is accepted for its own period and that of rotated secrets, however late it rotates; a
    rotated secret that came back has no such period again. Keycloak: secret-rotation
    """
    if client.secret == client.rotated_secret:
        return now
    times = client.secret_settings
    began = min(now, times.expires_at) if times.has_expired(now) and times.expires_at else now
    return began + rotation.rotated


def service_account_name(client: Client) -> str:
    """Return the user name of the client's service account."""
    return SERVICE_ACCOUNT_PREFIX + canonical_name(client.client_id)


async def lacks_service_account(stores: Stores, client: Client, *, new: bool = False) -> bool:
    """Return whether the client is to have a service account and has none; `new` ones have none."""
    if not client.service_accounts_enabled:
        return False
    return new or await stores.users.find_service_account(client.realm_id, client.id) is None


async def add_service_account(
    stores: Stores,
    realm: Realm,
    client: Client,
    clock: Clock,
    *,
    role_ids: tuple[str, ...],
    group_ids: tuple[str, ...],
) -> None:
    """Add the service account of a client that lacks it; raises AlreadyExists."""
    user = User(str(uuid4()), client.realm_id, "", enabled=True, created_at=clock.now())
    account = service_account(client, user)
    names = await require_free_names(stores, realm, account)
    await store_new_user(stores, NewUser(account, role_ids=role_ids, group_ids=group_ids), names)


def service_account(client: Client, user: User) -> User:
    """Return the user as the service account of the client."""
    name = service_account_name(client)
    return replace(user, username=name, service_account_client=client.id)


def _with_scope(client: Client) -> Client:
    scopes = client.default_client_scopes
    if not client.service_accounts_enabled or _SERVICE_ACCOUNT_SCOPE in scopes:
        return client
    return replace(client, default_client_scopes=(*scopes, _SERVICE_ACCOUNT_SCOPE))


def _without_scope(client: Client) -> Client:
    kept = (name for name in client.default_client_scopes if name != _SERVICE_ACCOUNT_SCOPE)
    return replace(client, default_client_scopes=tuple(kept))


def _with_secret(client: Client, clock: Clock, *, of_bearer_only: bool = False) -> Client:
    """Return the client with a secret where it needs one; a public one has none."""
    if client.public_client:
        return replace(client, secret=None)
    needs = client.client_authenticator_type in WITH_SECRET and (
        of_bearer_only or not client.bearer_only
    )
    return with_new_secret(client, clock) if needs and client.secret is None else client
