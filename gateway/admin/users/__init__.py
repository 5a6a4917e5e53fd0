"""Users: finding, adding and changing them, their credentials, groups and profiles."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.domain.exports import load_exports

if TYPE_CHECKING:
    from gateway.admin.users.administration import (
        UserAdministration,
        invalidate_user,
    )
    from gateway.admin.users.credentials import (
        LinkRequest,
        PrecomputedHashes,
        UserActionMails,
        UserCredentials,
    )
    from gateway.admin.users.groups import UserGroups
    from gateway.admin.users.listing import (
        QUERY_USERS,
        REMEDY,
        VIEW_USERS,
        LookAlike,
        UserListing,
        UserSummary,
        list_look_alikes,
        password_expires_at,
        read_attribute_query,
        shown_users,
        store_missing_keys,
        summarize_user,
    )
    from gateway.admin.users.lockouts import LOCKOUTS_PATH, Lockouts, UserLockout
    from gateway.admin.users.profiles import (
        ProfileComponents,
        UserProfiles,
        import_profile,
        profile_components,
    )
    from gateway.authentication.new_users import NewUser, store_new_user, store_new_users
else:
    __getattr__ = load_exports(__name__, __file__)


@dataclass(frozen=True, slots=True)
class UserUseCases:
    """Every use case of users."""

    administration: "UserAdministration"
    listing: "UserListing"
    credentials: "UserCredentials"
    groups: "UserGroups"
    profiles: "UserProfiles"
    lockouts: "Lockouts"
