"""Builds the administrative use cases of users, groups, roles, sessions and events.

Each is made, and its modules are loaded, with its first use: a command needs one of them.
"""

from typing import TYPE_CHECKING, cast

from gateway.bootstrap.on_demand import OnDemand
from gateway.bootstrap.services import Services

if TYPE_CHECKING:
    from gateway.admin.events import EventAdministration
    from gateway.admin.groups import GroupAdministration
    from gateway.admin.roles import RoleAdministration
    from gateway.admin.sessions import SessionAdministration
    from gateway.admin.users import UserAdministration, UserCredentials, UserUseCases
    from gateway.authentication.passwords import NewPasswords, PasswordChanges


def new_passwords(services: Services) -> "NewPasswords":
    """Return what every new password passes."""
    from gateway.authentication.passwords import NewPasswords

    return NewPasswords(services.clock, services.blacklists)


def user_use_cases(services: Services) -> "UserUseCases":
    """Return every use case of users."""
    from gateway.admin.users import Lockouts, UserGroups, UserListing, UserProfiles

    changes = services.changes
    use_cases = OnDemand(
        administration=lambda: _user_administration(services),
        listing=lambda: UserListing(changes),
        credentials=lambda: _user_credentials(services),
        groups=lambda: UserGroups(changes),
        profiles=lambda: UserProfiles(changes),
        lockouts=lambda: Lockouts(changes, services.login_failures),
    )
    return cast("UserUseCases", use_cases)


def _user_administration(services: Services) -> "UserAdministration":
    from gateway.admin.users import UserAdministration
    from gateway.authentication.removal import AccountRemoval

    failures = services.login_failures
    removal = AccountRemoval(services.online_sessions, failures)
    return UserAdministration(services.changes, _password_changes(services), removal, failures)


def _user_credentials(services: Services) -> "UserCredentials":
    from gateway.admin.users import UserCredentials

    return UserCredentials(services.changes, _password_changes(services))


def _password_changes(services: Services) -> "PasswordChanges":
    from gateway.authentication.passwords import PasswordChanges

    return PasswordChanges(new_passwords(services), services.passwords)


def group_administration(services: Services) -> "GroupAdministration":
    """Return what lists and changes groups."""
    from gateway.admin.groups import GroupAdministration

    return GroupAdministration(services.changes)


def role_administration(services: Services) -> "RoleAdministration":
    """Return what lists and changes roles, and the roles of users and groups."""
    from gateway.admin.roles import RoleAdministration

    return RoleAdministration(services.changes)


def session_administration(services: Services) -> "SessionAdministration":
    """Return what lists and ends sessions."""
    from gateway.admin.sessions import SessionAdministration

    return SessionAdministration(services.changes, services.online_sessions)


def event_administration(services: Services) -> "EventAdministration":
    """Return what lists events and changes their settings."""
    from gateway.admin.events import EventAdministration

    return EventAdministration(services.changes, services.events, services.listeners.names)
