"""secure-par-content: requests are pushed, and no parameter comes through the browser alone.

Spec: RFC 9126 §4, FAPI 2.0 Security Profile §5.3.2.2
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from gateway.client_policies.events import AuthorizationRequested, AuthorizationStart
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.refusal import INVALID_REQUEST, PolicyRefusal


@dataclass(frozen=True, slots=True)
class SecureParContent(Executor):
    """Refuses parameters beside `request_uri` that were not pushed."""

    provider: ClassVar = "secure-par-content"

    def check_start(self, start: AuthorizationStart) -> None:
        _require_pushed(start.sent, start.pushed)

    def check_authorization(self, request: AuthorizationRequested) -> None:
        """Judge again: some conditions say nothing about a request before it is verified."""
        if not request.is_push:
            _require_pushed(request.sent, request.parameters if request.was_pushed else None)


def _require_pushed(sent: Mapping[str, str], pushed: Mapping[str, str] | None) -> None:
    if "request_uri" not in sent or pushed is None:
        raise PolicyRefusal(INVALID_REQUEST, "PAR request_uri not included.")
    if any(name not in pushed and name != "request_uri" for name in sent):
        text = "PAR request did not include necessary parameters"
        raise PolicyRefusal(INVALID_REQUEST, text)
