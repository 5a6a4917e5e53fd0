"""Builds forward authentication: its sites and its decisions.

Builds what explains decisions to operators.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.profile_updates import EmailUpdates
from gateway.bootstrap.client_certificates import client_certificates, with_renewed_certificates
from gateway.bootstrap.protocol import sender_constraint, validity
from gateway.bootstrap.services import Services
from gateway.certificates import CertificateTrust
from gateway.domain.ports.certificates import CertificateParser
from gateway.forward_auth.bearer_tokens import BearerTokens
from gateway.forward_auth.browser import PendingSignIns, SignOutCodes, SiteSignIn, SiteSignOut
from gateway.forward_auth.callers import LiveAccounts
from gateway.forward_auth.client_certificates import CertificateHolders
from gateway.forward_auth.decisions import Decisions
from gateway.forward_auth.identity_headers import ServiceTokens
from gateway.forward_auth.session_cookies import SessionCookies
from gateway.forward_auth.user_explanation import UserExplanations
from gateway.http.browser import PageReplies
from gateway.http.forward_auth.browser_endpoint import SiteClients
from gateway.http.forward_auth.refusals import RefusalPages
from gateway.http.forward_auth.sign_in import SignOutHandler, SiteHandlers, SiteSignInEndpoints
from gateway.http.pages import Pages
from gateway.http.realm_endpoint import RealmContext, realm_url
from gateway.protocol.session_tokens import ProtocolServices
from gateway.protocol.sessions import Sessions
from gateway.protocol.tokens import AccessTokens
from gateway.settings import Settings


def site_decisions(
    services: Services,
    certificates: CertificateTrust,
    issuer: Callable[[str], str],
    passed_headers: Iterable[str] = (),
) -> Decisions:
    """Return the decisions about sites; callers may send the identity headers `passed_headers`."""
    updates = AccountUpdates(services.database, services.invalidation, services.clock)
    sessions = Sessions(services.online_sessions, services.database, EmailUpdates(updates))
    accounts = live_accounts(services, certificates)
    tokens = AccessTokens(services.directory, services.database, accounts.validity)
    return Decisions(
        services.sites,
        BearerTokens(accounts, tokens, sender_constraint(services, certificates), issuer),
        SessionCookies(accounts, services.site_sessions, sessions),
        CertificateHolders(accounts, services.certificate_owners),
        services.clock,
        passed_headers=frozenset(name.lower() for name in passed_headers),
    )


def live_accounts(services: Services, certificates: CertificateTrust) -> LiveAccounts:
    """Return what finds realms and users as they are now."""
    return LiveAccounts(
        services.directory, services.revocations, validity(services), certificates, services.clock
    )


def service_tokens(services: Services, context: RealmContext) -> ServiceTokens:
    """Return what signs tokens for protected services."""
    return ServiceTokens(services.directory, context.issuer, services.clock)


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
    services: Services, context: RealmContext, protocol: ProtocolServices, answers: SiteAnswers
) -> SiteHandlers:
    """Return what answers the gateway's URLs at every site."""
    accounts = live_accounts(services, context.certificates)
    sites, clients = services.site_sessions, SiteClients(services.directory)
    return SiteHandlers(
        sign_in=SiteSignInEndpoints(
            SiteSignIn(accounts, protocol, sites, services.pushed_requests),
            PendingSignIns(services.secrets),
            sites,
            clients,
            answers.pages,
        ),
        sign_out=SignOutHandler(
            SiteSignOut(sites, protocol.sessions),
            SignOutCodes(services.secrets),
            clients,
            answers.pages,
        ),
        decisions=answers.decisions,
        refusals=answers.refusals,
        sites=services.sites,
        pages=answers.pages,
    )


@dataclass(frozen=True, slots=True)
class Explanations:
    """Decisions about credentials and about users, and what parses certificates."""

    decisions: Decisions
    users: UserExplanations
    certificates: CertificateParser


def explanations(settings: Settings, services: Services) -> Explanations:
    """Return what explains decisions; raises InvalidInput for unusable files."""
    if services.rules_file is not None:
        services.rules_file.load()
    certificates = client_certificates(settings, services)
    services = with_renewed_certificates(services, certificates)
    issuer = partial(realm_url, settings.public_url)
    trust = certificates.trust(services.authorities)
    accounts = live_accounts(services, trust)
    return Explanations(
        site_decisions(services, trust, issuer),
        UserExplanations(services.sites, accounts, services.database),
        certificates.parser,
    )
