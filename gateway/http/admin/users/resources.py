"""Every row of the table about users."""

from gateway.admin.sessions import UserSessions
from gateway.admin.users import UserUseCases
from gateway.http.admin.operations import Operation
from gateway.http.admin.users import (
    changes,
    credentials,
    groups,
    handlers,
    profile,
    sessions,
)


def user_operations(users: UserUseCases, of_user: UserSessions) -> tuple[Operation, ...]:
    """Return the rows."""
    return (
        *handlers.operations(handlers.UsersHandlers(users.listing)),
        *changes.operations(changes.UserChangesHandlers(users.creation, users.changes)),
        *profile.operations(profile.UserProfileHandlers(users.profiles)),
        *credentials.operations(credentials.UserCredentialsHandlers(users.credentials)),
        *groups.operations(groups.UserGroupsHandlers(users.groups)),
        *sessions.operations(sessions.UserSessionsHandlers(of_user)),
    )
