"""Values that client policies may rely on: each is created by the function that verified it.

A policy never reads a credential from the parameters of a request: a sender can write anything
there. Of each kind of value one module alone may define the class that is created, and it creates
it after its checks; an instance of the kind itself cannot be created.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from gateway.domain.certificates import ClientCertificate


class _Verified:
    """The base of each kind. `verifier` is the module that verifies values of the kind."""

    __slots__ = ()
    verifier: ClassVar[str] = ""

    def __init_subclass__(cls, verifier: str = "") -> None:
        super().__init_subclass__()
        if verifier:
            cls.verifier = verifier
        elif cls.__module__ not in {cls.verifier, __name__}:
            raise TypeError(f"only {cls.verifier} may define a {cls.__name__}")

    def __new__(cls, *_: Any, **__: Any) -> Self:
        if cls.__module__ != cls.verifier:
            raise TypeError(f"only {cls.verifier} creates a {cls.__name__}")
        return super().__new__(cls)


@dataclass(frozen=True, slots=True)
class VerifiedClientAssertion(
    _Verified, verifier="gateway.protocol.client_authentication.client_assertion"
):
    """The JWT that authenticated the client: its signature holds, and it is used once."""

    algorithm: str
    """Of its signature, as the client's key confirmed it; never `none`."""
    claims: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class VerifiedClientCertificate(
    _Verified, verifier="gateway.protocol.client_authentication.tls_client_auth"
):
    """The certificate that authenticated the client, as it counts for it."""

    certificate: ClientCertificate
    is_registered: bool
    """It is itself registered for the client, and leads to no authority."""


@dataclass(frozen=True, slots=True)
class VerifiedRequestObject(
    _Verified, verifier="gateway.protocol.authorization.checks.request_object"
):
    """A request object that the client signed, for this realm and valid now."""

    algorithm: str
    """Of its signature, as the client's key confirmed it; never `none`."""
    claims: Mapping[str, Any] = field(repr=False)
    is_encrypted: bool = False


@dataclass(frozen=True, slots=True)
class VerifiedCodeVerifier(_Verified, verifier="gateway.protocol.authorization.code_verifier"):
    """A PKCE verifier that fits the challenge of its authorization request."""

    method: str
    """That of the challenge: `S256` or `plain`."""
