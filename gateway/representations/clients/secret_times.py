"""The secrets of a client together with the attributes that say when they were made and expire.

Seconds since 1970. Keycloak: client attributes, OIDC client secret rotation
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from gateway.domain.clients import Client
from gateway.domain.secrets import Secret
from gateway.representations.clients.settings import (
    ROTATED_CREATED,
    ROTATED_EXPIRES,
    ROTATED_SECRET,
    SECRET_CREATED,
    SECRET_EXPIRES,
    SECRET_REMAINING,
    with_attributes,
)

_NOT_FOR_A_REALM = {"realm_client": "false"}
_FROM_CREATION = (*_NOT_FOR_A_REALM, SECRET_CREATED)


def with_creation_attributes(client: Client, before: Client | None = None) -> Client:
    """Return the client with the attributes that creation adds, or with those it had `before`."""
    added: Mapping[str, str] = _NOT_FOR_A_REALM
    if before is not None:
        had = before.attributes
        added = {name: had[name] for name in _FROM_CREATION if name in had}
    return with_attributes(client, {**added, **client.attributes})


def with_secret(client: Client, secret: Secret, created: datetime) -> Client:
    """Return the client with a new secret, which expires when the former one did."""
    return _with_times(replace(client, secret=secret), {SECRET_CREATED: created})


def with_secret_expiration(client: Client, end: datetime | None) -> Client:
    """Return the client whose secret expires at `end`, or never."""
    if end is None:
        return _without(client, SECRET_EXPIRES)
    return _with_times(client, {SECRET_EXPIRES: end})


def with_rotated_secret(
    client: Client, secret: Secret | None, created: datetime, end: datetime
) -> Client:
    """Return the client that has `secret` before the current one, accepted until `end`."""
    times = {ROTATED_CREATED: created, ROTATED_EXPIRES: end}
    return _with_times(replace(client, rotated_secret=secret), times)


def without_rotated_secret(client: Client) -> Client:
    """Return the client without the secret before the current one."""
    return _without(replace(client, rotated_secret=None), ROTATED_CREATED, ROTATED_EXPIRES)


def replace_secrets(
    document: Mapping[str, Any], replaced: Callable[[Mapping[str, Any], str], dict[str, Any]]
) -> dict[str, Any]:
    """Return the JSON object of a client after `replaced` for each object and name of a secret."""
    attributes = replaced(document.get("attributes", {}), ROTATED_SECRET)
    return {**replaced(document, "secret"), "attributes": attributes}


def with_sealed_rotated_secret(document: Mapping[str, Any], sealed: str) -> dict[str, Any]:
    """Return the stored document of a client with its rotated secret, sealed."""
    return {**document, "attributes": {**document["attributes"], ROTATED_SECRET: sealed}}


def sealed_rotated_secret(document: Mapping[str, Any]) -> str | None:
    """Return the sealed rotated secret of a stored document; None without one."""
    sealed: str | None = document.get("attributes", {}).get(ROTATED_SECRET)
    return sealed


def _with_times(client: Client, times: Mapping[str, datetime]) -> Client:
    texts = {name: str(int(instant.timestamp())) for name, instant in times.items()}
    return with_attributes(client, {**client.attributes, **texts})


def _without(client: Client, *names: str) -> Client:
    removed = {*names, SECRET_REMAINING}
    kept = {name: text for name, text in client.attributes.items() if name not in removed}
    return with_attributes(client, kept)
