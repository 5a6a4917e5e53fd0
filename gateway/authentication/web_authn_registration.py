"""The registration of a new key: the options of the page, and the check of the response.

Keycloak: WebAuthnRegister (26.7); Spec: WebAuthn Level 3 §7.1
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from gateway.authentication.accounts import Account
from gateway.authentication.engine.sign_in import Form, SignInAttempt
from gateway.authentication.web_authn import (
    KeyCredentials,
    RelyingParty,
    new_challenge,
    new_key_credential,
    take_challenge,
)
from gateway.domain import base64url
from gateway.domain.ports.credentials import WebAuthn
from gateway.domain.realm import PasskeyPolicy, WebAuthnPolicy, option
from gateway.domain.users import Credential
from gateway.domain.web_authn import (
    RegistrationRequest,
    RegistrationResponse,
    RegistrationRules,
    VerifiedKey,
    WebAuthnRejected,
    decode,
)

_TRANSPORTS: Final = frozenset({"usb", "nfc", "ble", "smart-card", "hybrid", "internal"})
"""Spec: WebAuthn Level 3 §5.8.4"""
_ATTACHMENT: Final = "authenticatorAttachment"
_LONGEST_LABEL: Final = 255
_YES: Final = "Yes"


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was verified, and the credential to store."""

    key: VerifiedKey
    credential: Credential = field(repr=False)


class KeyRegistration:
    """Registers keys of one type."""

    def __init__(self, web_authn: WebAuthn, party: RelyingParty, keys: KeyCredentials) -> None:
        self._web_authn = web_authn
        self._party = party
        self.keys = keys

    def request(self, sign_in: SignInAttempt, account: Account) -> RegistrationRequest:
        """Return the options for the browser; `account` has its credentials."""
        policy, user = self.keys.policy(sign_in.realm), sign_in.user
        held = self.keys.of(account) if policy.avoid_same_authenticator else ()
        return RegistrationRequest(
            challenge=new_challenge(sign_in),
            rp_id=self._party.id(policy),
            rp_name=policy.entity_name or sign_in.realm.name,
            user_id=base64url.encode(user.id.encode()),
            username=user.username,
            algorithms=self._web_authn.algorithms(policy.signature_algorithms),
            timeout=int(policy.create_timeout.total_seconds()),
            attestation=option(policy.attestation),
            attachment=option(policy.attachment),
            resident_key=_resident_key(policy),
            user_verification=option(policy.user_verification),
            excluded=tuple(base64url.encode(key.id) for key in held),
        )

    def verified(self, sign_in: SignInAttempt, account: Account, form: Form) -> NewKey:
        """Return the key that was submitted; raises WebAuthnRejected."""
        challenge = take_challenge(sign_in)
        if challenge is None:
            raise WebAuthnRejected("The challenge was used before.")
        policy = self.keys.policy(sign_in.realm)
        key = self._web_authn.register(_response(form), self._rules(policy, challenge))
        _require_attachment(policy, form.get(_ATTACHMENT, ""))
        if any(key.credential_id == held.id for held in self.keys.of(account)):
            raise WebAuthnRejected("The key is registered already.")
        label = form.get("authenticatorLabel", "").strip()[:_LONGEST_LABEL]
        credential = new_key_credential(
            self.keys.type,
            sign_in.user.id,
            key,
            label=label or None,
            transports=_transports(form.get("transports", "")),
            held=account.credentials or (),
            now=sign_in.now,
        )
        return NewKey(key, credential)

    def _rules(self, policy: WebAuthnPolicy | PasskeyPolicy, challenge: bytes) -> RegistrationRules:
        return RegistrationRules(
            rp_id=self._party.id(policy),
            origins=self._party.origins(policy),
            challenge=challenge,
            requires_verification=policy.requires_verification,
            algorithms=policy.signature_algorithms,
            requires_attestation=policy.requires_attestation,
            acceptable_aaguids=policy.acceptable_aaguids,
        )


def _resident_key(policy: WebAuthnPolicy | PasskeyPolicy) -> str | None:
    """Return whether the key is to name its user; None leaves it to the browser."""
    required = option(policy.require_resident_key)
    older = None if required is None else "required" if required == _YES else "discouraged"
    return option(policy.resident_key) or older


def _response(form: Form) -> RegistrationResponse:
    try:
        return RegistrationResponse(
            decode(form.get("clientDataJSON", "")), decode(form.get("attestationObject", ""))
        )
    except ValueError as error:
        raise WebAuthnRejected("The response is not Base64url.") from error


def _require_attachment(policy: WebAuthnPolicy | PasskeyPolicy, reported: str) -> None:
    """Require the attachment of the policy; the report of the browser is not signed."""
    wanted = option(policy.attachment)
    if wanted is not None and reported != wanted:
        raise WebAuthnRejected(f"The policy requires an authenticator of the kind {wanted}.")


def _transports(reported: str) -> Sequence[str]:
    return sorted(_TRANSPORTS.intersection(reported.split(",")))
