"""Registration and authentication by fido2, with the checks that it does not make.

fido2 verifies the type, the challenge, the origin, the hash of the relying party, the flags of
presence and verification, and the signature. Spec: WebAuthn Level 3 §7.1, §7.2
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.x509 import DuplicateExtension, ExtensionNotFound, InvalidVersion
from fido2 import cbor
from fido2.attestation import Attestation, AttestationType, verify_x509_chain
from fido2.attestation.base import InvalidAttestation
from fido2.cose import RS256, CoseKey
from fido2.server import Fido2Server
from fido2.utils import websafe_encode
from fido2.webauthn import (
    Aaguid,
    AttestationConveyancePreference,
    AttestationObject,
    AttestedCredentialData,
    AuthenticationResponse,
    AuthenticatorAssertionResponse,
    AuthenticatorAttestationResponse,
    AuthenticatorData,
    CollectedClientData,
    PublicKeyCredentialRpEntity,
    UserVerificationRequirement,
)
from fido2.webauthn import RegistrationResponse as Fido2Registration

from gateway.domain.web_authn import (
    AssertionResponse,
    CeremonyRules,
    RegistrationResponse,
    RegistrationRules,
    VerifiedKey,
    WebAuthnRejected,
)

_UNVERIFIED: Final = (
    *(ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError),
    *(RecursionError, AssertionError, NotImplementedError, struct.error, InvalidAttestation),
    *(InvalidSignature, UnsupportedAlgorithm),
    *(DuplicateExtension, ExtensionNotFound, InvalidVersion),
)
"""Errors of fido2 for a wrong or unreadable response."""
_LONGEST_ID: Final = 1023
"""Bytes of a credential id. Spec: WebAuthn Level 3 §7.1"""
_LONGEST_RESPONSE: Final = 16 * 1024
_LEAST_MODULUS: Final = 256
"""Bytes of the modulus of an RSA key: 2048 bits."""
_RSA: Final = 3
_KIND, _ALGORITHM, _MODULUS = 1, 3, -1
"""Labels of COSE. Spec: RFC 9052 §7.1, RFC 8230 §4"""


class Rs384(RS256):
    """RSA with SHA-384, which fido2 lacks. Spec: RFC 8812 §2."""

    ALGORITHM = -258
    _HASH_ALG = hashes.SHA384()  # type: ignore[assignment]


class Rs512(RS256):
    """RSA with SHA-512, which fido2 lacks. Spec: RFC 8812 §2."""

    ALGORITHM = -259
    _HASH_ALG = hashes.SHA512()  # type: ignore[assignment]


def register(
    response: RegistrationResponse, rules: RegistrationRules, algorithms: tuple[int, ...]
) -> VerifiedKey:
    """Return the new key; raises WebAuthnRejected. `algorithms` are those of COSE."""

    def verify_attestation(attested: AttestationObject, client_data_hash: bytes) -> None:
        _verify_attestation(attested, client_data_hash, rules)

    with _rejecting():
        _require_size(response.client_data, response.attestation_object)
        client_data = _client_data(response.client_data)
        attested = AttestationObject(response.attestation_object)
        server = Fido2Server(
            _relying_party(rules),
            # Whatever the policy asks for: fido2 verifies no statement of others.
            attestation=AttestationConveyancePreference.DIRECT,
            verify_origin=lambda origin: origin in rules.origins,
            verify_attestation=verify_attestation,
        )
        made = AuthenticatorAttestationResponse(
            client_data=client_data, attestation_object=attested
        )
        registration = Fido2Registration(raw_id=b"", response=made)
        data = server.register_complete(_state(rules), registration)
        return _verified_key(data, attested.fmt, rules, algorithms)


def verify_assertion(response: AssertionResponse, rules: CeremonyRules, public_key: bytes) -> int:
    """Return the signature counter; raises WebAuthnRejected."""
    with _rejecting():
        _require_size(response.client_data, response.authenticator_data, response.signature)
        server = Fido2Server(
            _relying_party(rules), verify_origin=lambda origin: origin in rules.origins
        )
        data = AuthenticatorData(response.authenticator_data)
        _require_backup_flags(data)
        key: Any = cbor.decode(public_key)
        known = AttestedCredentialData.create(
            Aaguid.NONE, response.credential_id, CoseKey.parse(key)
        )
        asserted = AuthenticatorAssertionResponse(
            client_data=_client_data(response.client_data),
            authenticator_data=data,
            signature=response.signature,
        )
        authentication = AuthenticationResponse(raw_id=response.credential_id, response=asserted)
        server.authenticate_complete(_state(rules), [known], authentication)
        return data.counter


@contextmanager
def _rejecting() -> Iterator[None]:
    try:
        yield
    except _UNVERIFIED as error:
        raise WebAuthnRejected(str(error) or type(error).__name__) from error


def _require_size(*parts: bytes) -> None:
    if any(len(part) > _LONGEST_RESPONSE for part in parts):
        raise WebAuthnRejected("The response is too large.")


def _client_data(given: bytes) -> CollectedClientData:
    client_data = CollectedClientData(given)
    if client_data.cross_origin is not False:
        raise WebAuthnRejected("The page is in a frame of another origin.")
    return client_data


def _relying_party(rules: CeremonyRules) -> PublicKeyCredentialRpEntity:
    return PublicKeyCredentialRpEntity(name=rules.rp_id, id=rules.rp_id)


def _state(rules: CeremonyRules) -> dict[str, object]:
    required = UserVerificationRequirement.REQUIRED if rules.requires_verification else None
    return {"challenge": websafe_encode(rules.challenge), "user_verification": required}


def _require_backup_flags(data: AuthenticatorData) -> None:
    """Refuse a key that is backed up and cannot be. Spec: WebAuthn Level 3 §6.1."""
    if data.is_backed_up() and not data.is_backup_eligible():
        raise WebAuthnRejected("The flags of backup contradict each other.")


def _verify_attestation(
    attested: AttestationObject, client_data_hash: bytes, rules: RegistrationRules
) -> None:
    """Verify the statement of any format. Its root is not looked up, as in Keycloak without one."""
    statement: Attestation = Attestation.for_type(attested.fmt)()
    found = statement.verify(attested.att_stmt, attested.auth_data, client_data_hash)
    anonymous = found.attestation_type is AttestationType.NONE
    if anonymous and rules.requires_attestation:
        raise WebAuthnRejected("The policy requires an attestation.")
    if rules.acceptable_aaguids and (anonymous or found.attestation_type is AttestationType.SELF):
        raise WebAuthnRejected("Acceptable models require the attestation of their maker.")
    if found.trust_path:
        verify_x509_chain(found.trust_path)


def _verified_key(
    data: AuthenticatorData,
    attestation_format: str,
    rules: RegistrationRules,
    algorithms: tuple[int, ...],
) -> VerifiedKey:
    _require_backup_flags(data)
    made = data.credential_data
    if made is None or not 0 < len(made.credential_id) <= _LONGEST_ID:
        raise WebAuthnRejected("The id of the credential is empty or too long.")
    key = made.public_key
    if key.get(_ALGORITHM) not in algorithms:
        raise WebAuthnRejected("The algorithm of the key is not allowed.")
    _require_usable(key)
    aaguid = str(made.aaguid)
    accepted = {model.lower() for model in rules.acceptable_aaguids}
    if accepted and aaguid not in accepted:
        raise WebAuthnRejected("Not acceptable authenticator model (based on the AAGUID).")
    return VerifiedKey(
        made.credential_id, cbor.encode(key), aaguid, data.counter, attestation_format
    )


def _require_usable(key: CoseKey) -> None:
    """Refuse a key that no signature could be verified with, or a short one."""
    if key[_KIND] == _RSA and len(key[_MODULUS].lstrip(b"\0")) < _LEAST_MODULUS:
        raise WebAuthnRejected("The key has less than 2048 bits.")
    try:
        key.verify(b"", b"")
    except InvalidSignature:
        return
