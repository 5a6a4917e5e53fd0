"""The rows of client scopes, protocol mappers and scope mappings, those of clients included.

Keycloak: 7.1 (default-default-client-scopes), 7.3 (client-scopes, protocol-mappers,
scope-mappings, evaluate-scopes)
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from gateway.admin.client_scope_evaluation import (
    Evaluated,
    ExampleOf,
    ScopeEvaluation,
)
from gateway.admin.client_scopes import (
    LIST_CLIENTS,
    MANAGE_CLIENTS,
    VIEW_CLIENTS,
    ClientScopeAdministration,
)
from gateway.admin.clients import (
    ClientUseCases,
    MapperOwnerKind,
    ProtocolMapperAdministration,
)
from gateway.admin.users import VIEW_USERS
from gateway.domain.client_scopes import RealmDefault
from gateway.domain.clock import Clock
from gateway.http.admin.operations import (
    REALM,
    Body,
    Media,
    Operation,
    Query,
    Resource,
    UseCase,
    as_caller,
    for_realm,
)
from gateway.http.admin.requests import AdminRequest, document
from gateway.http.admin.roles import scope_mapping_operations

_Generate = Callable[[Evaluated, ExampleOf], Awaitable[object]]
_SCOPE_PARAMETER: Final = Query("scope", summary="As in a token request")
_EXAMPLE: Final = (
    _SCOPE_PARAMETER,
    Query("userId", summary="The id of a user"),
    Query("audience", summary="A client, to which roles and audience are limited"),
)


def evaluation_operations(
    evaluation: ScopeEvaluation, issuer: Callable[[str], str], clock: Clock
) -> tuple[Operation, ...]:
    """Return every row about the evaluation of scopes; `issuer` is that of a realm by name."""
    path = f"{REALM}/clients/{{client_id}}/evaluate-scopes"
    rows = Resource(path, "Clients", VIEW_CLIENTS, ())

    def roles(path: str, what: str, *, granted: bool) -> Operation:
        return rows.get(
            f"/scope-mappings/{{container}}/{path}",
            f"List the roles that tokens of a client {what} contain",
            lambda r: document(
                evaluation.roles(_evaluated(r), r.path["container"], granted=granted)
            ),
            returns="[RoleRepresentation]",
            query=(_SCOPE_PARAMETER,),
        )

    def example(path: str, what: str, generate: _Generate) -> Operation:
        return rows.get(
            f"/generate-example-{path}",
            f"Generate {what}",
            lambda r: document(generate(_evaluated(r), _example(issuer, clock, r))),
            also=VIEW_USERS,
            returns="object",
            query=_EXAMPLE,
        )

    return (
        rows.get(
            "/protocol-mappers",
            "List the protocol mappers that apply to tokens of a client",
            lambda r: document(evaluation.mappers(_evaluated(r))),
            returns="[ProtocolMapperEvaluationRepresentation]",
            query=(_SCOPE_PARAMETER,),
        ),
        roles("granted", "can", granted=True),
        roles("not-granted", "cannot", granted=False),
        example("access-token", "the claims of an example access token", evaluation.access_token),
        example("id-token", "the claims of an example ID token", evaluation.id_token),
        example("userinfo", "an example userinfo response", evaluation.userinfo),
    )


def _example(issuer: Callable[[str], str], clock: Clock, request: AdminRequest) -> ExampleOf:
    return ExampleOf(
        user_id=request.query.get("userId"),
        issuer=issuer(request.realm.name),
        now=clock.now(),
        audience=request.query.get("audience"),
    )


def _evaluated(request: AdminRequest) -> Evaluated:
    scope = request.query.get("scope") or ""
    return Evaluated(request.realm, request.path["client_id"], scope)


_SCOPE: Final = "ClientScopeRepresentation"
_MAPPER: Final = "ProtocolMapperRepresentation"
_ROLE: Final = "RoleRepresentation"
_KINDS: Final = {RealmDefault.DEFAULT: "default", RealmDefault.OPTIONAL: "optional"}


def client_scope_operations(
    scopes: ClientScopeAdministration, clients: ClientUseCases
) -> tuple[Operation, ...]:
    """Return every row about client scopes, and about what scopes share with clients."""
    mappers, assigned = clients.protocol_mappers, clients.scopes
    of_realm = scopes.list_realm_scopes, scopes.add_to_list, scopes.remove_from_list
    of_client = assigned.list_assigned_scopes, assigned.assign_scope, assigned.unassign_scope
    return (
        *_scopes(scopes),
        *_scope_lists("default-", "new clients", *of_realm),
        *_scope_lists("clients/{client_id}/", "a client", *of_client),
        *_mappers(mappers[MapperOwnerKind.CLIENT], "client_id", "client"),
        *_mappers(mappers[MapperOwnerKind.CLIENT_SCOPE], "scope_id", "client scope"),
        *scope_mapping_operations(assigned, "clients/{client_id}", "a client"),
        *scope_mapping_operations(assigned, "client-scopes/{scope_id}", "a client scope"),
    )


def _scopes(scopes: ClientScopeAdministration) -> tuple[Operation, ...]:
    rows = Resource(f"{REALM}/client-scopes", "Client Scopes", VIEW_CLIENTS, MANAGE_CLIENTS)
    return tuple(
        rows.entities(
            "/{scope_id}",
            _SCOPE,
            lists=("List the client scopes", scopes.list_scopes),
            creates=("Create a client scope", scopes.create_scope),
            gets=("Get a client scope", scopes.get_scope),
            replaces=("Update a client scope, without its protocol mappers", scopes.replace_scope),
            deletes=("Delete a client scope and remove it from all clients", scopes.remove_scope),
            list_roles=LIST_CLIENTS,
        )
    )


def _scope_lists(path: str, whom: str, *use_cases: UseCase) -> Iterator[Operation]:
    """Yield the rows of the default and optional scopes, by what lists, adds and removes one."""
    for kind, name in _KINDS.items():
        url = f"{REALM}/{path}{name}-client-scopes"
        rows = Resource(url, "Client Scopes", VIEW_CLIENTS, MANAGE_CLIENTS)
        scopes = f"the {name} client scopes of {whom}"
        lists, gives, takes = (partial(each, listed=kind) for each in use_cases)
        yield rows.get("", f"List {scopes}", for_realm(lists), returns=f"[{_SCOPE}]")
        yield rows.put("/{scope_id}", f"Add a client scope to {scopes}", as_caller(gives))
        yield rows.delete("/{scope_id}", f"Remove a client scope from {scopes}", as_caller(takes))


def _mappers(
    mappers: ProtocolMapperAdministration, placeholder: str, owner: str
) -> tuple[Operation, ...]:
    path = f"{REALM}/{mappers.kind}/{{{placeholder}}}/protocol-mappers"
    rows = Resource(path, "Protocol Mappers", VIEW_CLIENTS, MANAGE_CLIENTS)
    models = replace(rows, path=f"{path}/models")
    update = f"Update type and configuration of a protocol mapper of a {owner}"
    return (
        *models.entities(
            "/{mapper_id}",
            _MAPPER,
            lists=(f"List the protocol mappers of a {owner}", mappers.list_mappers),
            creates=(f"Create a protocol mapper of a {owner}", mappers.create_mapper),
            gets=(f"Get a protocol mapper of a {owner}", mappers.get_mapper),
            replaces=(update, mappers.replace_mapper),
            deletes=(f"Delete a protocol mapper of a {owner}", mappers.remove_mapper),
        ),
        rows.post(
            "/add-models",
            f"Create several protocol mappers of a {owner}, all or none",
            as_caller(mappers.create_mappers),
            body=Body(_MAPPER, Media.LIST),
            status=204,
        ),
        rows.get(
            "/protocol/{protocol}",
            f"List the protocol mappers of a {owner} for a protocol",
            as_caller(mappers.list_mappers),
            returns=f"[{_MAPPER}]",
        ),
    )
