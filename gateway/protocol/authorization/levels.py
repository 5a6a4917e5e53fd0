"""Levels of authentication by name: as a request asks for them, and as tokens state them (`acr`).

Spec: OpenID Connect Core §2 (`acr`), §5.5.1.1; Keycloak: 12.10 (`acr.loa.map`, step-up), AcrUtils
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from gateway.domain.clients import Client
from gateway.domain.events import EventError
from gateway.domain.realm import Realm
from gateway.protocol.authorization.errors import PageError, PageMessage
from gateway.protocol.authorization.request import AuthorizationDraft, RequestedLevel
from gateway.protocol.scopes import SIGNED_IN

_NUMBER: Final = re.compile("[0-9]{1,9}", re.ASCII)


def levels_of(realm: Realm, client: Client) -> Mapping[str, int]:
    """Return the levels by name: the client's where it has any, else the realm's."""
    return client.levels.names or realm.protocol.levels


def level_of(name: str, levels: Mapping[str, int]) -> int | None:
    """Return the level of an `acr` name or number, or None. Keycloak: 12.10 (`acr.loa.map`)."""
    found = levels.get(name)
    if found is None and _NUMBER.fullmatch(name):
        return int(name)
    return found


def check_level(draft: AuthorizationDraft) -> None:
    """Keep the requested level; raises PageError for an unknown essential one.

    An essential `acr` counts first; of several the least is enough; the client's minimum always
    counts. Spec: OpenID Connect Core §5.5.1.1; Keycloak: 12.10 (step-up)
    """
    client = draft.client.client
    levels = levels_of(draft.request.realm.realm, client)
    asked = _asked_by_claims(draft.claims) if draft.claims else ()
    every = (*(draft.parameters.get("acr_values") or "").split(), *asked) or client.levels.default
    draft.acr_values = frozenset(every)
    essential = bool(asked) and (_acr(draft.claims).get("essential") is True)
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


def _asked_by_claims(claims: Mapping[str, Any]) -> tuple[str, ...]:
    acr = _acr(claims)
    values = acr.get("values", [acr["value"]] if "value" in acr else [])
    return _texts(values if isinstance(values, list) else [values])


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str))


BY_COOKIE: Final = "0"


def acr_of(
    level: int | None,
    names: Mapping[str, int],
    *,
    fresh: bool,
    requested: Collection[str] = (),
) -> str:
    """Return the highest class that was requested and reached, or else that was reached.

    `level` is None where the flow has no levels: then `1` is a sign-in with credentials, `0` one by
    cookie. A name without a level may be a number. Spec: OpenID Connect Core §2 (`acr`); Keycloak:
    AcrUtils
    """
    reached = (1 if fresh else 0) if level is None else level
    for candidates in (requested, names) if names else ():
        found = _highest_level(reached, names, candidates)
        if found is not None:
            return found
    return str(reached) if level is not None else SIGNED_IN if fresh else BY_COOKIE


def _highest_level(
    reached: int, names: Mapping[str, int], candidates: Collection[str]
) -> str | None:
    levels = {name: level_of(name, names) for name in candidates}
    fitting = {
        name: level for name, level in levels.items() if level is not None and 0 < level <= reached
    }
    return max(fitting, key=fitting.__getitem__, default=None)
