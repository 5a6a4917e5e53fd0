"""The events that client policies judge, the verified values in them, and the refusal.

Changes of clients and requests of clients are events. A policy never reads a credential from the
parameters of a request, because a sender can write anything there: a verified value is created by
the function that verified it. Only one module may define the class that creates a kind of value,
and it creates the value after its checks; an instance of the kind itself cannot be created.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from http import HTTPStatus
from typing import Any, ClassVar, Final, Self

from gateway.domain.certificates import ClientCertificate
from gateway.domain.clients import Client
from gateway.domain.errors import RealmgateError
from gateway.domain.roles import EffectiveRoles

INVALID_REQUEST: Final = "invalid_request"
INVALID_METADATA: Final = "invalid_client_metadata"
INVALID_REGISTRATION: Final = "invalid_registration"


class PolicyRefusal(RealmgateError):
    """`error` is the code for the caller, `text` its public description."""

    def __init__(self, error: str, text: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(f"{error}: {text}")
        self.error = error
        self.text = text
        self.status = status


class InvalidConfiguration(RealmgateError):
    """The configuration of a condition or executor cannot be used; `str()` says why."""


class _Verified:
    """The base of each kind. `verifier` is the module that verifies values of the kind."""

    __slots__ = ()
    verifier: ClassVar[str] = ""

    def __init_subclass__(cls, verifier: str = "") -> None:
        super().__init_subclass__()
        if verifier:
            cls.verifier = verifier
        elif cls.__module__ not in {cls.verifier, __name__}:
            raise TypeError(f"only {cls.verifier} may define a {cls.__name__}")

    def __new__(cls, *_: Any, **__: Any) -> Self:
        if cls.__module__ != cls.verifier:
            raise TypeError(f"only {cls.verifier} creates a {cls.__name__}")
        return super().__new__(cls)


@dataclass(frozen=True, slots=True)
class VerifiedClientAssertion(
    _Verified, verifier="gateway.protocol.client_authentication.client_assertions"
):
    """The JWT that authenticated the client: its signature holds, and it is used once."""

    algorithm: str
    """Of its signature, as the client's key confirmed it; never `none`."""
    claims: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class VerifiedClientCertificate(
    _Verified, verifier="gateway.protocol.client_authentication.certificates"
):
    """The certificate that authenticated the client, as it counts for it."""

    certificate: ClientCertificate
    is_registered: bool
    """It is itself registered for the client, and leads to no authority."""


@dataclass(frozen=True, slots=True)
class VerifiedRequestObject(_Verified, verifier="gateway.protocol.authorization.request_object"):
    """A request object that the client signed, for this realm and valid now."""

    algorithm: str
    """Of its signature, as the client's key confirmed it; never `none`."""
    claims: Mapping[str, Any] = field(repr=False)
    is_encrypted: bool = False


@dataclass(frozen=True, slots=True)
class VerifiedCodeVerifier(_Verified, verifier="gateway.protocol.authorization.pkce"):
    """A PKCE verifier that fits the challenge of its authorization request."""

    method: str
    """That of the challenge: `S256` or `plain`."""


class EventKind(StrEnum):
    """Events of a client, by Keycloak's names."""

    REGISTER = "REGISTER"
    """A client is about to be created."""
    UPDATE = "UPDATE"
    """A client is about to be changed."""
    UPDATED = "UPDATED"
    """A client was created or changed: its secret may be renewed."""
    VIEW = "VIEW"
    UNREGISTER = "UNREGISTER"
    PRE_AUTHORIZATION_REQUEST = "PRE_AUTHORIZATION_REQUEST"
    AUTHORIZATION_REQUEST = "AUTHORIZATION_REQUEST"
    PUSHED_AUTHORIZATION_REQUEST = "PUSHED_AUTHORIZATION_REQUEST"
    TOKEN_REQUEST = "TOKEN_REQUEST"  # noqa: S105 - an event
    """With an authorization code."""
    TOKEN_REFRESH = "TOKEN_REFRESH"  # noqa: S105
    TOKEN_REVOKE = "TOKEN_REVOKE"  # noqa: S105
    TOKEN_INTROSPECT = "TOKEN_INTROSPECT"  # noqa: S105
    SERVICE_ACCOUNT_TOKEN_REQUEST = "SERVICE_ACCOUNT_TOKEN_REQUEST"  # noqa: S105
    RESOURCE_OWNER_PASSWORD_CREDENTIALS_REQUEST = "RESOURCE_OWNER_PASSWORD_CREDENTIALS_REQUEST"  # noqa: S105
    DEVICE_AUTHORIZATION_REQUEST = "DEVICE_AUTHORIZATION_REQUEST"
    DEVICE_TOKEN_REQUEST = "DEVICE_TOKEN_REQUEST"  # noqa: S105
    TOKEN_EXCHANGE_REQUEST = "TOKEN_EXCHANGE_REQUEST"  # noqa: S105
    USERINFO_REQUEST = "USERINFO_REQUEST"
    LOGOUT_REQUEST = "LOGOUT_REQUEST"
    IMPLICIT_HYBRID_TOKEN_RESPONSE = "IMPLICIT_HYBRID_TOKEN_RESPONSE"  # noqa: S105
    """Tokens are about to be issued by the authorization endpoint."""


CHANGES = frozenset({EventKind.REGISTER, EventKind.UPDATE, EventKind.UPDATED})
"""Events of a client that is created or changed."""
TOKEN_REQUESTS = frozenset(
    {
        EventKind.TOKEN_REQUEST,
        EventKind.TOKEN_REFRESH,
        EventKind.SERVICE_ACCOUNT_TOKEN_REQUEST,
        EventKind.RESOURCE_OWNER_PASSWORD_CREDENTIALS_REQUEST,
        EventKind.DEVICE_TOKEN_REQUEST,
        EventKind.TOKEN_EXCHANGE_REQUEST,
    }
)
"""Requests to the token endpoint."""


class UpdateSource(StrEnum):
    """By what right a client is created or changed. Keycloak: client policies (26.7)."""

    ANONYMOUS = "ByAnonymous"
    INITIAL_TOKEN = "ByInitialAccessToken"  # noqa: S105 - a way
    REGISTRATION_TOKEN = "ByRegistrationAccessToken"  # noqa: S105
    USER = "ByAuthenticatedUser"


@dataclass(frozen=True, slots=True)
class Updater:
    """The creator or changer of a client; only users have `roles` and group paths."""

    source: UpdateSource = UpdateSource.USER
    address: str | None = None
    roles: EffectiveRoles = field(default_factory=EffectiveRoles)
    groups: tuple[str, ...] = ()


Addresses = Callable[[Client], Mapping[str, Sequence[str]]]
"""Returns the addresses of a client by their names in Keycloak."""


def no_addresses(client: Client) -> Mapping[str, Sequence[str]]:
    """Return none, for a change that no executor judges by them."""
    del client
    return {}


@dataclass(frozen=True, slots=True)
class ClientChange:
    """A client is created, changed, viewed or removed; `client` is stored, None for a new client.

    `is_registration`: by the registration endpoint, also for changes, not by the admin API.
    """

    kind: EventKind
    client: Client | None
    proposed: Client
    addresses: Addresses = no_addresses
    updater: Updater = field(default_factory=Updater)
    is_registration: bool = False
    names_authenticator: bool = True
    """The request names how the client authenticates."""
    own_roles: frozenset[str] | None = None
    """The roles of the stored client; None: not known, so that nothing is judged by them."""


@dataclass(frozen=True, slots=True)
class AuthorizationStart:
    """An unverified authorization request, with the `redirect_uri` that would be used.

    `sent` are the parameters of the request itself, `pushed` those of the pushed request that it
    uses, None without.
    """

    client: Client
    sent: Mapping[str, str] = field(repr=False)
    pushed: Mapping[str, str] | None = field(repr=False)
    redirect_uri: str | None
    own_roles: frozenset[str] = frozenset()
    kind: EventKind = EventKind.PRE_AUTHORIZATION_REQUEST


@dataclass(frozen=True, slots=True)
class AuthorizationRequested:
    """An authorization request that passed all other checks, at its own endpoint or when pushed.

    `parameters` are the effective ones, `sent` those of the request itself. Neither proves
    anything. `base_url` is the gateway's own address.
    """

    client: Client
    now: datetime
    parameters: Mapping[str, str] = field(repr=False)
    sent: Mapping[str, str] = field(repr=False)
    response_type: frozenset[str]
    redirect_uri: str | None
    base_url: str = ""
    realm_algorithm: str = ""
    """Signs the tokens of clients that name no algorithm."""
    request_object: VerifiedRequestObject | None = field(default=None, repr=False)
    """None also for a request object without a signature."""
    is_push: bool = False
    """The request is pushed now."""
    was_pushed: bool = False
    """The parameters are those of a pushed request that is used now."""
    was_signed: bool = False
    """A pushed request that is used came in a request object that was verified and judged."""
    scopes: frozenset[str] = frozenset()
    """The client scopes that tokens would have."""
    own_roles: frozenset[str] = frozenset()
    acr_values: frozenset[str] = frozenset()
    """The classes of authentication that are asked for, or those of the client by default."""
    kind: EventKind = EventKind.AUTHORIZATION_REQUEST


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """A client calls an endpoint itself, or logs a browser out.

    `assertion` or `certificate` authenticated it. `presented` are the verified claims of the token
    that the request is about, `scopes` the scopes that its tokens would have, None without any.
    """

    kind: EventKind
    client: Client
    issuer: str = ""
    base_url: str = ""
    """The gateway's own address."""
    realm_algorithm: str = ""
    """Signs the tokens of clients that name no algorithm."""
    certificate: VerifiedClientCertificate | None = None
    assertion: VerifiedClientAssertion | None = field(default=None, repr=False)
    code_verifier: VerifiedCodeVerifier | None = None
    presented: Mapping[str, Any] | None = field(default=None, repr=False)
    scopes: frozenset[str] | None = None
    authenticates: bool = True
    """False where the client sends a token, or a browser, and does not prove who it is."""
    own_roles: frozenset[str] = frozenset()
    redirect_uri: str | None = None
    """The client's address that a browser opens after its logout."""


PolicyEvent = ClientChange | AuthorizationStart | AuthorizationRequested | ClientRequest
