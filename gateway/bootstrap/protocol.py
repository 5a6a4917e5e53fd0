"""Builds what answers requests of OAuth 2.0 and OpenID Connect."""

from gateway.authentication.brute_force_guard import BruteForceGuard
from gateway.authentication.new_passwords import PasswordChanges
from gateway.authentication.one_time_password import OneTimePasswordCheck
from gateway.authentication.removal import AccountRemoval
from gateway.authentication.sign_in_engine import sign_in_engine
from gateway.authentication.validity import Validity
from gateway.authentication.web_authn import DECOYS, KeyDecoys
from gateway.bootstrap.accounts import new_passwords
from gateway.bootstrap.services import Services
from gateway.certificates import CertificateTrust
from gateway.domain.ports.metrics import Metrics
from gateway.http.routes import ProtocolEndpoints
from gateway.protocol.authorization import CheckServices, PushedRequestEndpoint
from gateway.protocol.client_authentication import (
    CertificateOwners,
    ClientAuthenticator,
    ProofServices,
)
from gateway.protocol.device_authorization import DeviceAuthorizationEndpoint
from gateway.protocol.devices import Devices
from gateway.protocol.grant_services import GrantServices
from gateway.protocol.introspection import IntrospectionEndpoint
from gateway.protocol.revocation import RevocationEndpoint
from gateway.protocol.sender_constraint import SenderConstraint
from gateway.protocol.sessions import Sessions
from gateway.protocol.sign_in_results.consents import Consents
from gateway.protocol.token_endpoint import TokenEndpoint
from gateway.protocol.tokens import AccessTokens, RefreshTokens
from gateway.protocol.userinfo import UserinfoEndpoint


def grant_services(
    services: Services, metrics: Metrics, public_url: str, certificates: CertificateTrust
) -> GrantServices:
    """Return what the grants share."""
    directory, database = services.directory, services.database
    guard = BruteForceGuard(services.login_failures, metrics)
    codes = OneTimePasswordCheck(services.one_time_passwords, database)
    sessions = Sessions(services.online_sessions, database)
    current = validity(services)
    return GrantServices(
        directory=directory,
        database=database,
        sessions=sessions,
        validity=current,
        sign_in_engine=sign_in_engine(
            database=database,
            directory=directory,
            hasher=services.passwords,
            guard=guard,
            codes=codes,
            sessions=services.online_sessions,
            invalidation=services.invalidation,
            new_passwords=PasswordChanges(new_passwords(services), services.passwords),
            limiter=services.rate_limiter,
            marks=services.one_time_marks,
            removal=AccountRemoval(services.online_sessions, services.login_failures),
            web_authn=services.web_authn,
            public_url=public_url,
            clock=services.clock,
            decoys=KeyDecoys(services.secrets.derive_key(DECOYS)),
        ),
        refresh_tokens=RefreshTokens(database, sessions, current),
        authorization_codes=services.authorization_codes,
        device_authorizations=services.device_authorizations,
        consents=Consents(database),
        encryption=services.client_encryption,
        constraint=sender_constraint(services, certificates),
        access_tokens=AccessTokens(directory, database, current),
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


def devices(services: Services) -> Devices:
    """Return what refuses devices of clients."""
    return Devices(services.device_locks, services.rate_limiter)


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


def check_services(services: Services) -> CheckServices:
    """Return what the checks of authorization requests look things up in."""
    return CheckServices(
        directory=services.directory,
        pushed_requests=services.pushed_requests,
        signatures=services.client_signatures,
        documents=services.documents,
    )


def protocol_endpoints(
    grants: GrantServices,
    clients: ClientAuthenticator,
    checks: CheckServices,
    devices: Devices,
) -> ProtocolEndpoints:
    """Return the endpoints of a realm that take parameters."""
    access_tokens = grants.access_tokens
    return ProtocolEndpoints(
        token=TokenEndpoint(grants, clients, devices),
        introspection=IntrospectionEndpoint(
            clients, access_tokens, grants.refresh_tokens, grants.constraint
        ),
        revocation=RevocationEndpoint(grants, clients, access_tokens, grants.constraint),
        userinfo=UserinfoEndpoint(access_tokens, grants.constraint, grants.encryption),
        pushed_requests=PushedRequestEndpoint(clients, checks, grants.constraint),
        devices=DeviceAuthorizationEndpoint(clients, grants.device_authorizations, checks),
    )
