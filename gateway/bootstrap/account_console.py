"""Builds the account console."""

from gateway.accounts.access import AccountAccess
from gateway.accounts.profile_form import AccountProfileForm
from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.profile_updates import ProfileUpdates
from gateway.bootstrap.services import Services
from gateway.bootstrap.sign_in import browser_cookies, browser_sign_in
from gateway.http.account.actions import AccountActions
from gateway.http.account.console import Console
from gateway.http.account.forms import FormTokens
from gateway.http.account.personal_info import PersonalInfo
from gateway.http.account.routes import AccountHandlers
from gateway.http.account.visitor import PageHandler
from gateway.http.logout.browser_logout import BrowserLogoutHandler
from gateway.http.pages import Pages
from gateway.http.sign_in.outcome_replies import OutcomeReplies
from gateway.http.sign_in.page_replies import PageReplies
from gateway.protocol.account_console import ConsoleClients
from gateway.protocol.authorization import CheckServices
from gateway.protocol.grant_services import GrantServices
from gateway.protocol.logout import BrowserLogout
from gateway.protocol.tokens import AccessTokens


def account_handlers(
    services: Services,
    grants: GrantServices,
    checks: CheckServices,
    access_tokens: AccessTokens,
    pages: Pages,
) -> AccountHandlers:
    """Return what answers the URLs of the account console."""
    shown, cookies = PageReplies(pages), browser_cookies(services, grants)
    clients, forms = ConsoleClients(services.directory), FormTokens(services.secrets)
    console = Console(
        access=AccountAccess(access_tokens, services.directory, services.login_failures),
        clients=clients,
        sessions=grants.sessions,
        cookies=cookies,
        sign_in=browser_sign_in(services, grants, checks),
        forms=forms,
        replies=OutcomeReplies(shown, cookies, grants.encryption),
        pages=shown,
        handlers=_page_handlers(services),
    )
    logout = BrowserLogout(services.directory, grants.sessions)
    signs_out = BrowserLogoutHandler(logout, cookies, shown, services.secrets)
    return AccountHandlers(console, AccountActions(console, clients, forms, signs_out), shown)


def _page_handlers(services: Services) -> tuple[PageHandler, ...]:
    """Return the pages in the order of the navigation."""
    updates = ProfileUpdates(AccountUpdates(services.database, services.invalidation))
    return (PersonalInfo(AccountProfileForm(updates)),)
