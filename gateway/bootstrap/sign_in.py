"""Builds what signs users in with a browser."""

from gateway.authentication.resumable_sign_in import ResumableSignIn
from gateway.bootstrap.services import Services
from gateway.http.pages import Pages
from gateway.http.sign_in.authorization import AuthorizationHandler
from gateway.http.sign_in.browser_cookies import BrowserCookies
from gateway.http.sign_in.login_actions import LoginActions
from gateway.http.sign_in.outcome_replies import OutcomeReplies
from gateway.http.sign_in.page_replies import PageReplies
from gateway.http.sign_in.routes import SignInHandlers
from gateway.protocol.authorization import AuthorizationEndpoint, CheckServices
from gateway.protocol.browser_sign_in import BrowserSignIn
from gateway.protocol.grant_services import GrantServices
from gateway.protocol.sign_in_results.completion import SignInCompletion
from gateway.protocol.sign_in_results.identity_cookie import IdentityVerification


def sign_in_handlers(
    services: Services, grants: GrantServices, checks: CheckServices, pages: Pages
) -> SignInHandlers:
    """Return what answers the URLs of sign-ins."""
    endpoint = AuthorizationEndpoint(checks)
    sign_in = BrowserSignIn(
        ResumableSignIn(grants.sign_in_engine, services.authentication_sessions),
        endpoint,
        services.directory,
        grants.consents,
        SignInCompletion(grants.sessions, services.authorization_codes),
    )
    identities = IdentityVerification(services.directory, grants.sessions)
    cookies = BrowserCookies(services.secrets, identities)
    shown = PageReplies(pages)
    replies = OutcomeReplies(shown, cookies)
    return SignInHandlers(
        authorization=AuthorizationHandler(endpoint, sign_in, cookies, replies),
        actions=LoginActions(sign_in, services.authentication_sessions, cookies, replies),
        pages=shown,
    )
