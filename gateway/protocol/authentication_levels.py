"""The class of a sign-in (`acr`) that tokens name, by the level of authentication it reached.

Keycloak: `acr.loa.map` of the client, else of the realm; without levels `1` stands for a sign-in
with credentials, `0` for one by cookie. Spec: OpenID Connect Core §2 (`acr`)
"""

import re
from collections.abc import Collection, Mapping
from typing import Final

from gateway.domain.clients import Client
from gateway.domain.realm import Realm, authentication_levels
from gateway.protocol.scopes import SIGNED_IN

BY_COOKIE: Final = "0"
_NUMBER: Final = re.compile("[0-9]{1,9}", re.ASCII)


def names_of_levels(realm: Realm, client: Client) -> Mapping[str, int]:
    """Return the level of each `acr`: those of the client, or else those of the realm."""
    return client.levels.names or names_in_realm(realm)


def names_in_realm(realm: Realm) -> Mapping[str, int]:
    """Return the level of each `acr` of the realm."""
    return authentication_levels(realm)


def level_of(name: str, names: Mapping[str, int]) -> int | None:
    """Return the level of an `acr`, which may be a number; None for one that means nothing."""
    found = names.get(name)
    if found is None and _NUMBER.fullmatch(name):
        return int(name)
    return found


def acr_of(
    level: int | None,
    names: Mapping[str, int],
    *,
    fresh: bool,
    requested: Collection[str] = (),
) -> str:
    """Return the class: the highest that was requested and reached, or else that was reached.

    `level` is None where the flow has no levels. A name without a level may be a number.
    """
    reached = (1 if fresh else 0) if level is None else level
    for candidates in (requested, names):
        found = _highest(reached, names, candidates)
        if names and found is not None:
            return found
    return str(reached) if level is not None else SIGNED_IN if fresh else BY_COOKIE


def _highest(reached: int, names: Mapping[str, int], candidates: Collection[str]) -> str | None:
    levels = {name: level_of(name, names) for name in candidates}
    fitting = {
        name: level for name, level in levels.items() if level is not None and 0 < level <= reached
    }
    return max(fitting, key=fitting.__getitem__, default=None)
