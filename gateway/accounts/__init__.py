"""What users do with their own accounts: one use case per action, for JSON and for pages."""

from dataclasses import dataclass

from gateway.accounts.access import AccountAccess
from gateway.accounts.applications import AccountApplications
from gateway.accounts.certificates import AccountCertificates
from gateway.accounts.consents import AccountConsents
from gateway.accounts.credentials import AccountCredentials
from gateway.accounts.groups import AccountGroups
from gateway.accounts.profile import AccountProfile
from gateway.accounts.sessions import AccountSessions


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
