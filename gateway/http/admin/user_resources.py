"""Every row of the table that tells of users, and what their handlers are made of."""

from dataclasses import dataclass

from gateway.admin.changes import Changes
from gateway.admin.new_passwords import NewPasswords
from gateway.admin.password_changes import PasswordChanges
from gateway.admin.user_changes import ShortLived, UserChanges
from gateway.admin.user_creation import UserCreation
from gateway.admin.user_listing import UserListing
from gateway.admin.user_profiles import UserProfiles
from gateway.domain.clock import Clock
from gateway.domain.ports.login_failures import LoginFailureStore
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.storage import Database
from gateway.http.admin import user_changes, user_profile, users
from gateway.http.admin.operations import Operation
from gateway.policies.candidate import PasswordBlacklists


@dataclass(frozen=True, slots=True)
class UserParts:
    """What the handlers are made of."""

    database: Database
    changes: Changes
    clock: Clock
    passwords: PasswordHasher
    blacklists: PasswordBlacklists
    online_sessions: OnlineSessionStore
    login_failures: LoginFailureStore


def _changing(parts: UserParts) -> user_changes.UserChangesHandlers:
    gate = NewPasswords(parts.clock, parts.blacklists)
    return user_changes.UserChangesHandlers(
        UserCreation(parts.database, parts.changes, gate, parts.passwords),
        UserChanges(
            parts.database,
            parts.changes,
            PasswordChanges(gate, parts.passwords),
            ShortLived(parts.online_sessions, parts.login_failures),
            parts.clock,
        ),
    )


def user_operations(parts: UserParts) -> tuple[Operation, ...]:
    """Return the rows."""
    profiles = UserProfiles(parts.database, parts.changes)
    return (
        *users.operations(users.UsersHandlers(UserListing(parts.database))),
        *user_changes.operations(_changing(parts)),
        *user_profile.operations(user_profile.UserProfileHandlers(profiles)),
    )
