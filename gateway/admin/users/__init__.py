"""Users: finding, adding and changing them, their credentials, groups and profiles."""

from gateway.admin.users.administration import (
    RoleChange,
    ShownUser,
    UserAdministration,
    new_password,
    password_expires_at,
    read_role_arguments,
    user_topics,
)
from gateway.admin.users.changes import ShortLived, UserChanges, found_user, tell_of
from gateway.admin.users.creation import UserCreation
from gateway.admin.users.credentials import UserCredentials
from gateway.admin.users.groups import UserGroups
from gateway.admin.users.hashes_ahead import HashesAhead
from gateway.admin.users.listing import (
    MOST,
    QUERY_USERS,
    VIEW_USERS,
    Page,
    UserListing,
    read_attribute_query,
    shown_users,
)
from gateway.admin.users.lockouts import Lockout, Lockouts
from gateway.admin.users.names import require_free_names
from gateway.admin.users.new_passwords import NewPasswords
from gateway.admin.users.password_changes import PasswordChanges
from gateway.admin.users.profile_components import ProfileComponents
from gateway.admin.users.profile_import import import_profile
from gateway.admin.users.profiles import UserProfiles

__all__ = [
    "MOST",
    "QUERY_USERS",
    "VIEW_USERS",
    "HashesAhead",
    "Lockout",
    "Lockouts",
    "NewPasswords",
    "Page",
    "PasswordChanges",
    "ProfileComponents",
    "RoleChange",
    "ShortLived",
    "ShownUser",
    "UserAdministration",
    "UserChanges",
    "UserCreation",
    "UserCredentials",
    "UserGroups",
    "UserListing",
    "UserProfiles",
    "found_user",
    "import_profile",
    "new_password",
    "password_expires_at",
    "read_attribute_query",
    "read_role_arguments",
    "require_free_names",
    "shown_users",
    "tell_of",
    "user_topics",
]
