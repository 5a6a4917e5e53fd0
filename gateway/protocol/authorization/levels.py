"""Levels of authentication by the names that a realm and a client have for them.

A name without a level may be a number. Keycloak: 12.10 (`acr.loa.map`)
"""

import re
from collections.abc import Mapping
from typing import Final

from gateway.domain.clients import Client
from gateway.domain.realm import Realm, authentication_levels

_NUMBER: Final = re.compile("[0-9]{1,9}", re.ASCII)


def levels_of(realm: Realm, client: Client) -> Mapping[str, int]:
    """Return the levels by name: the client's where it has any, else the realm's."""
    return client.levels.names or authentication_levels(realm)


def level_of(name: str, levels: Mapping[str, int]) -> int | None:
    """Return the level of an `acr`; None for one that means nothing."""
    found = levels.get(name)
    if found is None and _NUMBER.fullmatch(name):
        return int(name)
    return found
