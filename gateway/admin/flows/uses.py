"""What uses a flow.

Any flow that exists may be bound, and a bound one may be changed: programs bind a flow before its
executions are made, and bind an empty one while they replace another. A sign-in by a flow that
cannot act is refused (`sign_in_rules`).
Keycloak: the flow bindings of realms and clients
"""

from collections.abc import Sequence

from gateway.admin.access import (
    InvalidRequest,
)
from gateway.domain.clients import Client
from gateway.domain.flows import Flow, Flows
from gateway.domain.ports.storage import DocumentKind, Stores
from gateway.domain.realm import FlowBindings, Realm
from gateway.representations.flows import flows_in


async def require_unused(stores: Stores, realm: Realm, removed: Sequence[Flow]) -> None:
    """Raise InvalidRequest where one of these flows is in use."""
    if not removed:
        return
    clients = await stores.clients.list(realm.id)
    own = {flow_id for client in clients for flow_id in client.flow_overrides.values()}
    bound = {getattr(realm.flows, name) for name in FlowBindings.__dataclass_fields__}
    for flow in removed:
        if flow.alias in bound or flow.id in own:
            raise InvalidRequest(f"'{flow.alias}' is in use: bind another flow first")


async def require_bindable(stores: Stores, realm: Realm, bindings: FlowBindings) -> None:
    """Raise InvalidRequest for new bindings of missing flows; `realm` is as before."""
    if bindings == realm.flows:
        return
    flows = await realm_flows(stores, realm)
    for name in FlowBindings.__dataclass_fields__:
        alias = getattr(bindings, name)
        if alias != getattr(realm.flows, name) and flows.named(alias) is None:
            raise InvalidRequest(f"There is no flow '{alias}'")


async def require_existing_overrides(
    stores: Stores, realm: Realm, client: Client, before: Client | None = None
) -> None:
    """Raise InvalidRequest for a new override by a flow that does not exist."""
    had = {} if before is None else before.flow_overrides
    new = {own for name, own in client.flow_overrides.items() if had.get(name) != own}
    if not new:
        return
    flows = await realm_flows(stores, realm)
    for flow_id in new:
        if flows.find(flow_id) is None:
            raise InvalidRequest(f"There is no flow with the id '{flow_id}'")


async def realm_flows(stores: Stores, realm: Realm) -> Flows:
    """Return all flows of a realm."""
    documents = stores.documents
    flows = await documents.list(realm.id, DocumentKind.AUTHENTICATION_FLOW)
    configs = await documents.list(realm.id, DocumentKind.AUTHENTICATOR_CONFIG)
    return flows_in(realm.id, flows, configs)
