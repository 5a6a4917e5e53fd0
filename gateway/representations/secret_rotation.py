"""The client policy executor `secret-rotation`: how long secrets of clients last.

A policy with a condition that is not evaluated here applies to no client.
Keycloak 26.7: executor secret-rotation
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from gateway.domain.clients import Client
from gateway.domain.realm import Realm

SECRET_ROTATION: Final = "secret-rotation"  # noqa: S105 - an executor
_EXPIRATION: Final = "expiration-period"
_ROTATED: Final = "rotated-expiration-period"
_REMAINING: Final = "remaining-rotation-period"
_DEFAULTS: Final[Mapping[str, int]] = {
    _EXPIRATION: 29 * 86_400,
    _ROTATED: 2 * 86_400,
    _REMAINING: 10 * 86_400,
}
_LONGEST: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class SecretRotation:
    """How long a secret lasts, and the one before it after a rotation.

    `remaining` is how long before its end a client that updates itself gets a new secret.
    """

    expiration: timedelta
    rotated: timedelta
    remaining: timedelta


def parse_secret_rotation(configuration: Mapping[str, Any]) -> SecretRotation | None:
    """Return the periods of an executor; None where they contradict each other."""
    periods = {name: configuration.get(name, _DEFAULTS[name]) for name in _DEFAULTS}
    seconds = {name: _seconds(value) for name, value in periods.items()}
    expiration, rotated, remaining = (seconds[name] for name in _DEFAULTS)
    if not expiration or rotated is None or remaining is None:
        return None
    if max(rotated, remaining) > expiration:
        return None
    return SecretRotation(*(timedelta(seconds=each) for each in (expiration, rotated, remaining)))


def secret_rotation_for(realm: Realm, client: Client) -> SecretRotation | None:
    """Return the rotation that the realm's policies ask for the client; the last one counts."""
    if client.public_client or client.bearer_only:
        return None
    found: SecretRotation | None = None
    executors = _executors(realm)
    for policy in entries(realm.unmodelled.get("clientPolicies"), "policies"):
        if _applies(policy, client):
            for profile in policy.get("profiles") or ():
                found = executors.get(profile, found)
    return found


def _executors(realm: Realm) -> dict[str, SecretRotation]:
    """Return the rotation of each profile that has one, by the profile's name."""
    found: dict[str, SecretRotation] = {}
    for profile in entries(realm.unmodelled.get("clientProfiles"), "profiles"):
        for executor in entries(profile, "executors"):
            if executor.get("executor") == SECRET_ROTATION:
                rotation = parse_secret_rotation(executor.get("configuration") or {})
                if rotation is not None:
                    found[str(profile.get("name"))] = rotation
    return found


def _applies(policy: Mapping[str, Any], client: Client) -> bool:
    conditions = entries(policy, "conditions")
    enabled = policy.get("enabled") is True
    return enabled and bool(conditions) and all(_holds(one, client) for one in conditions)


def _holds(condition: Mapping[str, Any], client: Client) -> bool:
    configuration = condition.get("configuration") or {}
    evaluate = _CONDITIONS.get(str(condition.get("condition")))
    negated = configuration.get("is-negative-logic") is True
    return evaluate is not None and evaluate(client, configuration) != negated


def _has_access_type(client: Client, configuration: Mapping[str, Any]) -> bool:
    access_type = "public" if client.public_client else "confidential"
    if client.bearer_only:
        access_type = "bearer-only"
    return access_type in (configuration.get("type") or ())


_CONDITIONS: Final[Mapping[str, Callable[[Client, Mapping[str, Any]], bool]]] = {
    "any-client": lambda _client, _configuration: True,
    "client-access-type": _has_access_type,
}
EVALUATED_CONDITIONS: Final = frozenset(_CONDITIONS)


def entries(document: Any, name: str) -> Sequence[Mapping[str, Any]]:
    """Return the objects of a list; what was stored unchecked may be anything."""
    items = document.get(name) if isinstance(document, Mapping) else None
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _seconds(value: Any) -> int | None:
    text = str(value)
    fits = not isinstance(value, bool) and text.isdecimal() and len(text) <= len(str(_LONGEST))
    return int(text) if fits and int(text) <= _LONGEST else None
