"""/realms/{realm}/clients-registrations/{provider}[/{clientId}]: which request does what.

`default` and `openid-connect` register clients in the formats of Keycloak and of RFC 7591,
`install` returns the configuration of an adapter.
Keycloak: client registration service; Spec: RFC 7591, RFC 7592
"""

from collections.abc import Mapping
from typing import Any, Final

from starlette.types import Receive, Scope

from gateway.admin.access import (
    NotFound,
)
from gateway.http.admin.bodies import read_admin_body
from gateway.http.admin.operations import Body
from gateway.http.cross_origin import REGISTRATION
from gateway.http.errors import MethodNotAllowed
from gateway.http.exchange import Exchange
from gateway.http.realm_endpoint import RealmContext, RealmEndpoint
from gateway.http.registration.providers import Provider
from gateway.http.replies import NO_STORE, Reply
from gateway.protocol.parameters import Parameters
from gateway.protocol.requests import ProtocolRequest

ROUTE: Final = "/realms/{realm}/clients-registrations/{rest:path}"
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "DELETE")
_SENT: Final = Body(largest=64 * 1024)


class RegistrationEndpoint(RealmEndpoint):
    """An ASGI endpoint; its responses contain secrets, so they are never cached."""

    def __init__(self, providers: Mapping[str, Provider], context: RealmContext) -> None:
        super().__init__(
            *(ROUTE, _unreachable, context),
            methods=_METHODS,
            always=NO_STORE,
            cross_origin=REGISTRATION,
        )
        self._providers = providers

    async def _parameters(
        self,
        scope: Scope,  # noqa: ARG002 - no form is sent here
        receive: Receive,  # noqa: ARG002
        exchange: Exchange,  # noqa: ARG002
    ) -> Parameters:
        return Parameters()

    async def _reply(
        self, request: ProtocolRequest, exchange: Exchange, scope: Scope, receive: Receive
    ) -> Reply:
        name, _, client_id = scope["path_params"]["rest"].partition("/")
        provider = self._providers.get(name)
        if provider is None:
            raise NotFound("Client registration provider not found")
        exchange.log.client = client_id
        operations = provider.one if client_id else provider.all
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        operation = operations.get(method)
        if operation is None:
            raise MethodNotAllowed(tuple(operations))
        document: Mapping[str, Any] = {}
        if method in {"POST", "PUT"}:
            document = await read_admin_body(receive, exchange.facts.headers, _SENT)
        return await operation(request, client_id, document)


async def _unreachable(request: ProtocolRequest, exchange: Exchange) -> Reply:  # noqa: ARG001
    raise LookupError("a provider answers")
