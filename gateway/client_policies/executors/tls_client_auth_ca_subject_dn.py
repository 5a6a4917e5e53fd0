"""tls-client-auth-ca-subject-dn: the authority that certificates of clients must come from."""

from dataclasses import dataclass
from typing import ClassVar, Self

from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import ClientChange, ClientRequest
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.refusal import (
    INVALID_REQUEST,
    InvalidConfiguration,
    PolicyRefusal,
)
from gateway.client_policies.settings import NOTHING, ClientSettings
from gateway.domain.clients import CERTIFICATE_AUTHENTICATOR, Client
from gateway.domain.distinguished_names import parse_distinguished_name
from gateway.domain.errors import RealmgateError


@dataclass(frozen=True, slots=True)
class TlsClientAuthCaSubjectDn(Executor):
    """Sets the authority where a client names none; `enforced` refuses another one.

    A certificate that authenticates a client is judged too: a client of before names none. Keycloak
    judges clients alone, when they are created or changed.
    """

    provider: ClassVar = "tls-client-auth-ca-subject-dn"
    authority: str = ""
    enforced: bool = False

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        authority = configuration.text("ca-subject-dn")
        if not _is_name(authority):
            raise InvalidConfiguration("ca-subject-dn is no distinguished name")
        return cls(authority, configuration.flag("enforced"))

    def configure(self, change: ClientChange) -> ClientSettings:
        client = change.proposed
        if not _authenticates(client) or client.certificate_authentication.authority:
            return NOTHING
        return ClientSettings(attributes={"x509.casubjectdn": self.authority})

    def check_change(self, change: ClientChange) -> None:
        if not self.enforced:
            return
        client = change.proposed
        if _authenticates(client) and not _is_same(
            client.certificate_authentication.authority, self.authority
        ):
            raise self._refusal()

    def check_request(self, request: ClientRequest) -> None:
        own = request.client.certificate_authentication.authority
        if request.certificate is None or (own and not self.enforced):
            return
        problem = request.certificate.certificate.authority_problem(self.authority)
        if request.certificate.is_registered or problem is not None:
            raise self._refusal()

    def _refusal(self) -> PolicyRefusal:
        text = f"Certificate Authority subject DN must be {self.authority}"
        return PolicyRefusal(INVALID_REQUEST, text)


def _authenticates(client: Client) -> bool:
    return client.client_authenticator_type == CERTIFICATE_AUTHENTICATOR


def _is_name(text: str) -> bool:
    return _is_same(text, text)


def _is_same(one: str, other: str) -> bool:
    try:
        return bool(one) and parse_distinguished_name(one) == parse_distinguished_name(other)
    except (ValueError, RealmgateError):
        return False
