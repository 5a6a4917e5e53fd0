"""For which pages keys are: the domain and the origins of a realm's policy.

Keycloak: WebAuthnRegister, WebAuthnAuthenticator (26.7); Spec: WebAuthn Level 3 §7.1
"""

import secrets
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from gateway.authentication.engine.sign_in import SignIn
from gateway.domain import base64url
from gateway.domain.realm import PasskeyPolicy, WebAuthnPolicy
from gateway.domain.web_authn import decode

_CHALLENGE: Final = "webauthn-challenge"
"""The note with the challenge of the page that was shown."""
_CHALLENGE_BYTES: Final = 32
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """The gateway as browsers know it, by its public URL."""

    public_url: str

    def id(self, policy: WebAuthnPolicy | PasskeyPolicy) -> str:
        """Return the domain of new keys."""
        return policy.rp_id or urlsplit(self.public_url).hostname or ""

    def origins(self, policy: WebAuthnPolicy | PasskeyPolicy) -> frozenset[str]:
        """Return where the pages may stand."""
        return frozenset((self._origin(), *policy.extra_origins))

    def _origin(self) -> str:
        """Return the origin as browsers write it: lower case, without the usual port."""
        parts = urlsplit(self.public_url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        is_usual = parts.port in {None, _PORTS.get(parts.scheme)}
        return f"{parts.scheme}://{host}" + ("" if is_usual else f":{parts.port}")


def new_challenge(sign_in: SignIn) -> str:
    """Return a challenge of 256 bits, which the sign-in remembers until a form is sent."""
    challenge = base64url.encode(secrets.token_bytes(_CHALLENGE_BYTES))
    sign_in.note(_CHALLENGE, challenge)
    return challenge


def take_challenge(sign_in: SignIn) -> bytes | None:
    """Return the challenge of the page that was shown, once."""
    challenge = sign_in.notes.get(_CHALLENGE)
    sign_in.note(_CHALLENGE, None)
    return None if challenge is None else decode(challenge)
