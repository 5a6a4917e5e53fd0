"""JWTs by which clients authenticate: private_key_jwt and client_secret_jwt."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from gateway.client_policies import VerifiedClientAssertion
from gateway.domain.clients import Client
from gateway.domain.clock import CLOCK_LEEWAY
from gateway.domain.errors import InvalidToken
from gateway.domain.events import EventError
from gateway.domain.keys import SecretAlgorithm, SignatureAlgorithm
from gateway.domain.ports.client_keys import (
    ClientSignatures,
    NoUsableKey,
    UnverifiedClaims,
    VerifiedClaims,
)
from gateway.domain.ports.credentials import OneTimeMarks
from gateway.protocol.client_authentication.method import (
    BasicCredentials,
    ClientAuthenticationMethod,
    ClientProof,
)
from gateway.protocol.errors import ClientAuthenticationFailed, EventFailure, OAuthError
from gateway.protocol.requests import ProtocolRequest

ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_AUDIENCES: Final = ("", "/token", "/token/introspect", "/ext/par/request", "/ext/ciba/auth")
"""Paths below the protocol's; the first, empty, is the issuer. Keycloak: 1.2 (`client-jwt`)."""


@dataclass(frozen=True, slots=True)
class _AcceptedAssertion(VerifiedClientAssertion):
    """Created by `accept_assertion` alone."""


def asserted_client_id(signatures: ClientSignatures, request: ProtocolRequest) -> str | None:
    """Return the client that an assertion names, for a request that names none elsewhere."""
    token = request.parameters.raw("client_assertion")
    if token is None or request.parameters.raw("client_assertion_type") != ASSERTION_TYPE:
        return None
    return _subject(parse_assertion(signatures, token))


def required_assertion(request: ProtocolRequest) -> str:
    """Return the assertion of the request; raises OAuthError where it has none."""
    kind, token = (
        request.parameters.raw(name) for name in ("client_assertion_type", "client_assertion")
    )
    if kind is None:
        raise refused_assertion("Parameter client_assertion_type is missing")
    if kind != ASSERTION_TYPE:
        raise refused_assertion(
            f"Parameter client_assertion_type has value '{kind}' but expected is '{ASSERTION_TYPE}'"
        )
    if token is None:
        raise refused_assertion("client_assertion parameter missing")
    return token


def parse_assertion(signatures: ClientSignatures, token: str) -> UnverifiedClaims:
    """Return what an assertion says, without verifying it; raises OAuthError for no JWT."""
    try:
        return signatures.read_claims(token)
    except InvalidToken as error:
        text = "Client authentication with signed JWT failed: Failed to parse JWT"
        raise refused_assertion(text, reason=str(error)) from error


def check_assertion_issuer(client: Client, assertion: UnverifiedClaims) -> None:
    """Check that the client speaks of itself. Spec: RFC 7523 §3, numbers 1 and 2."""
    if _subject(assertion) != client.client_id:
        raise refused_assertion("client_id parameter does not match sub claim")
    if assertion.claims.get("iss") != client.client_id:
        raise ClientAuthenticationFailed(reason="the assertion was issued by another one")


def check_assertion_header(
    client: Client, assertion: UnverifiedClaims, accepted: tuple[str, ...]
) -> None:
    """Check type and algorithm before the signature. attacks C13, C15.

    Request objects pass through browsers and do not authenticate. Spec: RFC 9101 §10.8, RFC 8725
    §3.11
    """
    if assertion.header_type.lower().removeprefix("application/") == "oauth-authz-req+jwt":
        raise refused_assertion("Invalid token type", reason="it is a request object")
    if assertion.algorithm not in accepted or client.assertions.algorithm not in {
        "",
        assertion.algorithm,
    }:
        raise refused_assertion("Invalid signature algorithm", reason=assertion.algorithm)


async def accept_assertion(
    client: Client, request: ProtocolRequest, signed: VerifiedClaims, marks: OneTimeMarks
) -> VerifiedClientAssertion:
    """Return the assertion after checks of audience, times and single use; raises OAuthError.

    Its signature was verified before. Spec: RFC 7523 §3, OpenID Connect Core §9; Keycloak:
    JWTClientValidator (26.7); attacks C12
    """
    claims = signed.claims
    _check_audience(request.issuer, claims.get("aud"))
    remaining = _check_times(client.assertions.longest, request.now, claims)
    token_id = claims.get("jti")
    if not isinstance(token_id, str) or not token_id:
        raise refused_assertion("Token jti claim is required")
    digest = hashlib.sha256(token_id.encode("utf-8", "surrogatepass")).hexdigest()
    name = f"assertion:{client.id}:{digest}"
    # Clocks of gateways differ: the mark lasts longer than the assertion anywhere.
    if not await marks.claim(client.realm_id, name, remaining + 2 * CLOCK_LEEWAY):
        raise refused_assertion("Token reuse detected")
    return _AcceptedAssertion(signed.algorithm, claims)


def refused_assertion(text: str, *, error: str = "invalid_client", reason: str = "") -> OAuthError:
    """Return the refusal. Keycloak answers 400, not 401. Keycloak: JWTClientValidator."""
    failure = EventFailure(EventError.INVALID_CLIENT_CREDENTIALS)
    return OAuthError(error, text, reason=reason or text, event=failure)


def _subject(assertion: UnverifiedClaims) -> str:
    subject = assertion.claims.get("sub")
    if not isinstance(subject, str) or not subject:
        raise refused_assertion("Token sub claim is required")
    return subject


def _check_audience(issuer: str, audience: object) -> None:
    """Check that this realm is the one audience. Spec: RFC 7523 §3, number 3."""
    named = audience if isinstance(audience, list) else [audience]
    protocol = f"{issuer}/protocol/openid-connect"
    expected = {f"{protocol}{path}" if path else issuer for path in _AUDIENCES}
    if not any(isinstance(each, str) and each in expected for each in named):
        raise refused_assertion("Invalid token audience")
    if len(named) > 1:
        raise refused_assertion("Multiple audiences not allowed")


def _check_times(longest: timedelta, now: datetime, claims: Mapping[str, Any]) -> timedelta:
    """Return for how long the assertion is accepted. Spec: RFC 7523 §3, numbers 4 to 6."""
    expires, issued, begins = (_seconds(claims, name) for name in ("exp", "iat", "nbf"))
    current, leeway = now.timestamp(), CLOCK_LEEWAY.total_seconds()
    most = longest.total_seconds()
    if expires is None:
        raise refused_assertion("Token exp claim is required")
    if current - leeway >= expires or (begins is not None and begins > current + leeway):
        raise refused_assertion("Token is not active")
    remaining = expires - current
    if issued is None:
        if remaining > most:
            raise refused_assertion(
                "Token expiration is too far in the future and iat claim not present in token"
            )
        return timedelta(seconds=max(remaining, 0))
    if issued - leeway > current:
        raise refused_assertion("Token was issued in the future")
    if remaining <= 0:
        raise refused_assertion("Token is not active")
    if current > issued + most:
        raise refused_assertion("Token was issued too far in the past to be used now")
    return timedelta(seconds=min(remaining, most))


def _seconds(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e12:  # noqa: PLR2004
        raise refused_assertion("Token is not active", reason=f"{name} is no time")
    return float(value)


class PrivateKeyJwt(ClientAuthenticationMethod):
    """Signed by a registered key. Spec: RFC 7523 §2.2; Keycloak: 1.2 (`client-jwt`)."""

    authenticator: ClassVar = "client-jwt"
    names: ClassVar = ("private_key_jwt",)
    algorithms: ClassVar = tuple(SignatureAlgorithm)

    async def authenticate(
        self, client: Client, request: ProtocolRequest, credentials: BasicCredentials | None
    ) -> ClientProof:
        signatures = self._services.signatures
        token = required_assertion(request)
        said = parse_assertion(signatures, token)
        check_assertion_issuer(client, said)
        check_assertion_header(client, said, self.algorithms)
        try:
            signed = await signatures.verify_claims(client, token)
        except NoUsableKey as error:
            raise refused_assertion("Unable to load public key", reason=str(error)) from error
        except InvalidToken as error:
            text = (
                "Client authentication with signed JWT failed:"
                " Signature on JWT token failed validation"
            )
            raise refused_assertion(text, reason=str(error)) from error
        assertion = await accept_assertion(client, request, signed, self._services.marks)
        return ClientProof(request.certificate, assertion=assertion)


class ClientSecretJwt(ClientAuthenticationMethod):
    """The client knows its secret and does not send it.

    A rotated secret is accepted until it expires. Spec: RFC 7523 §2.2, OpenID Connect Core §9;
    Keycloak: `client-secret-jwt`
    """

    authenticator: ClassVar = "client-secret-jwt"
    names: ClassVar = ("client_secret_jwt",)
    algorithms: ClassVar = tuple(SecretAlgorithm)

    async def authenticate(
        self, client: Client, request: ProtocolRequest, credentials: BasicCredentials | None
    ) -> ClientProof:
        token = required_assertion(request)
        said = parse_assertion(self._services.signatures, token)
        check_assertion_issuer(client, said)
        check_assertion_header(client, said, self.algorithms)
        if client.secret is None or client.secret_settings.has_expired(request.now):
            raise ClientAuthenticationFailed(reason="the client has no secret that is valid now")
        signed = await self._verified(client, token, request.now)
        marks = self._services.marks
        assertion = await accept_assertion(client, request, signed, marks)
        return ClientProof(request.certificate, assertion=assertion)

    async def _verified(self, client: Client, token: str, now: datetime) -> VerifiedClaims:
        reason = ""
        for holder in _with_each_secret(client, now):
            try:
                return await self._services.signatures.verify_claims(holder, token)
            except InvalidToken as error:
                reason = str(error)
        text = (
            "Client authentication with client secret signed JWT failed:"
            " Signature on JWT token by client secret  failed validation"
        )
        raise refused_assertion(text, error="unauthorized_client", reason=reason)


def _with_each_secret(client: Client, now: datetime) -> Iterator[Client]:
    yield client
    if client.rotated_secret is not None and client.secret_settings.accepts_rotated(now):
        yield replace(client, secret=client.rotated_secret)
