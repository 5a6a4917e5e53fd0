"""secure-par-content: requests are pushed, and no parameter comes through the browser alone.

Spec: RFC 9126 §4, FAPI 2.0 Security Profile §5.3.2.2
"""

from dataclasses import dataclass
from typing import ClassVar

from gateway.client_policies.events import AuthorizationStart
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.refusal import INVALID_REQUEST, PolicyRefusal


@dataclass(frozen=True, slots=True)
class SecureParContent(Executor):
    """Refuses parameters beside `request_uri` that were not pushed."""

    provider: ClassVar = "secure-par-content"

    def check_start(self, start: AuthorizationStart) -> None:
        if "request_uri" not in start.sent or start.pushed is None:
            raise PolicyRefusal(INVALID_REQUEST, "PAR request_uri not included.")
        if any(name not in start.pushed and name != "request_uri" for name in start.sent):
            text = "PAR request did not include necessary parameters"
            raise PolicyRefusal(INVALID_REQUEST, text)
