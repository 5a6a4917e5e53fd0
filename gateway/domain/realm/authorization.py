"""What attributes of a realm say of authorization requests.

Keycloak: 12.8, 12.10 (realm attributes `parRequestUriLifespan` and `acr.loa.map`)
"""

import json
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from gateway.domain.limits.caches import cached
from gateway.domain.realm.realm import Realm

_LEVELS: Final = "acr.loa.map"
_PUSHED_LIFESPAN: Final = "parRequestUriLifespan"
_STANDARD: Final = timedelta(minutes=1)
_LONGEST: Final = timedelta(hours=1)
_NUMBER: Final = re.compile("[0-9]{1,9}", re.ASCII)


def pushed_request_lifespan(realm: Realm) -> timedelta:
    """Return how long a pushed request may be used: at least a second, at most an hour."""
    text = realm.attributes.get(_PUSHED_LIFESPAN, "")
    if _NUMBER.fullmatch(text) is None or not int(text):
        return _STANDARD
    return min(timedelta(seconds=int(text)), _LONGEST)


def authentication_levels(realm: Realm) -> Mapping[str, int]:
    """Return levels of authentication by name (`acr`)."""
    return parse_levels(realm.attributes.get(_LEVELS, ""))


@cached(256 * 1024)
def parse_levels(text: str) -> Mapping[str, int]:
    """Return the levels of a JSON object by name; nothing where it is none."""
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: int(level) for name, level in found.items() if _NUMBER.fullmatch(str(level))}
