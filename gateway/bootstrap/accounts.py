"""Builds the administrative use cases of users, groups, roles, sessions and events."""

from gateway.admin.events import EventAdministration
from gateway.admin.groups import DefaultGroups, GroupAdministration, GroupListing, GroupUseCases
from gateway.admin.roles import RoleAdministration, RoleMapping, RoleMembers, RoleUseCases
from gateway.admin.sessions import ClientSessions, RealmSessions, SessionUseCases, UserSessions
from gateway.admin.users import (
    Lockouts,
    UserActivation,
    UserChanges,
    UserCreation,
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
        activation=UserActivation(changes, services.login_failures),
        listing=UserListing(changes),
        creation=UserCreation(changes, passwords),
        changes=UserChanges(changes, passwords, removal, services.login_failures),
        credentials=UserCredentials(changes, passwords),
        groups=UserGroups(changes),
        profiles=UserProfiles(changes),
        lockouts=Lockouts(changes, services.login_failures),
    )


def group_use_cases(services: Services) -> GroupUseCases:
    """Return every use case of groups."""
    changes = services.changes
    return GroupUseCases(
        listing=GroupListing(changes),
        administration=GroupAdministration(changes),
        default_groups=DefaultGroups(changes),
    )


def role_use_cases(services: Services) -> RoleUseCases:
    """Return every use case of roles."""
    changes = services.changes
    return RoleUseCases(
        administration=RoleAdministration(changes),
        members=RoleMembers(changes),
        mapping=RoleMapping(changes),
    )


def session_use_cases(services: Services) -> SessionUseCases:
    """Return every use case of sessions."""
    changes, online = services.changes, services.online_sessions
    return SessionUseCases(
        realm=RealmSessions(changes, online),
        client=ClientSessions(changes, online),
        user=UserSessions(changes, online),
    )


def event_administration(services: Services) -> EventAdministration:
    """Return what lists events and changes their settings."""
    return EventAdministration(services.changes, services.events, services.listeners.names)
