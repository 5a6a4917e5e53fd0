"""Builds what users do with their own accounts, and the account console."""

from gateway.accounts import AccountUseCases
from gateway.accounts.access import AccountAccess
from gateway.accounts.applications import AccountApplications, AccountConsents
from gateway.accounts.credentials import AccountCredentials
from gateway.accounts.profile import AccountGroups, AccountProfile
from gateway.accounts.sessions import AccountCertificates, AccountSessions
from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.profile_updates import ProfileUpdates
from gateway.bootstrap.protocol import browser_cookies, browser_sign_in
from gateway.bootstrap.services import Services
from gateway.http.account_console import AccountActions, AccountHandlers, Console, PageHandler
from gateway.http.account_pages import (
    ApplicationPages,
    Certificates,
    DeviceActivity,
    Groups,
    Home,
    PersonalInfo,
    SigningIn,
)
from gateway.http.browser import FormTokens, PageReplies
from gateway.http.logout import BrowserLogoutHandler
from gateway.http.pages import Pages
from gateway.http.sign_in.replies import OutcomeReplies
from gateway.protocol.account_console import ConsoleClients
from gateway.protocol.logout import BrowserLogout
from gateway.protocol.sender_constraint import SenderConstraint
from gateway.protocol.session_tokens import ProtocolServices
from gateway.protocol.sessions import Sessions
from gateway.protocol.tokens import AccessTokens


def account_use_cases(
    services: Services,
    access_tokens: AccessTokens,
    sessions: Sessions,
    constraint: SenderConstraint,
) -> AccountUseCases:
    """Return every use case of a user's own account."""
    database, online = services.database, services.online_sessions
    updates = AccountUpdates(database, services.invalidation, services.clock)
    own_sessions = AccountSessions(services.directory, online, sessions)
    return AccountUseCases(
        access=AccountAccess(access_tokens, constraint, services.directory),
        profile=AccountProfile(database, ProfileUpdates(updates)),
        credentials=AccountCredentials(database, updates),
        sessions=own_sessions,
        applications=AccountApplications(database, services.directory, own_sessions),
        consents=AccountConsents(database, online),
        groups=AccountGroups(database),
        certificates=AccountCertificates(database, services.events),
    )


def account_handlers(
    services: Services,
    protocol: ProtocolServices,
    accounts: AccountUseCases,
    pages: Pages,
) -> AccountHandlers:
    """Return what answers the URLs of the account console."""
    shown, cookies = PageReplies(pages), browser_cookies(services, protocol)
    clients, forms = ConsoleClients(services.directory), FormTokens(services.secrets, "account")
    console = Console(
        access=accounts.access,
        clients=clients,
        sessions=protocol.sessions,
        cookies=cookies,
        sign_in=browser_sign_in(services, protocol),
        forms=forms,
        replies=OutcomeReplies(shown, cookies, protocol.encryption),
        pages=shown,
        handlers=_page_handlers(accounts),
    )
    logout = BrowserLogout(services.directory, protocol.sessions)
    signs_out = BrowserLogoutHandler(logout, cookies, shown, services.secrets)
    return AccountHandlers(console, AccountActions(console, clients, forms, signs_out), shown)


def _page_handlers(accounts: AccountUseCases) -> tuple[PageHandler, ...]:
    """Return the pages in the order of the navigation."""
    return (
        Home(accounts.applications, accounts.credentials),
        PersonalInfo(accounts.profile),
        SigningIn(accounts.credentials, accounts.certificates),
        Certificates(accounts.certificates),
        DeviceActivity(accounts.sessions),
        ApplicationPages(accounts.applications, accounts.consents),
        Groups(accounts.groups),
    )
