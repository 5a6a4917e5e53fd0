"""Builds the account console."""

from gateway.accounts import AccountUseCases
from gateway.bootstrap.services import Services
from gateway.bootstrap.sign_in import browser_cookies, browser_sign_in
from gateway.http.account.actions import AccountActions
from gateway.http.account.applications import Applications
from gateway.http.account.certificates import Certificates
from gateway.http.account.console import Console
from gateway.http.account.device_activity import DeviceActivity
from gateway.http.account.forms import FormTokens
from gateway.http.account.groups import Groups
from gateway.http.account.personal_info import PersonalInfo
from gateway.http.account.routes import AccountHandlers
from gateway.http.account.signing_in import SigningIn
from gateway.http.account.visitor import PageHandler
from gateway.http.logout.browser_logout import BrowserLogoutHandler
from gateway.http.pages import Pages
from gateway.http.sign_in.outcome_replies import OutcomeReplies
from gateway.http.sign_in.page_replies import PageReplies
from gateway.protocol.account_console import ConsoleClients
from gateway.protocol.authorization import CheckServices
from gateway.protocol.grant_services import GrantServices
from gateway.protocol.logout import BrowserLogout


def account_handlers(
    services: Services,
    grants: GrantServices,
    checks: CheckServices,
    accounts: AccountUseCases,
    pages: Pages,
) -> AccountHandlers:
    """Return what answers the URLs of the account console."""
    shown, cookies = PageReplies(pages), browser_cookies(services, grants)
    clients, forms = ConsoleClients(services.directory), FormTokens(services.secrets)
    console = Console(
        access=accounts.access,
        clients=clients,
        sessions=grants.sessions,
        cookies=cookies,
        sign_in=browser_sign_in(services, grants, checks),
        forms=forms,
        replies=OutcomeReplies(shown, cookies, grants.encryption),
        pages=shown,
        handlers=_page_handlers(accounts),
    )
    logout = BrowserLogout(services.directory, grants.sessions)
    signs_out = BrowserLogoutHandler(logout, cookies, shown, services.secrets)
    return AccountHandlers(console, AccountActions(console, clients, forms, signs_out), shown)


def _page_handlers(accounts: AccountUseCases) -> tuple[PageHandler, ...]:
    """Return the pages in the order of the navigation."""
    return (
        PersonalInfo(accounts.profile),
        SigningIn(accounts.credentials, accounts.certificates),
        Certificates(accounts.certificates),
        DeviceActivity(accounts.sessions),
        Applications(accounts.applications, accounts.consents),
        Groups(accounts.groups),
    )
