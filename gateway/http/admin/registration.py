"""Registration access tokens, initial access tokens, registration policies.

Keycloak: 7.3 clients.
"""

from http import HTTPStatus

from gateway.admin.clients import MANAGE_CLIENTS, VIEW_CLIENTS
from gateway.admin.realms import VIEW_REALM
from gateway.admin.registration import RegistrationTokenAdministration, RegistrationUseCases
from gateway.domain.refusals import InvalidRequest, WireFamily
from gateway.http.admin.operations import (
    REALM,
    Body,
    Media,
    Operation,
    Resource,
    as_caller,
    for_realm,
)
from gateway.http.admin.requests import AdminRequest, document_reply
from gateway.http.replies import NO_STORE, Reply, json_reply
from gateway.representations.client_registration import convert_description


def registration_operations(registration: RegistrationUseCases) -> tuple[Operation, ...]:
    """Return every row about how clients register themselves: tokens and policies."""
    rows = Resource(REALM, "Registration of clients", VIEW_CLIENTS, MANAGE_CLIENTS)
    tokens = registration.tokens
    path, schema = "/clients-initial-access", "ClientInitialAccessPresentation"
    return (
        rows.post(
            "/clients/{client_id}/registration-access-token",
            "Replace the registration access token of a client",
            as_caller(tokens.renew_client_token),
            returns="ClientRepresentation",
            status=200,
        ),
        rows.post(
            "/client-description-converter",
            "Convert a description of a client, such as metadata of RFC 7591",
            _convert,
            body=Body(media=Media.TEXT),
            returns="ClientRepresentation",
            status=200,
        ),
        rows.get(
            "/client-registration-policy/providers",
            "List the providers of client registration policies and their settings",
            for_realm(registration.policy_providers.list_providers),
            returns="[ComponentTypeRepresentation]",
            allowed=VIEW_REALM,
        ),
        rows.get(
            path,
            "List the initial access tokens",
            for_realm(tokens.list_accesses),
            returns=f"[{schema}]",
        ),
        rows.post(
            path,
            "Create an initial access token; it is returned once",
            lambda r: _create_access(tokens, r),
            body=Body("ClientInitialAccessCreatePresentation"),
            returns=schema,
        ),
        rows.delete(
            f"{path}/{{access_id}}",
            "Delete an initial access token",
            as_caller(tokens.remove_access),
        ),
    )


async def _convert(request: AdminRequest) -> Reply:
    client = convert_description(request.body)
    if client is None:
        raise InvalidRequest("Unsupported format", WireFamily.PROSE)
    return document_reply(client)


async def _create_access(tokens: RegistrationTokenAdministration, request: AdminRequest) -> Reply:
    access = await tokens.create_access(request.acting, request.body)
    location = request.url("clients-initial-access", access["id"])
    headers = ((b"location", location.encode("ascii")), *NO_STORE)
    return json_reply(access, status=HTTPStatus.CREATED, headers=headers)
