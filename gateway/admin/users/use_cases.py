"""The administrative use cases of users, as callers are given them."""

from dataclasses import dataclass

from gateway.admin.users.administration import UserActivation, UserChanges, UserCreation
from gateway.admin.users.credentials import UserCredentials
from gateway.admin.users.groups import UserGroups
from gateway.admin.users.listing import UserListing
from gateway.admin.users.lockouts import Lockouts
from gateway.admin.users.profiles import UserProfiles


@dataclass(frozen=True, slots=True)
class UserUseCases:
    """Every use case of users."""

    activation: UserActivation
    listing: UserListing
    creation: UserCreation
    changes: UserChanges
    credentials: UserCredentials
    groups: UserGroups
    profiles: UserProfiles
    lockouts: Lockouts
