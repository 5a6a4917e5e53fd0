"""Builds the administrative use cases of groups."""

from gateway.admin.groups import DefaultGroups, GroupAdministration, GroupListing, GroupUseCases
from gateway.bootstrap.services import Services


def group_use_cases(services: Services) -> GroupUseCases:
    """Return every use case of groups."""
    return GroupUseCases(
        listing=GroupListing(services.database),
        administration=GroupAdministration(services.changes),
        default_groups=DefaultGroups(services.database, services.changes),
    )
