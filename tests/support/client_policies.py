"""Client policies of a realm, set over the admin API."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from tests.support.administered_realm import AdministeredRealm

PROFILES: Final = "client-policies/profiles"
POLICIES: Final = "client-policies/policies"
ANY_CLIENT: Final[Mapping[str, Any]] = {"any-client": {}}


def policy(
    *profiles: str, conditions: Mapping[str, Mapping[str, Any]] = ANY_CLIENT, **fields: Any
) -> dict[str, Any]:
    """Return an enabled policy with these profiles, named as the first of them."""
    terms = [
        {"condition": condition, "configuration": dict(configuration)}
        for condition, configuration in conditions.items()
    ]
    return {
        "name": profiles[0],
        "enabled": True,
        "conditions": terms,
        "profiles": list(profiles),
    } | fields


@contextmanager
def policies_of(
    realm: AdministeredRealm,
    executors: Mapping[str, Mapping[str, Any]],
    conditions: Mapping[str, Mapping[str, Any]] = ANY_CLIENT,
) -> Iterator[None]:
    """Put one policy with these executors into force for a while."""
    entries = [
        {"executor": executor, "configuration": dict(configuration)}
        for executor, configuration in executors.items()
    ]
    realm.change("PUT", PROFILES, {"profiles": [{"name": "own", "executors": entries}]})
    realm.change("PUT", POLICIES, {"policies": [policy("own", conditions=conditions)]})
    try:
        yield
    finally:
        realm.change("PUT", POLICIES, {"policies": []})
        realm.change("PUT", PROFILES, {"profiles": []})


@contextmanager
def global_profile(realm: AdministeredRealm, name: str) -> Iterator[None]:
    """Put a profile of every realm into force for all clients for a while."""
    realm.change("PUT", POLICIES, {"policies": [policy(name)]})
    try:
        yield
    finally:
        realm.change("PUT", POLICIES, {"policies": []})
