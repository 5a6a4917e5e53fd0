"""What security keys and passkeys of a realm must be. Keycloak: WebAuthnPolicy (26.7).

Spec: WebAuthn Level 3 §5.4
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

NOT_SPECIFIED: Final = "not specified"
"""Keycloak's word for an option that browsers are not given."""
_REQUIRED: Final = "required"
_NONE: Final = frozenset({None, NOT_SPECIFIED, "none"})


@dataclass(frozen=True, slots=True)
class WebAuthnPolicy:
    """`webAuthnPolicy*`: security keys, a second factor."""

    entity_name: str | None = "keycloak"
    """`RpEntityName`: the name that authenticators show."""
    signature_algorithms: tuple[str, ...] = ("ES256", "RS256")
    """`SignatureAlgorithms`: of new keys, the preferred first."""
    rp_id: str | None = ""
    """`RpId`: the domain that keys are for; empty: the host of the public URL."""
    attestation: str | None = NOT_SPECIFIED
    """`AttestationConveyancePreference`: `none`, `indirect` or `direct`."""
    attachment: str | None = NOT_SPECIFIED
    """`AuthenticatorAttachment`: `platform` or `cross-platform`."""
    require_resident_key: str | None = NOT_SPECIFIED
    """`RequireResidentKey`: `Yes` or `No`; counts where `resident_key` is not set."""
    resident_key: str | None = NOT_SPECIFIED
    """`ResidentKey`: `required`, `preferred` or `discouraged`."""
    user_verification: str | None = NOT_SPECIFIED
    """`UserVerificationRequirement`: `required`, `preferred` or `discouraged`."""
    create_timeout: timedelta = timedelta()
    """`CreateTimeout`: how long browsers wait for the user; seconds, 0 is their own limit."""
    avoid_same_authenticator: bool = False
    """`AvoidSameAuthenticatorRegister`: an authenticator holds one key of a user."""
    acceptable_aaguids: tuple[str, ...] = ()
    """`AcceptableAaguids`: the models of authenticators; none given means all."""
    extra_origins: tuple[str, ...] = ()
    """`ExtraOrigins`: where pages may stand beside the public URL, such as native applications."""

    @property
    def requires_verification(self) -> bool:
        """Whether the authenticator must verify its user, by a PIN or a fingerprint."""
        return self.user_verification == _REQUIRED

    @property
    def requires_attestation(self) -> bool:
        """Whether an authenticator must say, with a signature, what it is."""
        return self.attestation not in _NONE


@dataclass(frozen=True, slots=True)
class PasskeyPolicy(WebAuthnPolicy):
    """`webAuthnPolicyPasswordless*`: passkeys, in place of a password."""

    resident_key: str | None = _REQUIRED
    user_verification: str | None = _REQUIRED
    passkeys_enabled: bool | None = None
    """`PasskeysEnabled`: pages that ask for a name or a password accept passkeys too."""
    mediation: str | None = None
    """`Mediation`: how these pages offer them; `conditional` (none given) is by autofill."""


def option(value: str | None) -> str | None:
    """Return an option as browsers are given it, None where nothing is specified."""
    return None if value in {None, "", NOT_SPECIFIED} else value
