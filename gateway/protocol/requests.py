"""A protocol request: its parameters, its page's origin, the realm's requirements, its event."""

import ipaddress
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Final

from gateway.authentication.engine import AccountChange
from gateway.domain.certificates import ClientCertificate
from gateway.domain.errors import RealmgateError
from gateway.domain.events import EventError, EventType
from gateway.domain.limits.caches import cached
from gateway.domain.ports.client_keys import NO_PROOF, SentProof
from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.realm import Realm, SslRequired
from gateway.protocol.errors import EventFailure, OAuthError


@dataclass(frozen=True, slots=True)
class Parameters:
    """The form of one request; empty values count as absent. Spec: RFC 6749 §3.1, §3.2.

    Repeated names are kept: which answer they get depends on the endpoint.
    """

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    repeated_names: frozenset[str] = frozenset()
    further: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """Of the names that came more than once, the values after the first."""

    @property
    def repeated(self) -> bool:
        """Whether any name came twice."""
        return bool(self.repeated_names)

    @classmethod
    def from_pairs(
        cls, pairs: Iterable[tuple[str, str]], also_sent: Iterable[str] = ()
    ) -> "Parameters":
        """Collect decoded pairs; `also_sent` are names seen elsewhere, such as in the query."""
        values: dict[str, str] = {}
        further: dict[str, tuple[str, ...]] = {}
        for name, value in pairs:
            if name in values:
                further[name] = (*further.get(name, ()), value)
            else:
                values[name] = value
        repeated = {*further, *(name for name in also_sent if name in values)}
        return cls(values, frozenset(repeated), further)

    def get(self, name: str) -> str | None:
        """Return the value, or None when it is absent or empty."""
        return self.values.get(name) or None

    def raw(self, name: str) -> str | None:
        """Return the value as sent, empty included."""
        return self.values.get(name)

    def all(self, name: str) -> tuple[str, ...]:
        """Return every value as sent, in order."""
        first = self.values.get(name)
        return () if first is None else (first, *self.further.get(name, ()))


class OriginRefused(RealmgateError):
    """The page is of an origin that the client does not list."""


@dataclass(slots=True, eq=False)
class SendingPage:
    """The page that sends the request, if it has an `origin`; `is_own`: of the gateway itself.

    `may_read`: the browser may pass the response on. Keycloak: 12.7 pages of other origins
    """

    origin: str | None = None
    is_own: bool = False
    may_read: bool = False

    def require(self, allowed: Collection[str] | None) -> None:
        """Let pages of the `allowed` origins read; raises OriginRefused unless it is our own."""
        if self.origin is None:
            return
        self.may_read = allowed is not None and ("*" in allowed or self.origin in allowed)
        if not self.may_read and not self.is_own:
            raise OriginRefused(f"the origin {self.origin[:200]!r} is not a web origin")

    def withhold(self) -> None:
        """Let no page read the response."""
        if self.origin is not None:
            self.may_read = False


NO_PAGE: Final = SendingPage()
"""The caller is no browser, or the endpoint is not for pages of other origins."""


@dataclass(slots=True)
class EventDraft:
    """Collects facts of one request's event, also for failures; without a `kind` there is none."""

    kind: EventType | None = None
    client_id: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    error: str | None = None
    """The faults of a request that is answered nevertheless."""
    details: dict[str, str] = field(default_factory=dict)
    changes: tuple[AccountChange, ...] = ()
    """The user's earlier changes of the account; each is an event of its own."""
    other_sessions: tuple[str, ...] = ()
    """Sessions to which the same happened: one event for each."""
    further: list[tuple[EventType, Mapping[str, str]]] = field(default_factory=list)
    """Further events of the same user from the same address."""

    def refuse(self, failure: EventFailure) -> None:
        """Note the error of a refusal, and the reason where it gives one."""
        if failure.reason is not None:
            self.details[failure.detail] = failure.reason
        self.error = failure.error

    def withdraw(self) -> None:
        """Record no event: nothing has happened."""
        self.kind = None


@dataclass(frozen=True, slots=True)
class ProtocolRequest:
    """One request to an endpoint of one realm.

    `remote_address` and `secure` are what the proxy reports; `certificate` is evaluated for the
    realm. `issuer` comes from the configured public URL. Keycloak: EventBuilder
    """

    realm: RealmEntry
    issuer: str
    parameters: Parameters
    authorization: str | None = field(repr=False)
    certificate: ClientCertificate | None
    remote_address: str
    secure: bool
    now: datetime
    user_agent: str = field(default="", repr=False)
    """The header of that name, empty without one."""
    proof: SentProof = NO_PROOF
    proof_key: str | None = None
    """Thumbprint of the key that `proof` was verified to prove; None before, and without one."""
    event: EventDraft = field(default_factory=EventDraft, repr=False, compare=False)
    page: SendingPage = field(default=NO_PAGE, repr=False, compare=False)


def require_https(realm: Realm, remote_address: str) -> None:
    """Raise OAuthError (403) where the realm requires TLS for a request in clear.

    Spec: 2.1 `ssl_required`; Keycloak: sslRequired, token endpoint, checks 1 and 2
    """
    if not transport_is_sufficient(realm.ssl_required, remote_address, secure=False):
        raise OAuthError(
            "invalid_request",
            "HTTPS required",
            status=HTTPStatus.FORBIDDEN,
            event=EventFailure(EventError.SSL_REQUIRED),
        )


def disabled_realm() -> OAuthError:
    """Return the refusal (403) of a request to a disabled realm."""
    return OAuthError(
        "access_denied",
        "Realm not enabled",
        status=HTTPStatus.FORBIDDEN,
        event=EventFailure(EventError.REALM_DISABLED),
    )


def transport_is_sufficient(required: SslRequired, remote_address: str, *, secure: bool) -> bool:
    """Return whether a request from that address may be answered."""
    if secure or required is SslRequired.NONE:
        return True
    return required is SslRequired.EXTERNAL and _is_local(remote_address)


@cached(256 * 1024)
def _is_local(remote_address: str) -> bool:
    try:
        address = ipaddress.ip_address(remote_address)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return any(
        address.version == network.version and address in network for network in _LOCAL_NETWORKS
    )


_LOCAL_NETWORKS = tuple(
    ipaddress.ip_network(network)
    for network in (
        "127.0.0.0/8",
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "169.254.0.0/16",
        "::1/128",
        "fe80::/10",
        "fec0::/10",
        "fc00::/7",
    )
)
"""Loopback, site-local, link-local and unique-local: what Keycloak calls not external."""
