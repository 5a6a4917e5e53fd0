"""Counters. Labels are bounded: never a client id, a user or a path of the caller."""

from typing import Protocol


class Metrics(Protocol):
    """Counters and timings of one process; an implementation must be cheap on the hot path."""

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one answered request; `route` is the pattern of the routing table."""

    def token_grant(self, realm: str, grant_type: str, outcome: str) -> None:
        """Count one token request; outcome is `issued` or the OAuth error code."""

    def security_event(self, kind: str) -> None:
        """Count one security event, such as `untrusted_certificate_header`."""
