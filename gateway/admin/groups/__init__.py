"""Groups: their tree, their members, and the groups that new users join."""

from gateway.admin.groups.administration import GroupAdministration
from gateway.admin.groups.book import (
    Books,
    GivenGroups,
    GroupBook,
    load_books,
    load_groups,
    read_realm_groups,
)
from gateway.admin.groups.default_groups import DefaultGroups
from gateway.admin.groups.listing import (
    MOST_GROUPS,
    NO_GROUP,
    QUERY_GROUPS,
    VIEW_GROUPS,
    GroupListing,
    GroupShape,
    shown_groups,
)
from gateway.admin.groups.use_cases import GroupUseCases

__all__ = [
    "MOST_GROUPS",
    "NO_GROUP",
    "QUERY_GROUPS",
    "VIEW_GROUPS",
    "Books",
    "DefaultGroups",
    "GivenGroups",
    "GroupAdministration",
    "GroupBook",
    "GroupListing",
    "GroupShape",
    "GroupUseCases",
    "load_books",
    "load_groups",
    "read_realm_groups",
    "shown_groups",
]
