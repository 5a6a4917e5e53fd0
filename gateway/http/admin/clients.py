"""The rows of clients: secrets, keys, sessions, nodes, devices, policies, and registration.

Keycloak: 7.1 realms, 7.3 clients
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from gateway.admin.access import Acting
from gateway.admin.clients import (
    MANAGE_CLIENTS,
    POLICIES,
    PROFILES,
    QUERY_CLIENTS,
    VIEW_CLIENTS,
    ClientAdministration,
    ClientCertificateAdministration,
    ClientDevices,
    ClientListing,
    ClientNodes,
    ClientPolicies,
    ClientQuery,
    ClientUseCases,
    DecidedReach,
)
from gateway.admin.realms import VIEW_REALM
from gateway.admin.registration import RegistrationTokenAdministration, RegistrationUseCases
from gateway.admin.sessions import SessionAdministration
from gateway.admin.users import read_attribute_query
from gateway.domain.refusals import InvalidRequest, WireFamily
from gateway.http.admin.operations import (
    MANAGE_REALM,
    PAGING,
    REALM,
    Body,
    Media,
    Operation,
    Query,
    Resource,
    State,
    as_caller,
    for_realm,
)
from gateway.http.admin.requests import (
    AdminRequest,
    counted,
    created_reply,
    document,
    document_reply,
    done,
    entity_reply,
    listing_page,
)
from gateway.http.replies import NO_STORE, Reply, json_reply
from gateway.representations.client_registration import convert_description

_Pack = Callable[[Acting, str, str, Mapping[str, Any]], Awaitable[bytes]]
_KEY: Final = "CertificateRepresentation"
_ARCHIVE: Final = ((b"content-type", b"application/octet-stream"),)


def certificate_operations(
    certificates: ClientCertificateAdministration, client: str
) -> tuple[Operation, ...]:
    """Return every row about the keys of clients; `client` is the URL of one."""
    path, tag = f"{client}/certificates/{{attr}}", "Keys of clients"
    rows = Resource(path, tag, VIEW_CLIENTS, MANAGE_CLIENTS)

    def upload(last: str, summary: str) -> Operation:
        return rows.post(
            f"/{last}",
            summary,
            lambda r: document(
                certificates.upload_key(r.acting, *_key_of_path(r), r.body, path=last)
            ),
            body=Body(media=Media.FORM),
            returns=_KEY,
            status=200,
            refuses=(501,),
        )

    def archive(last: str, summary: str, pack: _Pack) -> Operation:
        return rows.post(
            f"/{last}",
            summary,
            lambda r: _archive(pack(r.acting, *_key_of_path(r), r.body)),
            body=Body("KeyStoreConfig"),
            status=200,
            refuses=(406, 501),
        )

    return (
        rows.get(
            "",
            "Get the public key of a client",
            for_realm(certificates.get_key),
            returns=_KEY,
        ),
        rows.post(
            "/generate",
            "Generate a key for a client; the private key is returned once",
            as_caller(certificates.generate_key),
            returns=_KEY,
            status=200,
            refuses=(501,),
        ),
        archive(
            "generate-and-download",
            "Generate a key for a client and return it in a PKCS#12 key store",
            certificates.generate_archive,
        ),
        archive(
            "download",
            "Get the certificate of a client in a PKCS#12 key store",
            certificates.get_archive,
        ),
        upload("upload", "Upload the key of a client from a file; only its public part is stored"),
        upload(
            "upload-certificate", "Upload the certificate or public key of a client from a file"
        ),
    )


def _key_of_path(request: AdminRequest) -> tuple[str, str]:
    """Return the client and the attribute with the key."""
    return request.path["client_id"], request.path["attr"]


async def _archive(archive: Awaitable[bytes]) -> Reply:
    return Reply(HTTPStatus.OK, _ARCHIVE, await archive)


_LOCK = "DeviceLockRepresentation"


def device_operations(devices: ClientDevices, client: str) -> tuple[Operation, ...]:
    """Return every row about devices; `client` is the URL of one."""
    rows = Resource(f"{client}/device-locks", "Devices of clients", VIEW_CLIENTS, MANAGE_CLIENTS)
    return (
        rows.get(
            "",
            "List the locked devices of a client",
            as_caller(devices.list_locks),
            returns=f"[{_LOCK}]",
        ),
        rows.post(
            "",
            "Lock a device of a client for some time",
            as_caller(devices.lock_device),
            body=Body(_LOCK),
            returns=_LOCK,
            status=200,
        ),
        rows.delete(
            "",
            "Unlock a device of a client",
            as_caller(devices.unlock_device, device=lambda r: r.text("device")),
            query=(Query("device", summary="The whole name of the device in its certificate"),),
        ),
    )


_CLIENT: Final = f"{REALM}/clients/{{client_id}}"
"""`client_id` is the internal id, as in all of Keycloak's admin API."""
_TEXT: Final = ((b"content-type", b"text/plain"),)


def client_operations(
    clients: ClientUseCases, sessions: SessionAdministration
) -> tuple[Operation, ...]:
    """Return every row about clients."""
    return (
        *_clients(clients),
        *_one_client(clients),
        *_reach(clients.administration),
        *_sessions(sessions),
        *_nodes(clients.nodes),
        *certificate_operations(clients.certificates, _CLIENT),
        *device_operations(clients.devices, _CLIENT),
        *_policies(clients.policies, "profiles"),
        *_policies(clients.policies, "policies"),
    )


def _clients(clients: ClientUseCases) -> tuple[Operation, ...]:
    rows = Resource(f"{REALM}/clients", "Clients", QUERY_CLIENTS, MANAGE_CLIENTS)
    listing, administration = clients.listing, clients.administration
    update = "Update a client; fields that are not sent keep their values"
    schema = "ClientRepresentation"
    filters = (Query("clientId"), Query("search", "boolean"), Query("q"))
    return (
        rows.get(
            "",
            "List the clients that match",
            lambda r: document(listing.list_clients(r.acting, _query(r))),
            returns=f"[{schema}]",
            query=(*PAGING, *filters, Query("viewableOnly", "boolean")),
        ),
        rows.post(
            "",
            "Create a client",
            lambda r: _create_client(clients, r),
            body=Body(schema),
        ),
        *rows.entities(
            "/{client_id}",
            schema,
            gets=("Get a client", listing.get_client_document),
            replaces=(update, administration.update_client),
            deletes=("Delete a client", administration.delete_client),
        ),
    )


async def _create_client(clients: ClientUseCases, request: AdminRequest) -> Reply:
    client = await clients.administration.create_client(request.acting, request.body)
    return created_reply(request, client.id)


def _query(request: AdminRequest) -> ClientQuery:
    first, maximum = request.page()
    name, by_part = request.query.get("clientId"), request.flag("search")
    return ClientQuery(
        client_id=None if by_part else name,
        part=(name or "") if by_part else "",
        attributes=read_attribute_query(request.query.get("q") or ""),
        first=first,
        maximum=maximum,
    )


def _one_client(clients: ClientUseCases) -> tuple[Operation, ...]:
    rows = Resource(_CLIENT, "Clients", VIEW_CLIENTS, MANAGE_CLIENTS)
    secrets, credential = clients.secrets, "CredentialRepresentation"
    return (
        rows.get(
            "/client-secret",
            "Get the secret of a client",
            as_caller(secrets.get_secret),
            returns=credential,
            reveals=True,
        ),
        rows.post(
            "/client-secret",
            "Generate a new secret for a client",
            as_caller(secrets.renew_secret),
            returns=credential,
            status=200,
        ),
        rows.get(
            "/client-secret/rotated",
            "Get the rotated secret of a client",
            as_caller(secrets.get_rotated_secret),
            returns=credential,
            reveals=True,
        ),
        rows.delete(
            "/client-secret/rotated",
            "Delete the rotated secret of a client",
            as_caller(secrets.remove_rotated_secret),
        ),
        rows.get(
            "/service-account-user",
            "Get the service account of a client",
            for_realm(clients.listing.get_service_account),
            returns="UserRepresentation",
        ),
        rows.get(
            "/installation/providers/{provider_id}",
            "Get a configuration file for an adapter of a client",
            lambda r: _installation(clients.listing, r),
        ),
    )


async def _installation(listing: ClientListing, request: AdminRequest) -> Reply:
    names = request.path["client_id"], request.path["provider_id"]
    text = await listing.render_installation(request.acting, *names, request.public_url)
    return Reply(HTTPStatus.OK, _TEXT, text.encode("utf-8"))


def _reach(clients: ClientAdministration) -> tuple[Operation, ...]:
    rows = Resource(_CLIENT, "Clients", VIEW_CLIENTS, MANAGE_CLIENTS)
    return (
        rows.get(
            "/administrative-roles",
            "Get the administrative roles that tokens of a client may carry",
            lambda r: _decided(clients.get_reach(r.acting, r.path["client_id"])),
            returns="object",
            versioned=True,
        ),
        rows.put(
            "/administrative-roles",
            "Let tokens of a client carry the administrative roles that you have",
            lambda r: _decided(clients.decide_reach(r.acting, r.path["client_id"])),
            returns="object",
            status=200,
            versioned=True,
        ),
    )


async def _decided(reach: Awaitable[DecidedReach]) -> Reply:
    found = await reach
    return entity_reply(found.version, found.roles)


def _sessions(sessions: SessionAdministration) -> tuple[Operation, ...]:
    rows = Resource(_CLIENT, "Sessions and nodes of clients", VIEW_CLIENTS, MANAGE_CLIENTS)
    return (
        rows.get(
            "/session-count",
            "Count the online sessions of a client",
            for_realm(partial(sessions.count_sessions_of_client, offline=False), reply=counted),
            returns="object",
        ),
        rows.get(
            "/offline-session-count",
            "Count the offline sessions of a client",
            for_realm(partial(sessions.count_sessions_of_client, offline=True), reply=counted),
            returns="object",
        ),
        rows.get(
            "/user-sessions",
            "List the online sessions of a client",
            for_realm(partial(sessions.list_sessions_of_client, offline=False), page=listing_page),
            returns="[UserSessionRepresentation]",
            query=PAGING,
        ),
        rows.get(
            "/offline-sessions",
            "List the offline sessions of a client",
            for_realm(partial(sessions.list_sessions_of_client, offline=True), page=listing_page),
            returns="[UserSessionRepresentation]",
            query=PAGING,
        ),
    )


def _nodes(nodes: ClientNodes) -> tuple[Operation, ...]:
    tag = "Sessions and nodes of clients"
    rows = Resource(_CLIENT, tag, MANAGE_CLIENTS, MANAGE_CLIENTS, State.STORED_ONLY)
    return (
        rows.post(
            "/nodes",
            "Register a node of a client; the gateway sends it no requests",
            as_caller(nodes.add_node),
            body=Body("object"),
            status=204,
        ),
        rows.delete("/nodes/{node}", "Delete a node of a client", as_caller(nodes.remove_node)),
        rows.get(
            "/test-nodes-available",
            "Test the nodes of a client; the gateway sends no request",
            as_caller(nodes.test_nodes),
            returns="GlobalRequestResult",
        ),
        rows.post(
            "/push-revocation",
            "Push the `notBefore` of a client to its nodes; the gateway sends no request",
            as_caller(nodes.push_revocation),
            returns="GlobalRequestResult",
            status=200,
        ),
    )


def _policies(policies: ClientPolicies, kind: str) -> tuple[Operation, ...]:
    rows = Resource(f"{REALM}/client-policies/{kind}", "Realms", VIEW_REALM, MANAGE_REALM)
    part = PROFILES if kind == "profiles" else POLICIES
    schema = f"Client{kind.capitalize()}Representation"

    async def get(request: AdminRequest) -> Reply:
        every = request.flag(f"include-global-{kind}")
        found = await policies.get_part(request.realm, part)
        return entity_reply(found, {**found, **part.of_every_realm} if every else None)

    return (
        rows.get(
            "",
            f"Get the client {kind} of the realm",
            get,
            returns=schema,
            query=(Query(f"include-global-{kind}", "boolean"),),
            versioned=True,
        ),
        rows.put(
            "",
            f"Replace the client {kind} of the realm",
            lambda r: done(policies.replace_part(r.acting, part, r.body)),
            body=Body(schema),
            versioned=True,
        ),
    )


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
