"""Groups: their tree, their members, and the groups that new users join."""

from dataclasses import dataclass

from gateway.admin.groups.administration import DefaultGroups, GroupAdministration
from gateway.admin.groups.index import (
    GivenGroups,
    GroupIndex,
    RealmIndexes,
    load_groups,
    load_indexes,
    read_realm_groups,
)
from gateway.admin.groups.listing import (
    QUERY_GROUPS,
    VIEW_GROUPS,
    GroupListing,
    GroupShape,
    get_group,
    shown_groups,
)


@dataclass(frozen=True, slots=True)
class GroupUseCases:
    """Every use case of groups."""

    listing: GroupListing
    administration: GroupAdministration
    default_groups: DefaultGroups
