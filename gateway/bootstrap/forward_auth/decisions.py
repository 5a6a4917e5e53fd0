"""Builds what decides about requests to protected sites."""

from collections.abc import Callable, Iterable

from gateway.bootstrap.protocol import sender_constraint, validity
from gateway.bootstrap.services import Services
from gateway.certificates import CertificateTrust
from gateway.forward_auth.credentials.bearer_token import BearerTokens
from gateway.forward_auth.credentials.client_certificate import ClientCertificates
from gateway.forward_auth.credentials.session_cookie import SessionCookies
from gateway.forward_auth.decisions import Decisions
from gateway.forward_auth.live_accounts import LiveAccounts
from gateway.forward_auth.service_tokens import ServiceTokens
from gateway.http.realm_endpoint import RealmContext
from gateway.protocol.sessions import Sessions
from gateway.protocol.tokens import AccessTokens


def site_decisions(
    services: Services,
    certificates: CertificateTrust,
    issuer: Callable[[str], str],
    passed_headers: Iterable[str] = (),
) -> Decisions:
    """Return the decisions about every protected site; `issuer` is that of a realm's name.

    `passed_headers` are identity headers that callers may send.
    """
    sessions = Sessions(services.online_sessions, services.database)
    accounts = live_accounts(services, certificates)
    tokens = AccessTokens(services.directory, services.database, accounts.validity)
    return Decisions(
        services.sites,
        BearerTokens(accounts, tokens, sender_constraint(services, certificates), issuer),
        SessionCookies(accounts, services.site_sessions, sessions),
        ClientCertificates(accounts, services.certificate_owners),
        services.clock,
        passed_headers=frozenset(name.lower() for name in passed_headers),
    )


def live_accounts(services: Services, certificates: CertificateTrust) -> LiveAccounts:
    """Return what finds realms and users as they are now."""
    return LiveAccounts(
        services.directory,
        services.revocations,
        validity(services),
        certificates,
        services.clock,
    )


def service_tokens(services: Services, context: RealmContext) -> ServiceTokens:
    """Return what signs tokens for protected services."""
    return ServiceTokens(services.directory, context.issuer, services.clock)
