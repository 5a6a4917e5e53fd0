"""Every row of the table about users."""

from gateway.admin.sessions import UserSessions
from gateway.admin.users import UserUseCases
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


def user_operations(use_cases: UserUseCases, sessions: UserSessions) -> tuple[Operation, ...]:
    """Return the rows."""
    changes = user_changes.UserChangesHandlers(use_cases.creation, use_cases.changes)
    credentials = use_cases.credentials
    return (
        *users.operations(users.UsersHandlers(use_cases.listing)),
        *user_changes.operations(changes),
        *user_profile.operations(user_profile.UserProfileHandlers(use_cases.profiles)),
        *user_credentials.operations(user_credentials.UserCredentialsHandlers(credentials)),
        *user_groups.operations(user_groups.UserGroupsHandlers(use_cases.groups)),
        *user_sessions.operations(user_sessions.UserSessionsHandlers(sessions)),
    )
