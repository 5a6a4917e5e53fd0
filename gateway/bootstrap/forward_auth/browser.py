"""Builds what browsers meet at protected sites: the sign-in, the sign-out, and pages."""

from collections.abc import Iterable
from dataclasses import dataclass

from gateway.bootstrap.forward_auth.decisions import live_accounts, site_decisions
from gateway.bootstrap.services import Services
from gateway.forward_auth.browser import PendingSignIns, SignOutCodes, SiteSignIn, SiteSignOut
from gateway.forward_auth.decisions import Decisions
from gateway.http.forward_auth.browser.refusals import RefusalPages
from gateway.http.forward_auth.browser.routes import SiteHandlers
from gateway.http.forward_auth.browser.sign_in import SignInHandlers
from gateway.http.forward_auth.browser.sign_out import SignOutHandler
from gateway.http.forward_auth.browser.site_client import SiteClients
from gateway.http.pages import Pages
from gateway.http.realm_endpoint import RealmContext
from gateway.http.sign_in.page_replies import PageReplies
from gateway.protocol.grant_services import GrantServices
from gateway.protocol.sign_in_results.code_redemption import CodeRedemption


@dataclass(frozen=True, slots=True)
class SiteAnswers:
    """What decides about requests to sites, and what people see of a refusal."""

    decisions: Decisions
    refusals: RefusalPages
    pages: PageReplies


def site_answers(
    services: Services, context: RealmContext, pages: Pages, passed_headers: Iterable[str]
) -> SiteAnswers:
    """Return the answers; `pages` are those at sites, see `site_decisions`."""
    shown = PageReplies(pages)
    refusals = RefusalPages(
        services.directory,
        SiteClients(services.directory),
        SignOutCodes(services.secrets),
        shown,
        services.clock,
    )
    decisions = site_decisions(
        services, context.certificates, context.issuer, passed_headers=passed_headers
    )
    return SiteAnswers(decisions, refusals, shown)


def site_handlers(
    services: Services, context: RealmContext, grants: GrantServices, answers: SiteAnswers
) -> SiteHandlers:
    """Return what answers the gateway's URLs at every site."""
    redemption = CodeRedemption(
        services.authorization_codes,
        services.directory,
        grants.validity,
        grants.sessions,
        grants.consents,
    )
    accounts = live_accounts(services, context.certificates)
    sites, clients = services.site_sessions, SiteClients(services.directory)
    return SiteHandlers(
        sign_in=SignInHandlers(
            SiteSignIn(accounts, redemption, sites, services.pushed_requests),
            PendingSignIns(services.secrets),
            sites,
            clients,
            answers.pages,
        ),
        sign_out=SignOutHandler(
            SiteSignOut(sites, grants.sessions),
            SignOutCodes(services.secrets),
            clients,
            answers.pages,
        ),
        decisions=answers.decisions,
        refusals=answers.refusals,
        sites=services.sites,
        pages=answers.pages,
    )
