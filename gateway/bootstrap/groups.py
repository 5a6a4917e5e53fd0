"""Builds the administrative use cases of groups."""

from gateway.admin.access import Changes
from gateway.admin.groups import DefaultGroups, GroupAdministration, GroupListing, GroupUseCases
from gateway.bootstrap.services import Services


def group_use_cases(services: Services, changes: Changes) -> GroupUseCases:
    """Return every use case of groups."""
    return GroupUseCases(
        listing=GroupListing(services.database),
        administration=GroupAdministration(changes),
        default_groups=DefaultGroups(services.database, changes),
    )
