"""One request on its way through the gateway: the edge's facts, and what its log line will say."""

from dataclasses import dataclass, field
from typing import Final

from starlette.types import Scope

from gateway.domain.realm import SecurityHeaders
from gateway.http.edge.facts import EdgeFacts

_KEY: Final = "realmgate.exchange"


@dataclass(slots=True)
class Exchange:
    """What is known of one request.

    `log` gathers the line's fields as they become known: realm, client, token_id, reason. Rules
    never read it. `route` is the pattern that matched. `security_headers` are those of the realm of
    the response, None until an endpoint has looked the realm up.
    """

    request_id: str
    edge: EdgeFacts | None = None
    route: str = "unmatched"
    security_headers: SecurityHeaders | None = None
    log: dict[str, str] = field(default_factory=dict)

    @property
    def facts(self) -> EdgeFacts:
        """Return the edge's facts; every endpoint stands behind the edge."""
        if self.edge is None:
            raise LookupError("the request did not pass the edge")
        return self.edge


def attach(scope: Scope, exchange: Exchange) -> None:
    """Let the endpoints of `scope` find the exchange."""
    scope[_KEY] = exchange


def exchange_of(scope: Scope) -> Exchange:
    """Return the exchange of a request."""
    exchange: Exchange = scope[_KEY]
    return exchange
