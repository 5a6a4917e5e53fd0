"""Security keys and passkeys: their responses, and the rules that verify them."""

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
    key_digest,
)
