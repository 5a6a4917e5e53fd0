"""Builds what signs users in with a browser."""

from gateway.authentication.resumable_sign_in import ResumableSignIn
from gateway.bootstrap.services import Services
from gateway.http.pages import Pages
from gateway.http.sign_in.authorization import AuthorizationHandler
from gateway.http.sign_in.browser_cookies import BrowserCookies
from gateway.http.sign_in.device_pages import DevicePages
from gateway.http.sign_in.login_actions import LoginActions
from gateway.http.sign_in.outcome_replies import OutcomeReplies
from gateway.http.sign_in.page_replies import PageReplies
from gateway.http.sign_in.routes import SignInHandlers
from gateway.protocol.authorization import AuthorizationEndpoint, CheckServices
from gateway.protocol.browser_sign_in import BrowserSignIn, Purposes
from gateway.protocol.device_authorization import DeviceApprovals, UserCodes
from gateway.protocol.grant_services import GrantServices
from gateway.protocol.sign_in_results.completion import SignInCompletion
from gateway.protocol.sign_in_results.identity_cookie import IdentityVerification
from gateway.protocol.sign_in_results.session_joining import SessionJoining


def sign_in_handlers(
    services: Services, grants: GrantServices, checks: CheckServices, pages: Pages
) -> SignInHandlers:
    """Return what answers the URLs of sign-ins."""
    endpoint = AuthorizationEndpoint(checks)
    devices = services.device_authorizations
    user_codes = UserCodes(devices, checks)
    sign_in = BrowserSignIn(
        ResumableSignIn(grants.sign_in_engine, services.authentication_sessions),
        Purposes(
            endpoint,
            SignInCompletion(grants.sessions, services.authorization_codes),
            user_codes,
            DeviceApprovals(SessionJoining(grants.sessions), devices),
        ),
        services.directory,
        grants.consents,
    )
    identities = IdentityVerification(services.directory, grants.sessions)
    cookies = BrowserCookies(services.secrets, identities)
    shown = PageReplies(pages)
    replies = OutcomeReplies(shown, cookies)
    return SignInHandlers(
        authorization=AuthorizationHandler(endpoint, sign_in, cookies, replies),
        actions=LoginActions(sign_in, services.authentication_sessions, cookies, replies),
        devices=DevicePages(user_codes, sign_in, cookies, replies, shown),
        pages=shown,
    )
