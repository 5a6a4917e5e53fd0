"""The administrative use cases of groups, as callers are given them."""

from dataclasses import dataclass

from gateway.admin.groups.administration import DefaultGroups, GroupAdministration
from gateway.admin.groups.listing import GroupListing


@dataclass(frozen=True, slots=True)
class GroupUseCases:
    """Every use case of groups."""

    listing: GroupListing
    administration: GroupAdministration
    default_groups: DefaultGroups
