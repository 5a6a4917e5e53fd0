"""The class of a sign-in (`acr`) that tokens name, by the level of authentication it reached.

`acr.loa.map` of the client, or else of the realm, names levels. Without levels `1` stands for a
sign-in with credentials, `0` for one by cookie.
Spec: OpenID Connect Core §2 (`acr`); Keycloak: AcrUtils
"""

from collections.abc import Collection, Mapping
from typing import Final

from gateway.protocol.authorization.levels import level_of
from gateway.protocol.scopes import SIGNED_IN

BY_COOKIE: Final = "0"


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
