"""Builds what signs users in and out with a browser."""

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.resumable_sign_in import ResumableSignIn
from gateway.bootstrap.services import Services
from gateway.http.logout.browser_logout import BrowserLogoutHandler
from gateway.http.logout.logout_endpoint import LogoutHandlers
from gateway.http.pages import Pages
from gateway.http.sign_in.action_token_pages import ActionTokenPages
from gateway.http.sign_in.authorization import AuthorizationHandler
from gateway.http.sign_in.browser_cookies import BrowserCookies
from gateway.http.sign_in.device_pages import DevicePages
from gateway.http.sign_in.login_actions import LoginActions
from gateway.http.sign_in.outcome_replies import OutcomeReplies
from gateway.http.sign_in.page_replies import PageReplies
from gateway.http.sign_in.routes import SignInHandlers
from gateway.protocol.account_console import ConsoleClients
from gateway.protocol.action_tokens import ActionTokenEndpoint, action_token_handlers
from gateway.protocol.authorization import AuthorizationEndpoint, CheckServices
from gateway.protocol.browser_sign_in import BrowserSignIn, Purposes
from gateway.protocol.client_authentication import ClientAuthenticator
from gateway.protocol.device_authorization import DeviceApprovals, UserCodes
from gateway.protocol.grant_services import GrantServices
from gateway.protocol.logout import BrowserLogout, LogoutEndpoint
from gateway.protocol.sign_in_results.completion import SignInCompletion
from gateway.protocol.sign_in_results.identity_cookie import IdentityVerification
from gateway.protocol.sign_in_results.session_joining import SessionJoining


def browser_sign_in(
    services: Services, grants: GrantServices, checks: CheckServices
) -> BrowserSignIn:
    """Return what signs users in on pages."""
    devices, joining = services.device_authorizations, SessionJoining(grants.sessions)
    return BrowserSignIn(
        ResumableSignIn(grants.sign_in_engine, services.authentication_sessions),
        Purposes(
            endpoint=AuthorizationEndpoint(checks),
            completion=SignInCompletion(grants.sessions, grants.encryption),
            user_codes=UserCodes(devices, checks),
            approvals=DeviceApprovals(joining, devices),
            console=ConsoleClients(services.directory),
            joining=joining,
        ),
        services.directory,
        grants.consents,
        grants.sessions,
    )


def sign_in_handlers(
    services: Services, grants: GrantServices, checks: CheckServices, pages: Pages
) -> SignInHandlers:
    """Return what answers the URLs of sign-ins."""
    endpoint = AuthorizationEndpoint(checks)
    user_codes = UserCodes(services.device_authorizations, checks)
    sign_in = browser_sign_in(services, grants, checks)
    cookies = browser_cookies(services, grants)
    shown = PageReplies(pages)
    replies = OutcomeReplies(shown, cookies, grants.encryption)
    return SignInHandlers(
        authorization=AuthorizationHandler(endpoint, sign_in, cookies, replies),
        actions=LoginActions(sign_in, services.authentication_sessions, cookies, replies),
        links=ActionTokenPages(_links(services, grants, sign_in), cookies, replies, shown),
        devices=DevicePages(user_codes, sign_in, cookies, replies, shown),
        pages=shown,
    )


def _links(
    services: Services, grants: GrantServices, sign_in: BrowserSignIn
) -> ActionTokenEndpoint:
    updates = AccountUpdates(services.database, services.invalidation, services.clock)
    return ActionTokenEndpoint(
        action_token_handlers(sign_in, updates, grants.sessions, services.database),
        services.directory,
        grants.validity,
        services.one_time_marks,
        services.authentication_sessions,
    )


def logout_handlers(
    services: Services, grants: GrantServices, clients: ClientAuthenticator, pages: Pages
) -> LogoutHandlers:
    """Return what answers the URLs of logouts."""
    logout = BrowserLogout(services.directory, grants.sessions)
    shown, cookies = PageReplies(pages), browser_cookies(services, grants)
    return LogoutHandlers(
        of_clients=LogoutEndpoint(
            clients, grants.sessions, grants.constraint, grants.refresh_tokens
        ),
        of_browsers=BrowserLogoutHandler(logout, cookies, shown, services.secrets),
        pages=shown,
    )


def browser_cookies(services: Services, grants: GrantServices) -> BrowserCookies:
    """Return what reads and writes the cookies of sign-ins."""
    return BrowserCookies(services.secrets, IdentityVerification(grants.validity))
