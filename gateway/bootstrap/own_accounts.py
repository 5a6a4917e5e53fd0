"""Builds what users do with their own accounts."""

from gateway.accounts import AccountUseCases
from gateway.accounts.access import AccountAccess
from gateway.accounts.applications import AccountApplications
from gateway.accounts.certificates import AccountCertificates
from gateway.accounts.consents import AccountConsents
from gateway.accounts.credentials import AccountCredentials
from gateway.accounts.groups import AccountGroups
from gateway.accounts.profile import AccountProfile
from gateway.accounts.sessions import AccountSessions
from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.profile_updates import ProfileUpdates
from gateway.bootstrap.services import Services
from gateway.protocol.sessions import Sessions
from gateway.protocol.tokens import AccessTokens


def account_use_cases(
    services: Services, access_tokens: AccessTokens, sessions: Sessions
) -> AccountUseCases:
    """Return every use case of a user's own account."""
    database, online = services.database, services.online_sessions
    updates = AccountUpdates(database, services.invalidation)
    own_sessions = AccountSessions(database, online, sessions)
    return AccountUseCases(
        access=AccountAccess(access_tokens, services.directory, services.login_failures),
        profile=AccountProfile(database, ProfileUpdates(updates)),
        credentials=AccountCredentials(database, updates),
        sessions=own_sessions,
        applications=AccountApplications(database, own_sessions),
        consents=AccountConsents(database, online),
        groups=AccountGroups(database),
        certificates=AccountCertificates(database, services.events),
    )
