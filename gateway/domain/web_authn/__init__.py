"""Security keys and passkeys: what they prove, and by which rules it is verified."""

from gateway.domain.web_authn.ceremonies import (
    PASSKEY,
    SECURITY_KEY,
    AssertionResponse,
    CeremonyRules,
    RegistrationResponse,
    RegistrationRules,
    VerifiedKey,
    WebAuthnRejected,
    decode,
    encode,
)
