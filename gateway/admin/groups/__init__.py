"""Groups: their tree, their members, and the groups that new users join."""

from gateway.admin.groups.administration import DefaultGroups, GroupAdministration, GroupUseCases
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
