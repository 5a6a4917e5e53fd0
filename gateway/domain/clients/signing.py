"""How tokens and responses for a client are signed. Keycloak: client attributes, fine grain."""

from collections.abc import Iterator
from dataclasses import dataclass

from gateway.domain.keys import KeyAlgorithm, SecretAlgorithm, SignatureAlgorithm

ChosenAlgorithm = KeyAlgorithm | str | None
"""What a client chose: None is the realm's default, a plain str one that nothing signs with."""


@dataclass(frozen=True, slots=True)
class ClientSigning:
    """The client's own choices. Spec: OpenID Connect Registration §2, RFC 9068 §2.1."""

    access_token: ChosenAlgorithm = None
    """`access.token.signed.response.alg`"""
    id_token: ChosenAlgorithm = None
    """`id.token.signed.response.alg`"""
    userinfo: ChosenAlgorithm = None
    """`user.info.response.signature.alg`: None answers with plain JSON."""
    rfc9068_header: bool = False
    """`access.token.header.type.rfc9068`: the header's `typ` of access tokens is at+jwt."""
    introspection_jwt: bool = False
    """`client.introspection.response.allow.jwt.claim.enabled`: it may ask for the member `jwt`."""

    def algorithms(self) -> Iterator[KeyAlgorithm]:
        """Yield the algorithms that the realm needs keys for."""
        for chosen in (self.access_token, self.id_token, self.userinfo):
            if isinstance(chosen, SignatureAlgorithm | SecretAlgorithm):
                yield chosen
