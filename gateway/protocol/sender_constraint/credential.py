"""The access token in an Authorization header. Spec: RFC 6750 §2.1, RFC 9449 §7.1."""

from dataclasses import dataclass, field
from typing import Final

from gateway.domain.dpop_proofs import TokenScheme

_SCHEMES: Final = {scheme.lower(): scheme for scheme in TokenScheme}
_PARTS: Final = 2


@dataclass(frozen=True, slots=True)
class TokenCredential:
    """An access token, and the scheme under which it was presented; nothing is verified."""

    token: str = field(repr=False)
    scheme: TokenScheme = TokenScheme.BEARER


def token_credential(authorization: str | None) -> TokenCredential | None:
    """Return the token of the header; None without the header and for another scheme."""
    parts = (authorization or "").split()
    scheme = _SCHEMES.get(parts[0].lower()) if len(parts) == _PARTS else None
    return None if scheme is None else TokenCredential(parts[1], scheme)
