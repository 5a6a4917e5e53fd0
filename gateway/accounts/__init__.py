"""The actions of users on their own accounts: one use case each, for JSON and for pages."""

from dataclasses import dataclass

from gateway.accounts.access import AccountAccess
from gateway.accounts.applications import AccountApplications, AccountConsents
from gateway.accounts.credentials import AccountCredentials
from gateway.accounts.profile import AccountGroups, AccountProfile
from gateway.accounts.sessions import AccountCertificates, AccountSessions


@dataclass(frozen=True, slots=True)
class AccountUseCases:
    """Every use case of a user's own account."""

    access: AccountAccess
    profile: AccountProfile
    credentials: AccountCredentials
    sessions: AccountSessions
    applications: AccountApplications
    consents: AccountConsents
    groups: AccountGroups
    certificates: AccountCertificates
