"""reject-request: refuses everything, so that conditions decide what may be done at all."""

from dataclasses import dataclass
from typing import ClassVar

from gateway.client_policies.events import (
    AuthorizationRequested,
    AuthorizationStart,
    ClientChange,
    ClientRequest,
)
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.refusal import INVALID_REQUEST, PolicyRefusal


@dataclass(frozen=True, slots=True)
class RejectRequest(Executor):
    """Refuses each event."""

    provider: ClassVar = "reject-request"

    def check_change(self, change: ClientChange) -> None:
        del change
        raise _refusal()

    def check_access(self, access: ClientChange) -> None:
        del access
        raise _refusal()

    def check_start(self, start: AuthorizationStart) -> None:
        del start
        raise _refusal()

    def check_authorization(self, request: AuthorizationRequested) -> None:
        del request
        raise _refusal()

    def check_request(self, request: ClientRequest) -> None:
        del request
        raise _refusal()


def _refusal() -> PolicyRefusal:
    return PolicyRefusal(INVALID_REQUEST, "Request not allowed")
