"""Every row of the table that tells of users, and what their handlers are made of."""

from dataclasses import dataclass

from gateway.admin.access import Changes
from gateway.admin.sessions import UserSessions
from gateway.admin.users import (
    NewPasswords,
    PasswordChanges,
    ShortLived,
    UserChanges,
    UserCreation,
    UserCredentials,
    UserGroups,
    UserListing,
    UserProfiles,
)
from gateway.domain.clock import Clock
from gateway.domain.ports.login_failures import LoginFailureStore
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.storage import Database
from gateway.http.admin.operations import Operation
from gateway.http.admin.users import (
    changes as user_changes,
)
from gateway.http.admin.users import (
    credentials as user_credentials,
)
from gateway.http.admin.users import (
    groups as user_groups,
)
from gateway.http.admin.users import (
    handlers as users,
)
from gateway.http.admin.users import (
    profile as user_profile,
)
from gateway.http.admin.users import (
    sessions as user_sessions,
)
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


def _gate(parts: UserParts) -> NewPasswords:
    return NewPasswords(parts.clock, parts.blacklists)


def _passwords(parts: UserParts) -> PasswordChanges:
    return PasswordChanges(_gate(parts), parts.passwords)


def _changing(parts: UserParts) -> user_changes.UserChangesHandlers:
    return user_changes.UserChangesHandlers(
        UserCreation(parts.database, parts.changes, _gate(parts), parts.passwords),
        UserChanges(
            parts.database,
            parts.changes,
            _passwords(parts),
            ShortLived(parts.online_sessions, parts.login_failures),
            parts.clock,
        ),
    )


def user_operations(parts: UserParts) -> tuple[Operation, ...]:
    """Return the rows."""
    database, changes = parts.database, parts.changes
    profiles = UserProfiles(database, changes)
    credentials = UserCredentials(database, changes, _passwords(parts))
    groups = UserGroups(database, changes)
    sessions = UserSessions(database, changes, parts.online_sessions)
    return (
        *users.operations(users.UsersHandlers(UserListing(database))),
        *user_changes.operations(_changing(parts)),
        *user_profile.operations(user_profile.UserProfileHandlers(profiles)),
        *user_credentials.operations(user_credentials.UserCredentialsHandlers(credentials)),
        *user_groups.operations(user_groups.UserGroupsHandlers(groups)),
        *user_sessions.operations(user_sessions.UserSessionsHandlers(sessions)),
    )
