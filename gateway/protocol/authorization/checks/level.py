"""The level of authentication that is asked for, by `claims` or `acr_values`, by name or number.

An essential `acr` counts before the others; of several the least is enough. What the client has as
its minimum is asked for in any case.
Spec: OpenID Connect Core §5.5.1.1; Keycloak: 12.10 (step-up)
"""

from collections.abc import Iterable, Mapping
from typing import Any

from gateway.domain.events import EventError
from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.authorization.errors import PageError, PageMessage
from gateway.protocol.authorization.levels import level_of, levels_of
from gateway.protocol.authorization.request import RequestedLevel


def check(draft: AuthorizationDraft) -> None:
    """Keep the level that is asked for; raises PageError for an unknown one that is essential."""
    client = draft.client.client
    levels = levels_of(draft.request.realm.realm, client)
    asked = _asked_by_claims(draft.claims)
    every = (*(draft.get("acr_values") or "").split(), *asked) or client.levels.default
    draft.acr_values = frozenset(every)
    essential = bool(asked) and _is_essential(draft.claims)
    if not essential:
        asked = every
    found = [level_of(name, levels) for name in asked]
    if essential and None in found:
        message, error = PageMessage.invalidParameterMessage, EventError.INVALID_REQUEST
        reason = "Invalid requested essential acr value"
        raise PageError(message, "claims", event_error=error, reason=reason)
    level = min((each or 0 for each in found), default=None)
    least = level_of(client.levels.minimum, levels)
    if least is not None:
        level = max(level or 0, least)
    if level is not None:
        draft.level = RequestedLevel(level, essential=essential)


def _acr(claims: Mapping[str, Any]) -> Mapping[str, Any]:
    found = (claims.get("id_token") or {}).get("acr")
    return found if isinstance(found, dict) else {}


def _is_essential(claims: Mapping[str, Any]) -> bool:
    return _acr(claims).get("essential") is True


def _asked_by_claims(claims: Mapping[str, Any]) -> tuple[str, ...]:
    acr = _acr(claims)
    values = acr.get("values", [acr["value"]] if "value" in acr else [])
    return _texts(values if isinstance(values, list) else [values])


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str))
