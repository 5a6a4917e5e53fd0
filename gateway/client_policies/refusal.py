"""A refusal by a client policy. Keycloak: client policies (26.7)."""

from http import HTTPStatus
from typing import Final

from gateway.domain.errors import RealmgateError

INVALID_REQUEST: Final = "invalid_request"
INVALID_METADATA: Final = "invalid_client_metadata"
INVALID_REGISTRATION: Final = "invalid_registration"


class PolicyRefusal(RealmgateError):
    """`error` is the code for the caller, `text` its public description."""

    def __init__(self, error: str, text: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(f"{error}: {text}")
        self.error = error
        self.text = text
        self.status = status


class InvalidConfiguration(RealmgateError):
    """The configuration of a condition or executor cannot be used; `str()` says why."""
