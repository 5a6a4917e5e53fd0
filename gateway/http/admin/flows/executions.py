"""/admin/realms/{realm}/authentication/executions and /config. Keycloak: 7.4."""

from collections.abc import Iterable
from functools import partial
from typing import Final

from gateway.admin.access import AdminRole, Missing, Refused
from gateway.admin.clients import QUERY_CLIENTS
from gateway.admin.flows import AuthenticatorConfigs, ExecutionAdministration
from gateway.admin.realms import VIEW_REALM
from gateway.http.admin.operations import REALM, Body, Media, Operation
from gateway.http.admin.requests import (
    AdminRequest,
    created_reply,
    document_reply,
    done_reply,
    entity_reply,
)
from gateway.http.replies import Reply
from gateway.representations.flows import AUTHENTICATORS, Role, of_role

_MANAGE: Final = (AdminRole.MANAGE_REALM,)
_OF_CLIENTS: Final = (*VIEW_REALM, *QUERY_CLIENTS)
"""Who may learn how clients can prove themselves."""
_TAG: Final = "Authentication Management"
_ROOT: Final = f"{REALM}/authentication"
_EXECUTION: Final = "AuthenticationExecutionRepresentation"
_CONFIG: Final = "AuthenticatorConfigRepresentation"
_LISTS: Final = (
    ("authenticator-providers", Role.USER, "Authenticators of users"),
    ("client-authenticator-providers", Role.CLIENT, "Methods by which clients prove themselves"),
    ("form-providers", Role.FORM, "Forms"),
    ("form-action-providers", Role.FORM_ACTION, "Parts of forms"),
)


class ExecutionHandlers:
    """Answers what is asked about steps, what is set of them, and what they may be."""

    def __init__(self, executions: ExecutionAdministration, configs: AuthenticatorConfigs) -> None:
        self._executions = executions
        self._configs = configs

    async def insert(self, request: AdminRequest) -> Reply:
        """Add a step."""
        return created_reply(request, await self._executions.insert(request.acting, request.body))

    async def one(self, request: AdminRequest) -> Reply:
        """Return a step."""
        return entity_reply(await self._executions.one(request.realm, request.path["id"]))

    async def remove(self, request: AdminRequest) -> Reply:
        """Take a step away."""
        await self._executions.remove(request.acting, request.path["id"])
        return done_reply()

    async def move(self, request: AdminRequest, *, up: bool) -> Reply:
        """Let a step change places with its neighbour."""
        await self._executions.move(request.acting, request.path["id"], up=up)
        return done_reply()

    async def configure(self, request: AdminRequest) -> Reply:
        """Set something of a step."""
        execution_id = request.path["id"]
        made = await self._configs.create(request.acting, execution_id, request.body)
        return created_reply(request, made)

    async def config(self, request: AdminRequest) -> Reply:
        """Return what is set of a step."""
        return entity_reply(await self._configs.one(request.realm, request.path["config"]))

    async def config_of_nothing(self, _: AdminRequest) -> Reply:
        """Refuse a configuration without a step: it could have no effect."""
        raise Refused("A configuration belongs to an execution: it is made below that one")

    async def change_config(self, request: AdminRequest) -> Reply:
        """Set something else of a step."""
        await self._configs.replace(request.acting, request.path["config"], request.body)
        return done_reply()

    async def remove_config(self, request: AdminRequest) -> Reply:
        """Set nothing of a step."""
        await self._configs.remove(request.acting, request.path["config"])
        return done_reply()

    def operations(self) -> tuple[Operation, ...]:
        """Return the rows."""
        return (*self._steps(), *self._settings(), *_lists())

    def _steps(self) -> Iterable[Operation]:
        every = f"{_ROOT}/executions"
        one, manage = f"{every}/{{id}}", _MANAGE
        yield Operation(
            *("POST", every, self.insert, manage, "Add a step to a flow", _TAG),
            body=Body(Media.OBJECT, _EXECUTION),
        )
        yield Operation(
            *("GET", one, self.one, VIEW_REALM, "One step of a flow", _TAG),
            returns=_EXECUTION,
            versioned=True,
        )
        yield Operation(
            "DELETE", one, self.remove, manage, "Take a step away", _TAG, versioned=True
        )
        for verb, up in (("raise", True), ("lower", False)):
            yield Operation(
                "POST",
                f"{one}/{verb}-priority",
                partial(self.move, up=up),
                manage,
                f"Let a step change places with the one {'before' if up else 'after'}",
                _TAG,
                status=204,
            )

    def _settings(self) -> Iterable[Operation]:
        body, of_step = Body(Media.OBJECT, _CONFIG), f"{_ROOT}/executions/{{id}}/config"
        every, one = f"{_ROOT}/config", f"{_ROOT}/config/{{config}}"
        yield Operation(
            *("POST", of_step, self.configure, _MANAGE, "Configure a step", _TAG), body=body
        )
        yield Operation(
            *(
                "POST",
                every,
                self.config_of_nothing,
                _MANAGE,
                "Refused: it is made below its step",
                _TAG,
            ),
            body=body,
        )
        for path in (f"{of_step}/{{config}}", one):
            yield Operation(
                *("GET", path, self.config, VIEW_REALM, "What is set of a step", _TAG),
                returns=_CONFIG,
                versioned=path == one,
            )
        yield Operation(
            *("PUT", one, self.change_config, _MANAGE, "Configure it otherwise", _TAG),
            body=body,
            versioned=True,
        )
        yield Operation(
            *("DELETE", one, self.remove_config, _MANAGE, "Configure it no more", _TAG),
            versioned=True,
        )


async def _listed(_: AdminRequest, *, role: Role) -> Reply:
    return document_reply([each.listed() for each in of_role(role)])


async def _per_client(_: AdminRequest) -> Reply:
    """Return what may be set of each client for its method: nothing beside its attributes."""
    return document_reply({each.id: [] for each in of_role(Role.CLIENT)})


async def _described(request: AdminRequest) -> Reply:
    known = AUTHENTICATORS.get(request.path["provider"])
    if known is None or known.role is Role.FORM:
        raise Missing("Could not find authenticator provider")
    return document_reply(known.described())


def _lists() -> Iterable[Operation]:
    for name, role, summary in _LISTS:
        allowed = _OF_CLIENTS if role is Role.CLIENT else VIEW_REALM
        yield Operation(
            *("GET", f"{_ROOT}/{name}", partial(_listed, role=role), allowed, summary, _TAG),
            returns="[object]",
        )
    yield Operation(
        "GET",
        f"{_ROOT}/per-client-config-description",
        _per_client,
        _OF_CLIENTS,
        "What may be set of clients, by method",
        _TAG,
        returns="object",
    )
    yield Operation(
        "GET",
        f"{_ROOT}/config-description/{{provider}}",
        _described,
        VIEW_REALM,
        "What may be set of an authenticator",
        _TAG,
        returns="AuthenticatorConfigInfoRepresentation",
    )
