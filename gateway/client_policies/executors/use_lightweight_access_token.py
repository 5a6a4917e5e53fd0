"""use-lightweight-access-token: access tokens hold only what mappers add to such."""

from dataclasses import dataclass, replace
from typing import ClassVar

from gateway.client_policies.events import ClientRequest
from gateway.client_policies.executors.executor import Executor
from gateway.domain.clients import Client


@dataclass(frozen=True, slots=True)
class UseLightweightAccessToken(Executor):
    """Issues lightweight access tokens, whatever the client's setting."""

    provider: ClassVar = "use-lightweight-access-token"

    def client_for_tokens(self, client: Client, request: ClientRequest) -> Client:
        del request
        return replace(client, tokens=replace(client.tokens, lightweight=True))
