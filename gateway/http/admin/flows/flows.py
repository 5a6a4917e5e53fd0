"""/admin/realms/{realm}/authentication/flows. Keycloak: 7.4."""

from typing import Final

from gateway.admin.access import AdminRole
from gateway.admin.flows import ExecutionAdministration, FlowAdministration
from gateway.admin.realms import VIEW_REALM
from gateway.http.admin.operations import REALM, Body, Media, Operation
from gateway.http.admin.requests import (
    AdminRequest,
    created_at_reply,
    created_reply,
    document_reply,
    done_reply,
    entity_reply,
)
from gateway.http.replies import Reply

_MANAGE: Final = (AdminRole.MANAGE_REALM,)
_LIST: Final = (*VIEW_REALM, AdminRole.QUERY_CLIENTS, AdminRole.VIEW_CLIENTS)
"""Who may learn which flows there are: a client names the flows by which its users sign in."""
_TAG: Final = "Authentication Management"
_FLOW: Final = "AuthenticationFlowRepresentation"
_INFO: Final = "AuthenticationExecutionInfoRepresentation"
_ANY: Final = Body(Media.OBJECT)


class FlowHandlers:
    """Answers what is asked about flows, and about what is added to them."""

    def __init__(self, flows: FlowAdministration, executions: ExecutionAdministration) -> None:
        self._flows = flows
        self._executions = executions

    async def every(self, request: AdminRequest) -> Reply:
        """Return the flows."""
        return document_reply(await self._flows.every(request.realm))

    async def create(self, request: AdminRequest) -> Reply:
        """Make a flow."""
        return created_reply(request, await self._flows.create(request.acting, request.body))

    async def one(self, request: AdminRequest) -> Reply:
        """Return a flow."""
        return entity_reply(await self._flows.one(request.realm, request.path["id"]))

    async def replace(self, request: AdminRequest) -> Reply:
        """Rename a flow."""
        await self._flows.replace(request.acting, request.path["id"], request.body)
        return done_reply()

    async def remove(self, request: AdminRequest) -> Reply:
        """Take a flow away."""
        await self._flows.remove(request.acting, request.path["id"])
        return done_reply()

    async def copy(self, request: AdminRequest) -> Reply:
        """Copy a flow."""
        made = await self._flows.copy(request.acting, request.path["alias"], request.body)
        return _at_flow(request, made)

    async def executions(self, request: AdminRequest) -> Reply:
        """Return the steps of a flow."""
        found = await self._flows.executions(request.realm, request.path["alias"])
        return document_reply(found)

    async def change(self, request: AdminRequest) -> Reply:
        """Change a step of a flow."""
        await self._executions.replace(request.acting, request.path["alias"], request.body)
        return done_reply()

    async def add(self, request: AdminRequest) -> Reply:
        """Add an authenticator."""
        alias = request.path["alias"]
        made = await self._executions.add(request.acting, alias, request.body)
        return created_at_reply(request.url("authentication", "executions", made))

    async def add_flow(self, request: AdminRequest) -> Reply:
        """Add a flow to a flow."""
        alias = request.path["alias"]
        return _at_flow(
            request, await self._executions.add_flow(request.acting, alias, request.body)
        )

    def operations(self) -> tuple[Operation, ...]:
        """Return the rows."""
        every = f"{REALM}/authentication/flows"
        one, named = f"{every}/{{id}}", f"{every}/{{alias}}"
        view, manage = VIEW_REALM, _MANAGE
        whole, steps = Body(Media.OBJECT, _FLOW), f"{named}/executions"
        return (
            Operation("GET", every, self.every, _LIST, "The flows", _TAG, returns=f"[{_FLOW}]"),
            Operation("POST", every, self.create, manage, "Make a flow", _TAG, body=whole),
            Operation("GET", one, self.one, view, "One flow", _TAG, returns=_FLOW, versioned=True),
            Operation(
                *("PUT", one, self.replace, manage, "Rename a flow", _TAG),
                body=whole,
                versioned=True,
            ),
            Operation("DELETE", one, self.remove, manage, "Take a flow away", _TAG, versioned=True),
            Operation(
                *("POST", f"{named}/copy", self.copy, manage, "Copy a flow, whole", _TAG),
                body=_ANY,
            ),
            Operation(
                *("GET", steps, self.executions, view, "The steps of a flow", _TAG),
                returns=f"[{_INFO}]",
            ),
            Operation(
                *("PUT", steps, self.change, manage, "Change a step of a flow", _TAG),
                body=Body(Media.OBJECT, _INFO),
            ),
            Operation(
                *("POST", f"{steps}/execution", self.add, manage, "Add an authenticator", _TAG),
                body=_ANY,
            ),
            Operation(
                *("POST", f"{steps}/flow", self.add_flow, manage, "Add a flow to a flow", _TAG),
                body=_ANY,
            ),
        )


def _at_flow(request: AdminRequest, flow_id: str) -> Reply:
    return created_at_reply(request.url("authentication", "flows", flow_id))
