"""Builds the administrative use cases of keys."""

from gateway.admin.keys import KeyMetadata, RealmKeys
from gateway.bootstrap.services import Services


def key_metadata(services: Services) -> KeyMetadata:
    """Return what lists the keys of a realm."""
    return KeyMetadata(services.database, services.keys, services.clock)


def realm_keys(services: Services) -> RealmKeys:
    """Return what rotates and disables keys."""
    return RealmKeys(services.database, services.changes, services.keys, services.clock)
