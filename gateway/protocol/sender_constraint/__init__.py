"""The one rule about tokens that only their sender may use, by certificate or by DPoP key.

A token says in `cnf` what it is bound to: `x5t#S256` to a TLS client certificate, `jkt` to the key
of DPoP proofs, both where both were asked for. Everything that accepts a token asks here, whether
the token is the credential of the request or one of its parameters.
Spec: RFC 8705 §3, RFC 9449 §5 to §7, RFC 7800 §3.1; Keycloak: 2.5 proofs of possession
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gateway.certificates import CertificateTrust, evaluate_for_client
from gateway.domain.certificates import ClientCertificate
from gateway.domain.clients import Client
from gateway.domain.events import Detail, EventError
from gateway.domain.ports.client_keys import InvalidProof, TokenScheme
from gateway.protocol.errors import OAuthError, ProofRefused, refused
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sender_constraint.certificates import (
    THUMBPRINT,
    RenewedCertificates,
    bound_certificate,
    certificate_identity_claims,
    presents_certificate,
    renewal_claim,
    require_bound,
    require_certificate,
    thumbprint_to_bind,
)
from gateway.protocol.sender_constraint.dpop_proofs import (
    MISSING_PROOF,
    NonceRequired,
    ProofChecks,
    current_nonce,
)

_SCHEMES: Final = {scheme.lower(): scheme for scheme in TokenScheme}
_PARTS: Final = 2


@dataclass(frozen=True, slots=True)
class TokenCredential:
    """An unverified access token and its scheme. Spec: RFC 6750 §2.1, RFC 9449 §7.1."""

    token: str = field(repr=False)
    scheme: TokenScheme = TokenScheme.BEARER


def token_credential(authorization: str | None) -> TokenCredential | None:
    """Return the token of the header; None without the header and for another scheme."""
    parts = (authorization or "").split()
    scheme = _SCHEMES.get(parts[0].lower()) if len(parts) == _PARTS else None
    return None if scheme is None else TokenCredential(parts[1], scheme)


KEY: Final = "jkt"
INVALID_TOKEN: Final = "invalid_token"  # noqa: S105 - an error code
INVALID_PROOF: Final = "invalid_dpop_proof"
USE_NONCE: Final = "use_dpop_nonce"
"""Error codes. Spec: RFC 6750 §3.1, RFC 9449 §12.2"""


class SenderConstraint:
    """Requires of requests what the tokens in them are bound to."""

    def __init__(
        self,
        proofs: ProofChecks,
        trust: CertificateTrust,
        renewed: RenewedCertificates | None = None,
    ) -> None:
        """Without `renewed` a token is used with its own certificate alone."""
        self._proofs = proofs
        self._trust = trust
        self._renewed = renewed

    async def with_proved_key(
        self, request: ProtocolRequest, client: Client, *, required: bool = True
    ) -> ProtocolRequest:
        """Return a token or code request with the key that its proof proves.

        A sent proof must be right; `required` demands one where the client has DPoP-bound tokens.
        Raises OAuthError or StoreUnavailable.
        """
        if request.proof.text is None and not (required and client.tokens.dpop_bound):
            return request
        try:
            key = await self._proofs.check_proof(request.realm, request.proof, request.now)
        except NonceRequired as error:
            # Not recorded: it is the first half of every conversation with nonces.
            raise OAuthError(USE_NONCE, str(error), nonce=error.nonce) from error
        except InvalidProof as error:
            text = str(error)
            # Keycloak answers `invalid_request` to wrong proofs too. Spec: RFC 9449 §5
            code = "invalid_request" if request.proof.text is None else INVALID_PROOF
            raise refused(code, text, EventError.INVALID_DPOP_PROOF) from error
        return replace(request, proof_key=key)

    async def require(
        self,
        request: ProtocolRequest,
        client: Client,
        claims: Mapping[str, Any],
        credential: TokenCredential,
    ) -> None:
        """Require the binding of an access token that is the credential of the request.

        `claims` are verified, `client` is that of the token. Raises OAuthError, ProofRefused among
        it, or StoreUnavailable.
        """
        require_bound(client, claims)
        key = await self._required_key(request, client, claims)
        is_proved = credential.scheme is TokenScheme.DPOP
        if key is None:
            if is_proved:
                raise _mismatch(
                    "The access token type is not DPoP but Authorization Header is DPoP"
                )
            if client.tokens.dpop_bound:
                raise _mismatch(
                    "This client requires DPoP, but no DPoP Authorization header is present"
                )
            return
        if not is_proved:
            raise _mismatch("The access token type is DPoP but Authorization Header is not DPoP")
        _require_key(key, await self._proved_key(request, credential.token))

    async def require_of_refreshed(
        self, request: ProtocolRequest, client: Client, claims: Mapping[str, Any]
    ) -> None:
        """Require a binding of a refresh token, also an older one; raises as `require`."""
        require_bound(client, claims)
        await self.require_of_parameter(request, client, claims)

    async def require_of_parameter(
        self, request: ProtocolRequest, client: Client, claims: Mapping[str, Any]
    ) -> None:
        """Require the binding of a token that its client sends as a parameter.

        An authenticated client may omit the DPoP proof; a sent proof must be right. Raises as
        `require`.
        """
        key = await self._required_key(request, client, claims)
        if key is None:
            return
        proved = request.proof_key
        if proved is None and (request.proof.text is not None or client.public_client):
            proved = await self._proved_key(request)
        if proved is not None:
            _require_key(key, proved)

    async def require_of_exchanged(
        self, request: ProtocolRequest, client: Client, claims: Mapping[str, Any]
    ) -> None:
        """Require the binding of an exchanged token, DPoP included; raises as `require`."""
        key = await self._required_key(request, client, claims)
        if key is None:
            return
        if request.proof_key is None:
            raise ProofRefused(INVALID_PROOF, MISSING_PROOF)
        _require_key(key, request.proof_key)

    async def _required_key(
        self, request: ProtocolRequest, client: Client, claims: Mapping[str, Any]
    ) -> str | None:
        """Return the key to prove, if any; checks the certificate by the client's anchors.

        A binding of an unknown kind is refused. Raises OAuthError and StoreUnavailable.
        """
        confirmation = claims.get("cnf")
        if confirmation is None:
            return None
        bound = confirmation if isinstance(confirmation, dict) else {}
        key = bound.get(KEY)
        if THUMBPRINT in bound or key is None:
            await self._require_certificate(request, client, claims, bound.get(THUMBPRINT))
        return None if key is None else str(key)

    async def _require_certificate(
        self,
        request: ProtocolRequest,
        client: Client,
        claims: Mapping[str, Any],
        expected: object,
    ) -> None:
        certificate = await self._certificate(request, client)
        if (
            self._renewed is not None
            and certificate is not None
            and isinstance(expected, str)
            and certificate.thumbprint != expected
            and await self._renewed.accepts(request, certificate, client, claims, expected)
        ):
            request.event.details[Detail.CERTIFICATE_RENEWED_FROM] = expected
            return
        require_certificate(expected, certificate)

    async def _certificate(
        self, request: ProtocolRequest, client: Client
    ) -> ClientCertificate | None:
        if request.certificate is None:
            return None
        realm, now = request.realm.realm, request.now
        return await evaluate_for_client(self._trust, request.certificate, realm, client.id, now)

    async def _proved_key(self, request: ProtocolRequest, access_token: str | None = None) -> str:
        try:
            return await self._proofs.check_proof(
                request.realm, request.proof, request.now, access_token
            )
        except NonceRequired as error:
            raise ProofRefused(USE_NONCE, str(error), nonce=error.nonce) from error
        except InvalidProof as error:
            raise ProofRefused(INVALID_PROOF, str(error)) from error


def confirmation_claim(
    client: Client, certificate: ClientCertificate | None, proof_key: str | None
) -> Mapping[str, str] | None:
    """Return `cnf` for a new access token or None; raises OAuthError without a demanded proof."""
    found: dict[str, str] = {}
    if client.tokens.certificate_bound:
        found[THUMBPRINT] = thumbprint_to_bind(certificate)
    if proof_key is not None:
        found[KEY] = proof_key
    elif client.tokens.dpop_bound:
        raise refused("invalid_request", MISSING_PROOF, EventError.INVALID_DPOP_PROOF)
    return found or None


def binding_of(claims: Mapping[str, Any]) -> Mapping[str, str]:
    """Return what a verified token is bound to, as `cnf` of a token that takes its place."""
    found = claims.get("cnf")
    return {str(name): str(bound) for name, bound in found.items()} if found else {}


def proved_binding(
    binding: Mapping[str, str], certificate: ClientCertificate | None
) -> Mapping[str, str]:
    """Return the proved `cnf` for a replacing token, with the present certificate."""
    if certificate is None or THUMBPRINT not in binding:
        return binding
    return {**binding, THUMBPRINT: certificate.thumbprint}


def certificate_claims(
    request: ProtocolRequest, client: Client, confirmation: Mapping[str, str] | None
) -> Mapping[str, Any]:
    """Return the claims about the certificate of a token with this `cnf`, except for `cnf`."""
    found = certificate_identity_claims(request.certificate, confirmation)
    renewal = renewal_claim(request, client, confirmation)
    return {**found, **renewal} if renewal else found


def refresh_confirmation(
    client: Client, confirmation: Mapping[str, str] | None
) -> Mapping[str, str] | None:
    """Return `cnf` for a refresh token, without the key for confidential clients. RFC 9449 §5."""
    if confirmation is None or client.public_client:
        return confirmation
    return {name: bound for name, bound in confirmation.items() if name != KEY} or None


def require_key_of_code(expected: str | None, proof_key: str | None) -> None:
    """Raise OAuthError unless the code is redeemed with its key. Spec: RFC 9449 §10."""
    if expected is None:
        return
    if proof_key is None:
        raise _refused_code("DPoP Proof missing")
    if not secrets.compare_digest(proof_key.encode(), expected.encode()):
        raise _refused_code("DPoP Proof public key thumbprint does not match dpop_jkt")


def _require_key(expected: str, proved: str) -> None:
    if not secrets.compare_digest(proved.encode(), expected.encode()):
        raise _mismatch("DPoP confirmation doesn't match DPoP proof")


def _mismatch(text: str) -> ProofRefused:
    return ProofRefused(INVALID_TOKEN, text)


def _refused_code(text: str) -> OAuthError:
    return refused("invalid_request", text, EventError.INVALID_REQUEST)
