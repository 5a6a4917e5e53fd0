"""The rows of authentication flows, executions, their configurations and required actions.

Keycloak: 7.4 flows
"""

from collections.abc import Awaitable, Iterator
from functools import partial
from typing import Final

from gateway.admin.access import AdminRole
from gateway.admin.clients import QUERY_CLIENTS
from gateway.admin.flows import (
    FlowAdministration,
    FlowUseCases,
    RequiredActionAdministration,
)
from gateway.admin.realms import VIEW_REALM
from gateway.domain.refusals import NotFound
from gateway.http.admin.operations import (
    MANAGE_REALM,
    REALM,
    Body,
    Operation,
    Resource,
    UseCase,
    as_caller,
    for_realm,
)
from gateway.http.admin.requests import (
    AdminRequest,
    constant,
    created_at_reply,
    document_reply,
    done,
    entity,
)
from gateway.http.replies import Reply
from gateway.representations.flows import AUTHENTICATORS, AuthenticatorRole, of_role

_ROOT: Final = f"{REALM}/authentication"
_TAG: Final = "Authentication Management"
_LIST_FLOWS: Final = (*VIEW_REALM, AdminRole.QUERY_CLIENTS, AdminRole.VIEW_CLIENTS)
"""A client names the flows with which its users sign in."""
_LIST_METHODS: Final = (*VIEW_REALM, *QUERY_CLIENTS)
"""A client names the method with which it authenticates."""
_LIST_ACTIONS: Final = (*VIEW_REALM, AdminRole.QUERY_USERS, AdminRole.VIEW_USERS)
"""A user can be required to perform an action."""


def flow_operations(flows: FlowUseCases) -> tuple[Operation, ...]:
    """Return every row about flows and required actions."""
    return (
        *_flows(flows.administration),
        *_executions(flows.administration),
        *_configurations(flows.administration),
        *_providers(),
        *_required_actions(flows.required_actions),
        *_registration(flows.required_actions),
    )


def _resource(path: str) -> Resource:
    return Resource(f"{_ROOT}/{path}", _TAG, VIEW_REALM, MANAGE_REALM)


def _flows(flows: FlowAdministration) -> tuple[Operation, ...]:
    rows, schema = _resource("flows"), "AuthenticationFlowRepresentation"
    info = "AuthenticationExecutionInfoRepresentation"
    return (
        *rows.entities(
            "/{id}",
            schema,
            lists=("List the authentication flows", flows.list_flows),
            creates=("Create an authentication flow", flows.create_flow),
            gets=("Get an authentication flow", flows.get_flow),
            replaces=("Rename an authentication flow", flows.replace_flow),
            deletes=("Delete an authentication flow", flows.remove_flow),
            list_roles=_LIST_FLOWS,
        ),
        rows.post(
            "/{alias}/copy",
            "Copy an authentication flow and its subflows",
            lambda r: _created_at(r, "flows", flows.copy_flow(r.acting, r.path["alias"], r.body)),
            body=Body(),
        ),
        rows.get(
            "/{alias}/executions",
            "List the executions of a flow",
            for_realm(flows.list_executions),
            returns=f"[{info}]",
        ),
        rows.put(
            "/{alias}/executions",
            "Update an execution of a flow",
            as_caller(flows.update_execution),
            body=Body(info),
        ),
        rows.post(
            "/{alias}/executions/execution",
            "Add an authenticator to a flow",
            lambda r: _created_at(
                r, "executions", flows.add_authenticator(r.acting, r.path["alias"], r.body)
            ),
            body=Body(),
        ),
        rows.post(
            "/{alias}/executions/flow",
            "Add a subflow to a flow",
            lambda r: _created_at(
                r, "flows", flows.add_sub_flow(r.acting, r.path["alias"], r.body)
            ),
            body=Body(),
        ),
    )


async def _created_at(request: AdminRequest, kind: str, new_id: Awaitable[str]) -> Reply:
    return created_at_reply(request.url("authentication", kind, await new_id))


def _executions(executions: FlowAdministration) -> tuple[Operation, ...]:
    rows, schema = _resource("executions"), "AuthenticationExecutionRepresentation"
    return (
        *rows.entities(
            "/{id}",
            schema,
            creates=("Create an execution", executions.create_execution),
            gets=("Get an execution", executions.get_execution),
            deletes=("Delete an execution", executions.remove_execution),
        ),
        *_moves(rows, "/{id}", "an execution", executions.move_execution),
    )


def _moves(rows: Resource, one: str, what: str, move: UseCase) -> Iterator[Operation]:
    for path, up, where in (
        ("raise-priority", True, "before the previous one"),
        ("lower-priority", False, "behind the next one"),
    ):
        call = as_caller(partial(move, up=up))
        yield rows.post(f"{one}/{path}", f"Move {what} {where}", call, status=204)


def _configurations(configs: FlowAdministration) -> tuple[Operation, ...]:
    schema, path = "AuthenticatorConfigRepresentation", "executions/{id}/config"
    create = "Create an authenticator configuration that no execution has"
    get = "Get an authenticator configuration"
    return (
        *_resource("config").entities(
            "/{config}",
            schema,
            creates=(create, configs.create_config),
            gets=(get, configs.get_config),
            replaces=("Replace an authenticator configuration", configs.replace_config),
            deletes=("Delete an authenticator configuration", configs.remove_config),
        ),
        _resource(path).post(
            "",
            "Create the authenticator configuration of an execution",
            as_caller(configs.configure_execution),
            body=Body(schema),
        ),
        _resource(path).get(
            "/{config}",
            get,
            lambda r: entity(configs.get_config(r.acting, r.path["config"])),
            returns=schema,
        ),
    )


def _providers() -> tuple[Operation, ...]:
    rows = _resource("")

    def of(role: AuthenticatorRole, path: str, summary: str) -> Operation:
        allowed = _LIST_METHODS if role is AuthenticatorRole.CLIENT else VIEW_REALM
        listed = [each.listed() for each in of_role(role)]
        return rows.get(
            path, summary, lambda _: constant(listed), allowed=allowed, returns="[object]"
        )

    return (
        of(AuthenticatorRole.USER, "authenticator-providers", "List the authenticators of users"),
        of(
            AuthenticatorRole.CLIENT,
            "client-authenticator-providers",
            "List the authenticators of clients",
        ),
        of(AuthenticatorRole.FORM, "form-providers", "List the form providers"),
        of(AuthenticatorRole.FORM_ACTION, "form-action-providers", "List the form actions"),
        rows.get(
            "per-client-config-description",
            "Describe the settings of clients for each client authenticator: none",
            lambda _: constant({each.id: [] for each in of_role(AuthenticatorRole.CLIENT)}),
            allowed=_LIST_METHODS,
            returns="object",
        ),
        rows.get(
            "config-description/{provider}",
            "Describe the configuration of an authenticator",
            _describe_authenticator,
            returns="AuthenticatorConfigInfoRepresentation",
        ),
    )


async def _describe_authenticator(request: AdminRequest) -> Reply:
    known = AUTHENTICATORS.get(request.path["provider"])
    if known is None or known.role is AuthenticatorRole.FORM:
        raise NotFound("Could not find authenticator provider")
    return document_reply(known.described())


def _required_actions(actions: RequiredActionAdministration) -> tuple[Operation, ...]:
    rows, schema = _resource("required-actions"), "RequiredActionProviderRepresentation"
    one, config = "/{alias}", "RequiredActionConfigRepresentation"

    def configure(request: AdminRequest) -> Awaitable[Reply]:
        return done(actions.replace_config(request.acting, request.path["alias"], request.body))

    return (
        *rows.entities(
            one,
            schema,
            lists=("List the required actions", actions.list_actions),
            gets=("Get a required action", actions.get_action),
            replaces=("Update a required action", actions.update_action),
            deletes=("Delete a required action", actions.remove_action),
            list_roles=_LIST_ACTIONS,
        ),
        rows.get(
            f"{one}/config",
            "Get the configuration of a required action",
            for_realm(actions.get_config),
            returns=config,
        ),
        rows.put(
            f"{one}/config",
            "Replace the configuration of a required action",
            configure,
            body=Body(config),
        ),
        rows.delete(f"{one}/config", "Delete the configuration of a required action", configure),
        rows.get(
            f"{one}/config-description",
            "Describe the configuration of a required action",
            lambda r: constant(actions.describe_action(r.path["alias"])),
            returns="object",
        ),
        *_moves(rows, one, "a required action", actions.move_action),
    )


def _registration(actions: RequiredActionAdministration) -> tuple[Operation, ...]:
    rows = _resource("")
    return (
        rows.get(
            "unregistered-required-actions",
            "List the required actions that the realm does not have",
            for_realm(actions.list_unregistered_actions),
            returns="[object]",
        ),
        rows.post(
            "register-required-action",
            "Register a required action that the realm does not have",
            as_caller(actions.register_action),
            body=Body(),
            status=204,
        ),
    )
