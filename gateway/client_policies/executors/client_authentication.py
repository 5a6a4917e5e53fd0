"""Executors for the authentication of clients: methods, assertions, certificates, DPoP, secrets.

`gateway/admin/clients/preparation.py` rotates the secrets.
Spec: RFC 9449 §5 (DPoP), RFC 8705 §3 (certificates), FAPI 2.0 Security Profile §5.3.2.1 number 8
(the audience of assertions), §5.4.1 (signature algorithms)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from http import HTTPStatus
from typing import ClassVar, Final

from gateway.client_policies.events import (
    INVALID_METADATA,
    INVALID_REQUEST,
    TOKEN_REQUESTS,
    AuthorizationRequested,
    ClientChange,
    ClientRequest,
    EventKind,
    InvalidConfiguration,
    PolicyRefusal,
)
from gateway.client_policies.interfaces import (
    NOTHING,
    SECURE_ALGORITHMS,
    AutoConfigured,
    ClientSettings,
    Executor,
    PolicyConfiguration,
    flag_option,
    option,
    seconds_option,
    set_option,
)
from gateway.domain.clients import CERTIFICATE_AUTHENTICATOR, Client
from gateway.domain.distinguished_names import parse_distinguished_name
from gateway.domain.errors import RealmgateError

_KEY: Final = "dpop_jkt"
_REFRESH_TOKENS: Final = frozenset({"Refresh", "Offline"})
_BOUND_BY_DPOP: Final = frozenset({EventKind.TOKEN_REVOKE, EventKind.USERINFO_REQUEST})


@dataclass(frozen=True, slots=True)
class DpopBindEnforcer(AutoConfigured):
    """Demands tokens bound by DPoP, on issue and on use; the endpoints verify the proofs.

    `binds_codes`: authorization requests name the key that the code is for. Spec: RFC 9449 §5
    """

    provider: ClassVar = "dpop-bind-enforcer"
    binds_codes: bool = flag_option("enforce-authorization-code-binding-to-dpop")

    setting: ClassVar = ClientSettings(attributes={"dpop.bound.access.tokens": "true"})
    refusal: ClassVar = (INVALID_METADATA, "Invalid client metadata: DPoP token is disabled")

    def has_setting(self, client: Client) -> bool:
        return client.tokens.dpop_bound

    def check_authorization(self, request: AuthorizationRequested) -> None:
        if self.binds_codes and not request.parameters.get(_KEY):
            raise PolicyRefusal(INVALID_REQUEST, f"Missing parameter: {_KEY}")

    def check_request(self, request: ClientRequest) -> None:
        if request.kind not in _BOUND_BY_DPOP or request.presented is None:
            return
        if request.presented.get("typ") in _REFRESH_TOKENS and not request.client.public_client:
            # Bound to the client's authentication, not to a key. Spec: RFC 9449 §5
            return
        confirmation = request.presented.get("cnf")
        if not isinstance(confirmation, dict) or "jkt" not in confirmation:
            text = "DPoP proof and token binding verification failed"
            raise PolicyRefusal("invalid_token", text, HTTPStatus.UNAUTHORIZED)

    def client_for_tokens(self, client: Client, request: ClientRequest) -> Client:
        return replace(client, tokens=replace(client.tokens, dpop_bound=True))


_BOUND_BY_CERTIFICATE: Final = frozenset(
    {EventKind.TOKEN_REFRESH, EventKind.TOKEN_REVOKE, EventKind.USERINFO_REQUEST}
    | {EventKind.LOGOUT_REQUEST}
)
_UNBOUND: Final = "Client certificate missing, or its thumbprint and one in the token did NOT match"


@dataclass(frozen=True, slots=True)
class HolderOfKeyEnforcer(AutoConfigured):
    """Demands tokens bound to a certificate, on issue and on use. Spec: RFC 8705 §3."""

    provider: ClassVar = "holder-of-key-enforcer"
    setting: ClassVar = ClientSettings(
        attributes={"tls.client.certificate.bound.access.tokens": "true"}
    )
    refusal: ClassVar = (INVALID_METADATA, "Invalid client metadata: MTLS token in disabled")

    def has_setting(self, client: Client) -> bool:
        return client.tokens.certificate_bound

    def check_request(self, request: ClientRequest) -> None:
        if request.kind not in _BOUND_BY_CERTIFICATE or request.presented is None:
            return
        confirmation = request.presented.get("cnf")
        if not isinstance(confirmation, dict) or "x5t#S256" not in confirmation:
            raise _unbound(request.kind)

    def client_for_tokens(self, client: Client, request: ClientRequest) -> Client:
        return replace(client, tokens=replace(client.tokens, certificate_bound=True))


def _unbound(kind: EventKind) -> PolicyRefusal:
    if kind is EventKind.TOKEN_REFRESH:
        return PolicyRefusal("invalid_grant", _UNBOUND)
    # Of a challenge the codes are defined. Spec: RFC 6750 §3.1
    code = "invalid_token" if kind is EventKind.USERINFO_REQUEST else "not_allowed"
    return PolicyRefusal(code, _UNBOUND, HTTPStatus.UNAUTHORIZED)


_DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class SecretRotation(Executor):
    """Lifetimes of a secret and of the former one; it is renewed in the last `remaining` time."""

    provider: ClassVar = "secret-rotation"
    registration_only: ClassVar = (
        "As in Keycloak a secret gets its expiration with the next change of the client; requests"
        " with an expired secret are refused with or without a policy"
    )
    expiration: timedelta = seconds_option("expiration-period", 29 * _DAY)
    rotated: timedelta = seconds_option("rotated-expiration-period", 2 * _DAY)
    remaining: timedelta = seconds_option("remaining-rotation-period", 10 * _DAY)

    def __post_init__(self) -> None:
        if not self.expiration or max(self.rotated, self.remaining) > self.expiration:
            raise InvalidConfiguration("expiration-period must be the longest period")


@dataclass(frozen=True, slots=True)
class SecureClientAuthenticationAssertion(Executor):
    """Refuses endpoint addresses as the audience of the assertion that authenticated a client.

    Spec: FAPI 2.0 Security Profile §5.3.2.1, number 8
    """

    provider: ClassVar = "secure-client-authentication-assertion"

    def check_request(self, request: ClientRequest) -> None:
        if request.assertion is None:
            return
        if request.assertion.claims.get("aud") not in (request.issuer, [request.issuer]):
            raise PolicyRefusal(INVALID_REQUEST, "invalid audience in client assertion")


@dataclass(frozen=True, slots=True)
class SecureClientAuthenticator(Executor):
    """Accepts the `allowed` methods; a new client that names none gets the `default`.

    Public clients are left to `confidential-client`. Unlike Keycloak, it also judges pushed
    requests and those of service accounts and devices.
    """

    provider: ClassVar = "secure-client-authenticator"
    allowed: frozenset[str] = set_option("allowed-client-authenticators")
    default: str = option(lambda options: options.text("default-client-authenticator"), "")

    def configure(self, change: ClientChange) -> ClientSettings:
        if not self.default or change.names_authenticator:
            return NOTHING
        return ClientSettings({"clientAuthenticatorType": self.default})

    def check_change(self, change: ClientChange) -> None:
        if not self._accepts(change.proposed):
            text = "Invalid client metadata: token_endpoint_auth_method"
            raise PolicyRefusal(INVALID_METADATA, text)

    def check_request(self, request: ClientRequest) -> None:
        if request.authenticates and not self._accepts(request.client):
            text = "Configured client authentication method not allowed for client"
            raise PolicyRefusal(INVALID_REQUEST, text)

    def _accepts(self, client: Client) -> bool:
        return client.public_client or client.client_authenticator_type in self.allowed


_SIGNED: Final[Mapping[str, Callable[[Client], str | None]]] = {
    "user.info.response.signature.alg": lambda client: client.signing.userinfo,
    "request.object.signature.alg": lambda client: client.request_objects.algorithm,
    "id.token.signed.response.alg": lambda client: client.signing.id_token,
    "token.endpoint.auth.signing.alg": lambda client: client.assertions.algorithm,
}
_OF_USERINFO: Final = (None, *SECURE_ALGORITHMS)
"""None answers with JSON, without a signature."""
_BY_ADMINISTRATORS: Final[Mapping[str, Callable[[Client], str | None]]] = {
    "access.token.signed.response.alg": lambda client: client.signing.access_token
}
"""RFC 7591 has no member for it."""


def _default_algorithm(configuration: PolicyConfiguration) -> str:
    chosen = configuration.text("default-algorithm")
    return chosen if chosen in SECURE_ALGORITHMS else SECURE_ALGORITHMS[0]


@dataclass(frozen=True, slots=True)
class SecureSignatureAlgorithm(Executor):
    """Sets `default` where a client names no algorithm, and refuses all insecure ones.

    Unlike Keycloak, it judges requests too: signatures of the client, and the algorithm of its
    tokens or else the realm's. Spec: FAPI 2.0 Security Profile §5.4.1
    """

    provider: ClassVar = "secure-signature-algorithm"
    default: str = option(_default_algorithm, SECURE_ALGORITHMS[0])

    def configure(self, change: ClientChange) -> ClientSettings:
        chosen = _chosen(change)
        missing = [name for name, algorithm in chosen.items() if not algorithm]
        return ClientSettings(attributes=dict.fromkeys(missing, self.default))

    def check_change(self, change: ClientChange) -> None:
        if any(algorithm not in SECURE_ALGORITHMS for algorithm in _chosen(change).values()):
            raise _insecure()

    def check_authorization(self, request: AuthorizationRequested) -> None:
        _require_secure_tokens(request.client, request.realm_algorithm)
        signed = request.request_object
        if signed is not None and signed.algorithm not in SECURE_ALGORITHMS:
            raise _insecure()

    def check_request(self, request: ClientRequest) -> None:
        signed, signing = request.assertion, request.client.signing
        if signed is not None and signed.algorithm not in SECURE_ALGORITHMS:
            raise _insecure()
        if request.kind in TOKEN_REQUESTS:
            _require_secure_tokens(request.client, request.realm_algorithm)
        if request.kind is EventKind.USERINFO_REQUEST and signing.userinfo not in _OF_USERINFO:
            raise _insecure()


def _require_secure_tokens(client: Client, of_realm: str) -> None:
    """Refuse insecure token algorithms. RFC 7591 has no member for access tokens."""
    id_token, access_token = client.signing.id_token or of_realm, client.signing.access_token
    if id_token not in SECURE_ALGORITHMS or access_token not in (None, *SECURE_ALGORITHMS):
        raise _insecure()


def _insecure() -> PolicyRefusal:
    return PolicyRefusal(INVALID_REQUEST, "not allowed signature algorithm.")


def _chosen(change: ClientChange) -> dict[str, str | None]:
    readers = _SIGNED if change.is_registration else {**_SIGNED, **_BY_ADMINISTRATORS}
    return {name: read(change.proposed) for name, read in readers.items()}


@dataclass(frozen=True, slots=True)
class SecureSignatureAlgorithmSignedJwt(Executor):
    """Judges client assertions at all endpoints, unlike Keycloak; `required` demands one."""

    provider: ClassVar = "secure-signature-algorithm-signed-jwt"
    required: bool = flag_option("require-client-assertion")

    def check_request(self, request: ClientRequest) -> None:
        if request.assertion is None:
            if self.required and request.authenticates:
                raise PolicyRefusal(INVALID_REQUEST, "client assertion is required.")
            return
        if request.assertion.algorithm not in SECURE_ALGORITHMS:
            raise _insecure()


def _authority_name(configuration: PolicyConfiguration) -> str:
    authority = configuration.text("ca-subject-dn")
    if not _is_same(authority, authority):
        raise InvalidConfiguration("ca-subject-dn is no distinguished name")
    return authority


@dataclass(frozen=True, slots=True)
class TlsClientAuthCaSubjectDn(Executor):
    """Sets a missing authority; `enforced` refuses others, unlike Keycloak at requests too."""

    provider: ClassVar = "tls-client-auth-ca-subject-dn"
    authority: str = option(_authority_name, "")
    enforced: bool = flag_option("enforced")

    def configure(self, change: ClientChange) -> ClientSettings:
        client = change.proposed
        if not _authenticates(client) or client.certificate_authentication.authority:
            return NOTHING
        return ClientSettings(attributes={"x509.casubjectdn": self.authority})

    def check_change(self, change: ClientChange) -> None:
        client = change.proposed
        authority = client.certificate_authentication.authority
        if self.enforced and _authenticates(client) and not _is_same(authority, self.authority):
            raise self._refusal()

    def check_request(self, request: ClientRequest) -> None:
        own = request.client.certificate_authentication.authority
        if request.certificate is None or (own and not self.enforced):
            return
        problem = request.certificate.certificate.authority_problem(self.authority)
        if request.certificate.is_registered or problem is not None:
            raise self._refusal()

    def _refusal(self) -> PolicyRefusal:
        name = self.authority
        return PolicyRefusal(INVALID_REQUEST, f"Certificate Authority subject DN must be {name}")


def _authenticates(client: Client) -> bool:
    return client.client_authenticator_type == CERTIFICATE_AUTHENTICATOR


def _is_same(one: str, other: str) -> bool:
    try:
        return bool(one) and parse_distinguished_name(one) == parse_distinguished_name(other)
    except (ValueError, RealmgateError):
        return False
