"""Adding and changing clients: the secret that a confidential one needs, its service account.

Keycloak: creating a client (secret, service account user, default scope `service_account`)
"""

import secrets
from dataclasses import replace
from typing import Final
from uuid import uuid4

from gateway.admin.users import NewUser, store_new_user
from gateway.domain.clients import Client
from gateway.domain.clock import Clock
from gateway.domain.ports.storage import Stores
from gateway.domain.secrets import Secret
from gateway.domain.users import User
from gateway.representations.clients import with_creation_attributes, with_secret

_SECRET_BYTES = 32
_SECRET_TYPES: Final = frozenset({"client-secret", "client-secret-jwt"})
_SERVICE_ACCOUNT_SCOPE = "service_account"


def prepared_client(client: Client, clock: Clock) -> Client:
    """Return a new client with what its settings call for and its author left out."""
    return _with_secret(_with_scope(with_creation_attributes(client)), clock)


def changed_client(client: Client, before: Client, clock: Clock) -> Client:
    """Return a changed client with what the change calls for, and what its creation added."""
    client = with_creation_attributes(client, before)
    if client.service_accounts_enabled != before.service_accounts_enabled:
        client = _with_scope(client) if client.service_accounts_enabled else _without_scope(client)
    return _with_secret(client, clock)


def with_new_secret(client: Client, clock: Clock) -> Client:
    """Return the client with a secret that nobody knows yet."""
    return with_secret(client, Secret(secrets.token_urlsafe(_SECRET_BYTES)), clock.now())


def service_account_name(client: Client) -> str:
    """Return the user name of the client's service account."""
    return f"service-account-{client.client_id.lower()}"


async def ensure_service_account(
    stores: Stores, client: Client, role_ids: tuple[str, ...], clock: Clock, *, new: bool = False
) -> bool:
    """Add the client's service account unless it needs none or has one; tell whether."""
    if not client.service_accounts_enabled:
        return False
    if not new and await stores.users.find_service_account(client.realm_id, client.id):
        return False
    user = User(
        id=str(uuid4()),
        realm_id=client.realm_id,
        username=service_account_name(client),
        enabled=True,
        created_at=clock.now(),
        service_account_client=client.id,
    )
    await store_new_user(stores, NewUser(user, role_ids=role_ids))
    return True


def _with_scope(client: Client) -> Client:
    scopes = client.default_client_scopes
    if not client.service_accounts_enabled or _SERVICE_ACCOUNT_SCOPE in scopes:
        return client
    return replace(client, default_client_scopes=(*scopes, _SERVICE_ACCOUNT_SCOPE))


def _without_scope(client: Client) -> Client:
    kept = (name for name in client.default_client_scopes if name != _SERVICE_ACCOUNT_SCOPE)
    return replace(client, default_client_scopes=tuple(kept))


def _with_secret(client: Client, clock: Clock) -> Client:
    """Return the client with a secret where it needs one; a public one has none."""
    if client.public_client:
        return replace(client, secret=None)
    needs = client.client_authenticator_type in _SECRET_TYPES and not client.bearer_only
    return with_new_secret(client, clock) if needs and client.secret is None else client
