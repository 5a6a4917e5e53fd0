"""A client certificate as the edge hands it to the rules: parsed once, judged once.

Spec: RFC 8705 §2, §3; RFC 5280 §4.1, §6.1
"""

from dataclasses import dataclass, field
from enum import StrEnum

from gateway.domain.distinguished_names import DistinguishedName


class Standing(StrEnum):
    """What a presented certificate may be used for."""

    TRUSTED = "trusted"
    """The proxy says SUCCESS and our own checks agree: it may identify a client."""
    UNTRUSTED = "untrusted"
    """Possession of the key is proved, the issuer is unknown: it may bind a token, no more."""
    REFUSED = "refused"
    """Expired, revoked, wrong purpose, weak or malformed: as if none had been sent."""


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """The certificate of the TLS client, with its standing.

    `thumbprint` is base64url(SHA-256(DER)) without padding, the value of `x5t#S256`.
    `reason` says why the standing is not TRUSTED; it is for logs and operators.
    """

    thumbprint: str
    standing: Standing
    subject: DistinguishedName
    serial: int
    issuer: DistinguishedName
    reason: str | None = None
    der: bytes = field(default=b"", repr=False)

    @property
    def identifies(self) -> bool:
        """Tell whether it may authenticate a client or a user."""
        return self.standing is Standing.TRUSTED

    @property
    def binds(self) -> bool:
        """Tell whether a token may be bound to it."""
        return self.standing is not Standing.REFUSED
