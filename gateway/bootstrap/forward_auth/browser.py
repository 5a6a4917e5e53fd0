"""Builds what signs browsers in at protected sites."""

from gateway.bootstrap.services import Services
from gateway.forward_auth.browser import PendingSignIns, SiteSignIn
from gateway.http.forward_auth.browser.routes import SiteHandlers
from gateway.http.forward_auth.browser.sign_in import SignInHandlers
from gateway.http.pages import Pages
from gateway.http.sign_in.page_replies import PageReplies
from gateway.protocol.grant_services import GrantServices
from gateway.protocol.sign_in_results.code_redemption import CodeRedemption


def site_handlers(services: Services, grants: GrantServices, pages: Pages) -> SiteHandlers:
    """Return what answers the gateway's URLs at every site."""
    redemption = CodeRedemption(
        services.authorization_codes, services.directory, grants.sessions, grants.consents
    )
    sign_in = SiteSignIn(services.directory, redemption, services.site_sessions)
    pending = PendingSignIns(services.secrets)
    return SiteHandlers(
        sign_in=SignInHandlers(sign_in, pending, services.site_sessions),
        sites=services.sites,
        pages=PageReplies(pages),
    )
