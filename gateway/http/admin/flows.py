"""The rows of authentication flows, executions, their configurations and required actions.

Keycloak: 7.4 flows
"""

from collections.abc import Awaitable
from typing import Final

from gateway.admin.access import AdminRole
from gateway.admin.clients import QUERY_CLIENTS
from gateway.admin.flows import (
    AuthenticatorConfigs,
    ExecutionAdministration,
    FlowUseCases,
    RequiredActionAdministration,
)
from gateway.admin.realms import VIEW_REALM
from gateway.domain.refusals import NotFound
from gateway.http.admin.operations import MANAGE_REALM, REALM, Body, Operation, Resource
from gateway.http.admin.requests import (
    AdminRequest,
    constant,
    created,
    created_at_reply,
    document,
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
        *_flows(flows),
        *_executions(flows.executions),
        *_configurations(flows.configs),
        *_providers(),
        *_required_actions(flows.required_actions),
        *_registration(flows.required_actions),
    )


def _resource(path: str) -> Resource:
    return Resource(f"{_ROOT}/{path}", _TAG, VIEW_REALM, MANAGE_REALM)


def _flows(use_cases: FlowUseCases) -> tuple[Operation, ...]:
    rows, schema = _resource("flows"), "AuthenticationFlowRepresentation"
    flows, executions = use_cases.administration, use_cases.executions
    info = "AuthenticationExecutionInfoRepresentation"
    return (
        rows.get(
            "",
            "List the authentication flows",
            lambda r: document(flows.every(r.realm)),
            allowed=_LIST_FLOWS,
            returns=f"[{schema}]",
        ),
        rows.post(
            "",
            "Create an authentication flow",
            lambda r: created(r, flows.create(r.acting, r.body)),
            body=Body(schema),
        ),
        rows.get(
            "/{id}",
            "Get an authentication flow",
            lambda r: entity(flows.one(r.realm, r.path["id"])),
            returns=schema,
            versioned=True,
        ),
        rows.put(
            "/{id}",
            "Rename an authentication flow",
            lambda r: done(flows.replace(r.acting, r.path["id"], r.body)),
            body=Body(schema),
            versioned=True,
        ),
        rows.delete(
            "/{id}",
            "Delete an authentication flow",
            lambda r: done(flows.remove(r.acting, r.path["id"])),
            versioned=True,
        ),
        rows.post(
            "/{alias}/copy",
            "Copy an authentication flow and its subflows",
            lambda r: _created_at(r, "flows", flows.copy(r.acting, r.path["alias"], r.body)),
            body=Body(),
        ),
        rows.get(
            "/{alias}/executions",
            "List the executions of a flow",
            lambda r: document(flows.executions(r.realm, r.path["alias"])),
            returns=f"[{info}]",
        ),
        rows.put(
            "/{alias}/executions",
            "Update an execution of a flow",
            lambda r: done(executions.replace(r.acting, r.path["alias"], r.body)),
            body=Body(info),
        ),
        rows.post(
            "/{alias}/executions/execution",
            "Add an authenticator to a flow",
            lambda r: _created_at(
                r, "executions", executions.add(r.acting, r.path["alias"], r.body)
            ),
            body=Body(),
        ),
        rows.post(
            "/{alias}/executions/flow",
            "Add a subflow to a flow",
            lambda r: _created_at(
                r, "flows", executions.add_flow(r.acting, r.path["alias"], r.body)
            ),
            body=Body(),
        ),
    )


async def _created_at(request: AdminRequest, kind: str, new_id: Awaitable[str]) -> Reply:
    return created_at_reply(request.url("authentication", kind, await new_id))


def _executions(executions: ExecutionAdministration) -> tuple[Operation, ...]:
    rows, schema = _resource("executions"), "AuthenticationExecutionRepresentation"
    return (
        rows.post(
            "",
            "Create an execution",
            lambda r: created(r, executions.insert(r.acting, r.body)),
            body=Body(schema),
        ),
        rows.get(
            "/{id}",
            "Get an execution",
            lambda r: entity(executions.one(r.realm, r.path["id"])),
            returns=schema,
            versioned=True,
        ),
        rows.delete(
            "/{id}",
            "Delete an execution",
            lambda r: done(executions.remove(r.acting, r.path["id"])),
            versioned=True,
        ),
        rows.post(
            "/{id}/raise-priority",
            "Move an execution before the previous one",
            lambda r: done(executions.move(r.acting, r.path["id"], up=True)),
            status=204,
        ),
        rows.post(
            "/{id}/lower-priority",
            "Move an execution behind the next one",
            lambda r: done(executions.move(r.acting, r.path["id"], up=False)),
            status=204,
        ),
    )


def _configurations(configs: AuthenticatorConfigs) -> tuple[Operation, ...]:
    rows, schema = _resource(""), "AuthenticatorConfigRepresentation"
    of_execution, every, one = "executions/{id}/config", "config", "config/{config}"
    read = "Get an authenticator configuration"

    def get(request: AdminRequest) -> Awaitable[Reply]:
        return entity(configs.one(request.realm, request.path["config"]))

    return (
        rows.post(
            of_execution,
            "Create the authenticator configuration of an execution",
            lambda r: created(r, configs.configure(r.acting, r.path["id"], r.body)),
            body=Body(schema),
        ),
        rows.post(
            every,
            "Create an authenticator configuration that no execution has",
            lambda r: created(r, configs.create(r.acting, r.body)),
            body=Body(schema),
        ),
        rows.get(f"{of_execution}/{{config}}", read, get, returns=schema),
        rows.get(one, read, get, returns=schema, versioned=True),
        rows.put(
            one,
            "Replace an authenticator configuration",
            lambda r: done(configs.replace(r.acting, r.path["config"], r.body)),
            body=Body(schema),
            versioned=True,
        ),
        rows.delete(
            one,
            "Delete an authenticator configuration",
            lambda r: done(configs.remove(r.acting, r.path["config"])),
            versioned=True,
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
        return done(actions.configure(request.acting, request.path["alias"], request.body))

    return (
        rows.get(
            "",
            "List the required actions",
            lambda r: document(actions.every(r.realm)),
            allowed=_LIST_ACTIONS,
            returns=f"[{schema}]",
        ),
        rows.get(
            one,
            "Get a required action",
            lambda r: entity(actions.one(r.realm, r.path["alias"])),
            returns=schema,
            versioned=True,
        ),
        rows.put(
            one,
            "Update a required action",
            lambda r: done(actions.replace(r.acting, r.path["alias"], r.body)),
            body=Body(schema),
            versioned=True,
        ),
        rows.delete(
            one,
            "Delete a required action",
            lambda r: done(actions.remove(r.acting, r.path["alias"])),
            versioned=True,
        ),
        rows.get(
            f"{one}/config",
            "Get the configuration of a required action",
            lambda r: document(actions.config(r.realm, r.path["alias"])),
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
            lambda r: constant(actions.described(r.path["alias"])),
            returns="object",
        ),
        rows.post(
            f"{one}/raise-priority",
            "Move a required action before the previous one",
            lambda r: done(actions.move(r.acting, r.path["alias"], up=True)),
            status=204,
        ),
        rows.post(
            f"{one}/lower-priority",
            "Move a required action behind the next one",
            lambda r: done(actions.move(r.acting, r.path["alias"], up=False)),
            status=204,
        ),
    )


def _registration(actions: RequiredActionAdministration) -> tuple[Operation, ...]:
    rows = _resource("")
    return (
        rows.get(
            "unregistered-required-actions",
            "List the required actions that the realm does not have",
            lambda r: document(actions.unregistered(r.realm)),
            returns="[object]",
        ),
        rows.post(
            "register-required-action",
            "Register a required action that the realm does not have",
            lambda r: done(actions.register(r.acting, r.body)),
            body=Body(),
            status=204,
        ),
    )
