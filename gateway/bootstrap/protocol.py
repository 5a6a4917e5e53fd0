"""Builds what answers requests of OAuth 2.0 and OpenID Connect."""

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.accounts import Accounts
from gateway.authentication.brute_force_protection import BruteForceGuard
from gateway.authentication.one_time_passwords import OneTimePasswordCheck
from gateway.authentication.passwords import PasswordChanges, PasswordCheck
from gateway.authentication.profile_updates import EmailUpdates
from gateway.authentication.removal import AccountRemoval
from gateway.authentication.services import AuthenticationServices
from gateway.authentication.sign_in_engine import SignInEngine
from gateway.authentication.validity import Validity
from gateway.authentication.web_authn import DECOYS, KeyCheck, KeyDecoys, RelyingParty
from gateway.bootstrap.accounts import new_passwords
from gateway.bootstrap.services import Services
from gateway.certificates import CertificateTrust
from gateway.domain.ports.lookups import RealmTexts
from gateway.domain.ports.observability import Metrics
from gateway.http.browser import BrowserCookies, PageReplies
from gateway.http.logout import BrowserLogoutHandler, LogoutHandlers
from gateway.http.pages import AccountLinks, Designs, PageRenderer, Pages, ResourceUrls
from gateway.http.sign_in.device_pages import DevicePages
from gateway.http.sign_in.endpoints import (
    ActionTokenPages,
    AuthorizationHandler,
    LoginActions,
    SignInEndpoints,
)
from gateway.http.sign_in.replies import OutcomeReplies
from gateway.protocol.account_console import ConsoleClients
from gateway.protocol.action_token_handlers import action_token_handlers
from gateway.protocol.action_tokens import ActionTokenEndpoint
from gateway.protocol.authorization import (
    AuthorizationEndpoint,
    CheckServices,
)
from gateway.protocol.browser_sign_in import BrowserSignIn, Purposes
from gateway.protocol.client_authentication import (
    CertificateOwners,
    ClientAuthenticator,
    ProofServices,
)
from gateway.protocol.consents import Consents
from gateway.protocol.device_authorization import (
    DeviceApprovals,
    UserCodes,
)
from gateway.protocol.devices import Devices
from gateway.protocol.identity_cookie import IdentityVerification
from gateway.protocol.logout import BrowserLogout
from gateway.protocol.sender_constraint import SenderConstraint
from gateway.protocol.session_tokens import ProtocolServices
from gateway.protocol.sessions import Sessions
from gateway.protocol.sign_in_completion import SessionJoining, SignInCompletion
from gateway.protocol.tokens import AccessTokens, RefreshTokens


def protocol_services(
    services: Services, metrics: Metrics, public_url: str, certificates: CertificateTrust
) -> ProtocolServices:
    """Build the services of the grants and of the endpoints that clients call."""
    directory, database = services.directory, services.database
    authentication = authentication_services(services, metrics, public_url)
    email_updates = EmailUpdates(authentication.updates)
    sessions = Sessions(services.online_sessions, database, email_updates)
    current = validity(services)
    return ProtocolServices(
        directory=directory,
        database=database,
        sessions=sessions,
        validity=current,
        sign_in_engine=SignInEngine(authentication),
        refresh_tokens=RefreshTokens(database, current),
        authorization_codes=services.authorization_codes,
        device_authorizations=services.device_authorizations,
        consents=Consents(database),
        encryption=services.client_encryption,
        constraint=sender_constraint(services, certificates),
        access_tokens=AccessTokens(directory, database, current),
        clients=client_authenticator(services, certificates),
        checks=CheckServices(
            directory=directory,
            pushed_requests=services.pushed_requests,
            signatures=services.client_signatures,
            documents=services.documents,
        ),
        devices=Devices(services.device_locks, services.rate_limiter),
    )


def authentication_services(
    services: Services, metrics: Metrics, public_url: str
) -> AuthenticationServices:
    """Return what the parts of sign-ins share."""
    database, web_authn = services.database, services.web_authn
    accounts, party = Accounts(database), RelyingParty(public_url)
    decoys = KeyDecoys(services.secrets.derive_key(DECOYS))
    return AuthenticationServices(
        database=database,
        directory=services.directory,
        invalidation=services.invalidation,
        authentication_sessions=services.authentication_sessions,
        user_sessions=services.online_sessions,
        limiter=services.rate_limiter,
        marks=services.one_time_marks,
        web_authn=web_authn,
        party=party,
        accounts=accounts,
        guard=BruteForceGuard(services.login_failures, metrics),
        passwords=PasswordCheck(services.passwords, database),
        new_passwords=PasswordChanges(new_passwords(services), services.passwords),
        codes=OneTimePasswordCheck(services.one_time_passwords, database),
        keys=KeyCheck(web_authn, accounts, database, party, decoys),
        updates=AccountUpdates(database, services.invalidation, services.clock),
        removal=AccountRemoval(services.online_sessions, services.login_failures),
    )


def client_authenticator(services: Services, certificates: CertificateTrust) -> ClientAuthenticator:
    """Return what authenticates clients at every endpoint."""
    return ClientAuthenticator(
        services.directory,
        ProofServices(
            services.client_signatures,
            services.client_certificates,
            services.one_time_marks,
            validity(services),
            certificates,
        ),
        CertificateOwners(services.directory, services.certificate_owners),
    )


def sender_constraint(services: Services, certificates: CertificateTrust) -> SenderConstraint:
    """Return the rule of bound tokens."""
    return SenderConstraint(services.proof_checks, certificates, services.renewed_certificates)


def validity(services: Services) -> Validity:
    """Return what says whether sessions, tokens and credentials may still be used."""
    return Validity(
        services.directory,
        services.online_sessions,
        services.database,
        failures=services.login_failures,
        denied=services.deny_lists,
        device_locks=services.device_locks,
    )


def browser_sign_in(services: Services, protocol: ProtocolServices) -> BrowserSignIn:
    """Return what signs users in on pages."""
    devices, joining = services.device_authorizations, SessionJoining(protocol.sessions)
    return BrowserSignIn(
        protocol.sign_in_engine,
        Purposes(
            endpoint=AuthorizationEndpoint(protocol.checks),
            completion=SignInCompletion(protocol.sessions, protocol.encryption),
            user_codes=UserCodes(devices, protocol.checks),
            approvals=DeviceApprovals(joining, devices),
            console=ConsoleClients(services.directory),
            joining=joining,
        ),
        services.directory,
        protocol.consents,
        protocol.sessions,
    )


def sign_in_handlers(
    services: Services, protocol: ProtocolServices, pages: Pages
) -> SignInEndpoints:
    """Return what answers the URLs of sign-ins."""
    endpoint = AuthorizationEndpoint(protocol.checks)
    user_codes = UserCodes(services.device_authorizations, protocol.checks)
    sign_in = browser_sign_in(services, protocol)
    cookies = browser_cookies(services, protocol)
    shown = PageReplies(pages)
    replies = OutcomeReplies(shown, cookies, protocol.encryption)
    return SignInEndpoints(
        authorization=AuthorizationHandler(endpoint, sign_in, cookies, replies),
        actions=LoginActions(sign_in, services.authentication_sessions, cookies, replies),
        links=ActionTokenPages(_links(services, protocol, sign_in), cookies, replies, shown),
        devices=DevicePages(user_codes, sign_in, cookies, replies, shown),
        pages=shown,
    )


def _links(
    services: Services, protocol: ProtocolServices, sign_in: BrowserSignIn
) -> ActionTokenEndpoint:
    updates = AccountUpdates(services.database, services.invalidation, services.clock)
    return ActionTokenEndpoint(
        action_token_handlers(sign_in, updates, protocol.sessions, services.database),
        services.directory,
        protocol.validity,
        services.one_time_marks,
        services.authentication_sessions,
    )


def logout_handlers(services: Services, protocol: ProtocolServices, pages: Pages) -> LogoutHandlers:
    """Return what answers the URLs of logouts."""
    logout = BrowserLogout(services.directory, protocol.sessions)
    shown, cookies = PageReplies(pages), browser_cookies(services, protocol)
    return LogoutHandlers(
        protocol=protocol,
        of_browsers=BrowserLogoutHandler(logout, cookies, shown, services.secrets),
        pages=shown,
    )


def browser_cookies(services: Services, protocol: ProtocolServices) -> BrowserCookies:
    """Return what reads and writes the cookies of sign-ins."""
    return BrowserCookies(services.secrets, IdentityVerification(protocol.validity))


def own_pages(
    designs: Designs, texts: RealmTexts, accounts: AccountLinks, public_url: str
) -> Pages:
    """Return what shows pages at the gateway's own URLs."""
    urls = ResourceUrls.below(public_url, designs.version)
    return Pages(PageRenderer(designs, urls), texts, accounts)


def site_pages(designs: Designs, texts: RealmTexts, accounts: AccountLinks) -> Pages:
    """Return what shows pages at protected sites."""
    urls = ResourceUrls.at_sites(designs.version)
    return Pages(PageRenderer(designs, urls), texts, accounts)
