"""/realms/{realm}/clients-registrations/{provider}[/{clientId}]: where clients register themselves.

`default` and `openid-connect` register clients in the formats of Keycloak and of RFC 7591,
`install` returns the configuration of an adapter.
Keycloak: 7.3 clients; client registration service; Spec: RFC 7591, RFC 7592
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from starlette.routing import Route
from starlette.types import Receive, Scope

from gateway.admin.registration import KEYCLOAK, OPENID, ClientView, Format
from gateway.domain.refusals import NotFound
from gateway.http.admin.operations import Body, read_admin_body
from gateway.http.cross_origin import REGISTRATION
from gateway.http.errors import MethodNotAllowed
from gateway.http.exchange import Exchange
from gateway.http.realm_endpoint import RealmContext, RealmEndpoint
from gateway.http.registration_requests import RegistrationRequests
from gateway.http.replies import JSON_UTF8, NO_STORE, Reply, json_reply
from gateway.protocol.requests import Parameters, ProtocolRequest
from gateway.representations.client_registration import Registered, render_metadata
from gateway.representations.clients import client_representation, installation_document

Answer = Callable[[ProtocolRequest, str, Mapping[str, Any]], Awaitable[Reply]]
Write = Callable[[ProtocolRequest, ClientView, int | None], dict[str, Any]]
"""Takes when a new client was registered, in seconds since 1970."""
_DEFAULT: Final = "default"
_OPENID: Final = "openid-connect"
_INSTALL: Final = "install"


@dataclass(frozen=True, slots=True)
class Provider:
    """What is answered, by method: without a client, and for one."""

    all: Mapping[str, Answer]
    one: Mapping[str, Answer]


class _Registering:
    """Answers in one format."""

    def __init__(
        self, name: str, registrations: RegistrationRequests, sent: Format, write: Write
    ) -> None:
        self._name = name
        self._registrations = registrations
        self._format = sent
        self._write = write

    def provider(self) -> Provider:
        """Return what is answered."""
        one = {"GET": self._see, "PUT": self._change, "DELETE": self._remove_client}
        return Provider({"POST": self._register}, one)

    async def _register(
        self, request: ProtocolRequest, _: str, document: Mapping[str, Any]
    ) -> Reply:
        seen = await self._registrations.register_client(request, self._format, document)
        url = _url(request, self._name, seen.client.client_id)
        return json_reply(
            self._write(request, seen, int(request.now.timestamp())),
            status=HTTPStatus.CREATED,
            headers=((b"location", url.encode("ascii")),),
            content_type=JSON_UTF8,
        )

    async def _see(self, request: ProtocolRequest, client_id: str, _: Mapping[str, Any]) -> Reply:
        seen = await self._registrations.view_client(request, client_id)
        return self._told(request, seen)

    async def _change(
        self, request: ProtocolRequest, client_id: str, document: Mapping[str, Any]
    ) -> Reply:
        seen = await self._registrations.change_client(request, client_id, self._format, document)
        return self._told(request, seen)

    async def _remove_client(
        self, request: ProtocolRequest, client_id: str, _: Mapping[str, Any]
    ) -> Reply:
        await self._registrations.remove_client(request, client_id)
        return Reply(HTTPStatus.NO_CONTENT)

    def _told(self, request: ProtocolRequest, seen: ClientView) -> Reply:
        document = self._write(request, seen, None)
        return json_reply(document, content_type=JSON_UTF8)


def build_providers(registrations: RegistrationRequests, public_url: str) -> Mapping[str, Provider]:
    """Return the providers by name."""

    async def install(request: ProtocolRequest, client_id: str, _: Mapping[str, Any]) -> Reply:
        found = await registrations.installation(request, client_id, public_url)
        return json_reply(installation_document(found), content_type=JSON_UTF8)

    return {
        _DEFAULT: _Registering(_DEFAULT, registrations, KEYCLOAK, _write_client).provider(),
        _OPENID: _Registering(_OPENID, registrations, OPENID, _write_openid).provider(),
        _INSTALL: Provider({}, {"GET": install}),
    }


def _write_client(_: ProtocolRequest, seen: ClientView, __: int | None) -> dict[str, Any]:
    token = seen.token.reveal() if seen.token else None
    shown = client_representation(seen.client, masked=seen.masked, registration_token=token)
    return {**shown, "defaultRoles": []}


def _write_openid(
    request: ProtocolRequest, seen: ClientView, issued_at: int | None
) -> dict[str, Any]:
    return render_metadata(
        Registered(
            client=seen.client,
            url=_url(request, _OPENID, seen.client.client_id),
            token=seen.token,
            issued_at=issued_at,
            masked=seen.masked,
        )
    )


def _url(request: ProtocolRequest, provider: str, client_id: str) -> str:
    return f"{request.issuer}/clients-registrations/{provider}/{quote(client_id, safe='')}"


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


def build_registration_route(registrations: RegistrationRequests, context: RealmContext) -> Route:
    """Return every URL as one route."""
    providers = build_providers(registrations, context.public_url)
    return Route(ROUTE, RegistrationEndpoint(providers, context))
