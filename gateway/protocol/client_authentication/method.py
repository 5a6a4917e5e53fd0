"""The interface of client authentication methods, and the methods that send a client secret."""

import base64
import binascii
import re
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, Final
from urllib.parse import unquote_plus

from gateway.authentication.validity import Validity
from gateway.certificates import CertificateTrust
from gateway.client_policies import VerifiedClientAssertion, VerifiedClientCertificate
from gateway.domain.certificates import ClientCertificate
from gateway.domain.clients import Client
from gateway.domain.events import EventError
from gateway.domain.ports.client_keys import ClientSignatures, RegisteredCertificates
from gateway.domain.ports.credentials import OneTimeMarks
from gateway.protocol.errors import ClientAuthenticationFailed, EventFailure, OAuthError
from gateway.protocol.requests import ProtocolRequest

_BAD_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class BasicCredentials:
    """The credentials of a Basic header. Spec: RFC 6749 §2.3.1, RFC 7617 §2; Keycloak 26.7."""

    client_id: str
    secret: str = field(repr=False)


def read_basic_credentials(header: str) -> BasicCredentials | None:
    """Return the header's credentials, None if unreadable; raises OAuthError for bad encoding."""
    text = _decode_basic(header)
    if text is None:
        return None
    client_id, colon, secret = text.partition(":")
    if not colon:
        return None
    return BasicCredentials(_form_decoded(client_id), _form_decoded(secret))


def _decode_basic(header: str) -> str | None:
    scheme, encoded = (*header.split(None, 1), "", "")[:2]
    if scheme.lower() != "basic":
        return None
    unpadded = encoded.rstrip("=")
    try:
        padded = unpadded + "=" * (-len(unpadded) % 4)
        return base64.b64decode(padded, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None


def _form_decoded(half: str) -> str:
    if not _BAD_ESCAPE.search(half):
        with suppress(UnicodeDecodeError):
            return unquote_plus(half, errors="strict")
    raise OAuthError(
        "unauthorized_client",
        "Unexpected error when authenticating client",
        reason="the Basic credentials are not form-encoded",
        event=EventFailure(EventError.INVALID_CLIENT_CREDENTIALS),
    )


@dataclass(frozen=True, slots=True)
class ProofServices:
    """The services that methods verify proofs with."""

    signatures: ClientSignatures
    certificates: RegisteredCertificates
    marks: OneTimeMarks
    validity: Validity
    trust: CertificateTrust


@dataclass(frozen=True, slots=True)
class ClientProof:
    """The result of a proof; `certificate` is that of the request, as it counts for the client.

    The verified credential is the authenticating one; a secret has none.
    """

    certificate: ClientCertificate | None = None
    assertion: VerifiedClientAssertion | None = field(default=None, repr=False)
    verified_certificate: VerifiedClientCertificate | None = None


class ClientAuthenticationMethod(ABC):
    """A proof by which a confidential client authenticates."""

    authenticator: ClassVar[str]
    """Keycloak's id of the authenticator, the value of `clientAuthenticatorType`."""
    names: ClassVar[tuple[str, ...]]
    """The method's names in discovery. Spec: RFC 8414 §2, IANA OAuth parameters."""

    algorithms: ClassVar[tuple[str, ...]] = ()
    """The signatures that the method accepts, where it reads a JWT."""

    def __init__(self, services: ProofServices) -> None:
        self._services = services

    @abstractmethod
    async def authenticate(
        self, client: Client, request: ProtocolRequest, credentials: BasicCredentials | None
    ) -> ClientProof:
        """Verify by the header's `credentials`; raises ClientAuthenticationFailed."""


_BASIC: Final = "client_secret_basic"
_POST: Final = "client_secret_post"


class ClientSecret(ClientAuthenticationMethod):
    """The client sends its secret; the form wins over the header.

    Spec: RFC 6749 §2.3.1; RFC 7591 §2 (token_endpoint_auth_method); Keycloak: `client-secret`
    """

    authenticator: ClassVar = "client-secret"
    names: ClassVar = (_BASIC, _POST)

    async def authenticate(
        self, client: Client, request: ProtocolRequest, credentials: BasicCredentials | None
    ) -> ClientProof:
        given, used = request.parameters.raw("client_secret"), _POST
        if given is None and credentials is not None:
            given, used = credentials.secret, _BASIC
        if given is None:
            raise ClientAuthenticationFailed(
                "unauthorized_client", reason="no client secret was sent"
            )
        allowed = client.secret_settings.allowed_method
        if allowed and allowed != used:
            raise ClientAuthenticationFailed(
                "unauthorized_client", reason=f"the client may use {allowed!r} only, not {used!r}"
            )
        refusal = _secret_refusal(client, given, request.now)
        if refusal is not None:
            raise ClientAuthenticationFailed("unauthorized_client", reason=refusal)
        return ClientProof(request.certificate)


def _secret_refusal(client: Client, given: str, now: datetime) -> str | None:
    """Return why `given` is neither the current nor the unexpired rotated secret; None if it is.

    Both are compared in constant time. Keycloak 26.7: `client-secret`; Spec: RFC 7591 §3.2.1
    """
    current = client.secret is not None and client.secret.matches(given)
    rotated = client.rotated_secret is not None and client.rotated_secret.matches(given)
    if not current and not (rotated and client.secret_settings.accepts_rotated(now)):
        return "the rotated client secret has expired" if rotated else "wrong client secret"
    return "the client secret has expired" if client.secret_settings.has_expired(now) else None
