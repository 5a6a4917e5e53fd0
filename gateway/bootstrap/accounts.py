"""Builds the administrative use cases of users, groups, roles, sessions and events."""

from gateway.admin.events import EventAdministration
from gateway.admin.groups import GroupAdministration
from gateway.admin.roles import RoleAdministration
from gateway.admin.sessions import SessionAdministration
from gateway.admin.users import (
    Lockouts,
    UserAdministration,
    UserCredentials,
    UserGroups,
    UserListing,
    UserProfiles,
    UserUseCases,
)
from gateway.authentication.passwords import NewPasswords, PasswordChanges
from gateway.authentication.removal import AccountRemoval
from gateway.bootstrap.services import Services


def new_passwords(services: Services) -> NewPasswords:
    """Return what every new password passes."""
    return NewPasswords(services.clock, services.blacklists)


def user_use_cases(services: Services) -> UserUseCases:
    """Return every use case of users."""
    changes = services.changes
    passwords = PasswordChanges(new_passwords(services), services.passwords)
    removal = AccountRemoval(services.online_sessions, services.login_failures)
    return UserUseCases(
        administration=UserAdministration(changes, passwords, removal, services.login_failures),
        listing=UserListing(changes),
        credentials=UserCredentials(changes, passwords),
        groups=UserGroups(changes),
        profiles=UserProfiles(changes),
        lockouts=Lockouts(changes, services.login_failures),
    )


def group_administration(services: Services) -> GroupAdministration:
    """Return what lists and changes groups."""
    return GroupAdministration(services.changes)


def role_administration(services: Services) -> RoleAdministration:
    """Return what lists and changes roles, and the roles of users and groups."""
    return RoleAdministration(services.changes)


def session_administration(services: Services) -> SessionAdministration:
    """Return what lists and ends sessions."""
    return SessionAdministration(services.changes, services.online_sessions)


def event_administration(services: Services) -> EventAdministration:
    """Return what lists events and changes their settings."""
    return EventAdministration(services.changes, services.events, services.listeners.names)
