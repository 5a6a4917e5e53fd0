"""Builds the administrative use cases of users."""

from gateway.admin.users import (
    Lockouts,
    NewPasswords,
    PasswordChanges,
    ShortLived,
    UserActivation,
    UserChanges,
    UserCreation,
    UserCredentials,
    UserGroups,
    UserListing,
    UserProfiles,
    UserUseCases,
)
from gateway.bootstrap.services import Services


def new_passwords(services: Services) -> NewPasswords:
    """Return what every new password passes."""
    return NewPasswords(services.clock, services.blacklists)


def user_use_cases(services: Services) -> UserUseCases:
    """Return every use case of users."""
    database, changes, clock = services.database, services.changes, services.clock
    gate = new_passwords(services)
    passwords = PasswordChanges(gate, services.passwords)
    short_lived = ShortLived(services.online_sessions, services.login_failures)
    return UserUseCases(
        activation=UserActivation(changes, services.login_failures),
        listing=UserListing(database),
        creation=UserCreation(database, changes, passwords, clock),
        changes=UserChanges(database, changes, passwords, short_lived, clock),
        credentials=UserCredentials(database, changes, passwords),
        groups=UserGroups(database, changes),
        profiles=UserProfiles(database, changes),
        lockouts=Lockouts(database, services.login_failures, clock),
    )
