"""Users: finding, adding and changing them, their credentials, groups and profiles."""

from gateway.admin.users.activation import UserActivation
from gateway.admin.users.changes import ShortLived, UserChanges, invalidate_user
from gateway.admin.users.creation import UserCreation
from gateway.admin.users.credentials import UserCredentials
from gateway.admin.users.groups import UserGroups
from gateway.admin.users.listing import (
    QUERY_USERS,
    UserListing,
    read_attribute_query,
    shown_users,
)
from gateway.admin.users.lockouts import Lockout, Lockouts
from gateway.admin.users.names import require_free_names
from gateway.admin.users.new_passwords import NewPasswords
from gateway.admin.users.password_changes import PasswordChanges
from gateway.admin.users.precomputed_hashes import PrecomputedHashes
from gateway.admin.users.profile_components import ProfileComponents
from gateway.admin.users.profiles import UserProfiles, import_profile
from gateway.admin.users.storing import NewUser, store_new_user, store_new_users
from gateway.admin.users.summary import UserSummary, password_expires_at, summarize_user
from gateway.admin.users.use_cases import UserUseCases
from gateway.admin.users.views import VIEW_USERS
