"""What a caller sent to identify itself, as the proxy reports it; nothing here is verified."""

from dataclasses import dataclass, field

from gateway.domain.certificates import CertificateEvidence
from gateway.domain.dpop_proofs import NO_PROOF, SentProof


@dataclass(frozen=True, slots=True)
class Evidence:
    """The credentials of one request.

    `authorization` is the header's value. `session_cookies` are the cookies with names of session
    cookies, in the order of the header. `secure` is TLS between caller and proxy.
    """

    remote_address: str
    secure: bool
    authorization: str | None = field(default=None, repr=False)
    session_cookies: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    certificate: CertificateEvidence | None = None
    proof: SentProof = NO_PROOF
    """The DPoP header, for the request to the site."""
    unremovable: tuple[str, ...] = ()
    """Names of headers by which a service could know its caller, see `caller_headers`."""
