"""Builds the administrative use cases of users, groups, roles, sessions and events."""

from gateway.admin.events import EventConfiguration, EventLogs, EventUseCases
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
    database, changes, clock = services.database, services.changes, services.clock
    gate = new_passwords(services)
    passwords = PasswordChanges(gate, services.passwords)
    return UserUseCases(
        activation=UserActivation(changes, services.login_failures),
        listing=UserListing(database),
        creation=UserCreation(database, changes, passwords, clock),
        changes=UserChanges(
            database=database,
            changes=changes,
            passwords=passwords,
            removal=AccountRemoval(services.online_sessions, services.login_failures),
            login_failures=services.login_failures,
            clock=clock,
        ),
        credentials=UserCredentials(database, changes, passwords),
        groups=UserGroups(database, changes),
        profiles=UserProfiles(database, changes),
        lockouts=Lockouts(database, services.login_failures, clock),
    )


def group_use_cases(services: Services) -> GroupUseCases:
    """Return every use case of groups."""
    return GroupUseCases(
        listing=GroupListing(services.database),
        administration=GroupAdministration(services.changes),
        default_groups=DefaultGroups(services.database, services.changes),
    )


def role_use_cases(services: Services) -> RoleUseCases:
    """Return every use case of roles."""
    return RoleUseCases(
        administration=RoleAdministration(services.database, services.changes),
        members=RoleMembers(services.database),
        mapping=RoleMapping(services.database, services.changes),
    )


def session_use_cases(services: Services) -> SessionUseCases:
    """Return every use case of sessions."""
    database, changes = services.database, services.changes
    online = services.online_sessions
    return SessionUseCases(
        realm=RealmSessions(database, changes, online),
        client=ClientSessions(database, online),
        user=UserSessions(database, changes, online),
    )


def event_use_cases(services: Services) -> EventUseCases:
    """Return every use case of events."""
    return EventUseCases(
        logs=EventLogs(services.database, services.events, services.clock),
        configuration=EventConfiguration(services.changes, services.listeners.names),
    )
