"""Builds the administrative use cases of components, one kind after the other."""

from gateway.admin.components import Components
from gateway.admin.keys import KeyComponents
from gateway.admin.registration import RegistrationPolicies
from gateway.admin.users import ProfileComponents
from gateway.bootstrap.services import Services


def components(services: Services) -> Components:
    """Return what lists and changes components of every kind."""
    changes = services.changes
    keys = KeyComponents(services.database, changes, services.keys, services.clock)
    kinds = (keys, ProfileComponents(changes), RegistrationPolicies(changes))
    return Components(services.database, kinds)
