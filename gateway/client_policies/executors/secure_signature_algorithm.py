"""secure-signature-algorithm: clients and their tokens are signed by PS256, ES256 or stronger.

Spec: FAPI 2.0 Security Profile §5.4.1
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import (
    TOKEN_REQUESTS,
    AuthorizationRequested,
    ClientChange,
    ClientRequest,
    EventKind,
)
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.executors.secure_algorithms import SECURE_ALGORITHMS
from gateway.client_policies.refusal import INVALID_REQUEST, PolicyRefusal
from gateway.client_policies.settings import ClientSettings
from gateway.domain.clients import Client

_SIGNED: Final[Mapping[str, Callable[[Client], str | None]]] = {
    "user.info.response.signature.alg": lambda client: client.signing.userinfo,
    "request.object.signature.alg": lambda client: client.request_objects.algorithm,
    "id.token.signed.response.alg": lambda client: client.signing.id_token,
    "token.endpoint.auth.signing.alg": lambda client: client.assertions.algorithm,
}
_OF_USERINFO: Final = (None, *SECURE_ALGORITHMS)
"""None answers with JSON, without a signature."""
_BY_ADMINISTRATORS: Final[Mapping[str, Callable[[Client], str | None]]] = {
    "access.token.signed.response.alg": lambda client: client.signing.access_token,
}
"""RFC 7591 has no member for it."""


@dataclass(frozen=True, slots=True)
class SecureSignatureAlgorithm(Executor):
    """Sets `default` where a client names no algorithm, and refuses others than the secure ones.

    It judges requests too: what a client signed, and what would sign its tokens. ID tokens of a
    client that names no algorithm are signed by that of the realm. A client of before is refused
    until it is updated, which sets `default`. Keycloak judges clients alone, when they are created
    or changed.
    """

    provider: ClassVar = "secure-signature-algorithm"
    default: str = SECURE_ALGORITHMS[0]

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        chosen = configuration.text("default-algorithm")
        return cls(chosen if chosen in SECURE_ALGORITHMS else SECURE_ALGORITHMS[0])

    def configure(self, change: ClientChange) -> ClientSettings:
        chosen = _chosen(change)
        missing = [name for name, algorithm in chosen.items() if not algorithm]
        return ClientSettings(attributes=dict.fromkeys(missing, self.default))

    def check_change(self, change: ClientChange) -> None:
        if any(algorithm not in SECURE_ALGORITHMS for algorithm in _chosen(change).values()):
            raise _insecure()

    def check_authorization(self, request: AuthorizationRequested) -> None:
        _require_secure_tokens(request.client, request.realm_algorithm)
        signed = request.request_object
        if signed is not None and signed.algorithm not in SECURE_ALGORITHMS:
            raise _insecure()

    def check_request(self, request: ClientRequest) -> None:
        signed, signing = request.assertion, request.client.signing
        if signed is not None and signed.algorithm not in SECURE_ALGORITHMS:
            raise _insecure()
        if request.kind in TOKEN_REQUESTS:
            _require_secure_tokens(request.client, request.realm_algorithm)
        if request.kind is EventKind.USERINFO_REQUEST and signing.userinfo not in _OF_USERINFO:
            raise _insecure()


def _require_secure_tokens(client: Client, of_realm: str) -> None:
    """Refuse a client whose tokens would be signed by another algorithm.

    A registered client names none for access tokens: for them it accepts what the realm signs with.
    """
    id_token, access_token = client.signing.id_token or of_realm, client.signing.access_token
    if id_token not in SECURE_ALGORITHMS or access_token not in (None, *SECURE_ALGORITHMS):
        raise _insecure()


def _insecure() -> PolicyRefusal:
    return PolicyRefusal(INVALID_REQUEST, "not allowed signature algorithm.")


def _chosen(change: ClientChange) -> dict[str, str | None]:
    """Return the algorithms of the client by the names of their attributes."""
    readers = _SIGNED if change.is_registration else {**_SIGNED, **_BY_ADMINISTRATORS}
    return {name: read(change.proposed) for name, read in readers.items()}
