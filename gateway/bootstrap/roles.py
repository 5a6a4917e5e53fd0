"""Builds the administrative use cases of roles."""

from gateway.admin.roles import RoleAdministration, RoleMapping, RoleMembers, RoleUseCases
from gateway.bootstrap.services import Services


def role_use_cases(services: Services) -> RoleUseCases:
    """Return every use case of roles."""
    return RoleUseCases(
        administration=RoleAdministration(services.database, services.changes),
        members=RoleMembers(services.database),
        mapping=RoleMapping(services.database, services.changes),
    )
