"""Builds the administrative use cases of keys, and of components, one kind after the other."""

from gateway.admin.components import Components
from gateway.admin.keys import KeyComponents, KeyMetadata, RealmKeys
from gateway.admin.registration import RegistrationPolicies
from gateway.admin.users import ProfileComponents
from gateway.bootstrap.services import Services


def components(services: Services) -> Components:
    """Return what lists and changes components of every kind."""
    changes = services.changes
    keys = KeyComponents(services.database, changes, services.keys, services.clock)
    kinds = (keys, ProfileComponents(changes), RegistrationPolicies(changes))
    return Components(services.database, kinds)


def key_metadata(services: Services) -> KeyMetadata:
    """Return what lists the keys of a realm."""
    return KeyMetadata(services.database, services.keys, services.clock)


def realm_keys(services: Services) -> RealmKeys:
    """Return what rotates and disables keys."""
    return RealmKeys(services.database, services.changes, services.keys, services.clock)
