"""What uses a flow, and what a flow in use must amount to.

Flows of pages may be any that exist: this version has no pages, so no user signs in by them.
Keycloak: the flow bindings of realms and clients
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from gateway.admin.access import (
    InvalidRequest,
)
from gateway.domain.clients import Client
from gateway.domain.flows import DIRECT_GRANT, Flow, Flows, client_methods, direct_grant_flow
from gateway.domain.ports.storage import DocumentKind, Stores
from gateway.domain.realm import FlowBindings, Realm
from gateway.representations.flows import flows_in

EFFECTS: Final[Mapping[str, Callable[[Flows, Flow], object]]] = {
    "direct_grant": direct_grant_flow,
    "client_authentication": client_methods,
}
"""What a flow bound for that use amounts to; raises UnusableSetting. Other uses are pages."""
_PAGES: Final = "browser"


async def require_effective(
    stores: Stores,
    realm: Realm,
    states: tuple[Flows, Flows],
    changed: Iterable[str],
    reconfigured: Iterable[str],
) -> None:
    """Raise InvalidRequest or UnusableSetting for a change of a flow in use that has no effect.

    `states` are the flows before and after; in `reconfigured` ones a configuration has changed.
    """
    before, after = states
    other_values = _roots(states, reconfigured)
    for root_id in sorted(_roots(states, changed) | other_values):
        root = before.find(root_id)
        same = root_id not in other_values and _steps(before, root_id) == _steps(after, root_id)
        if root is None or same:
            continue
        uses = await _uses(stores, realm, root)
        if uses:
            _require(uses, after, after.find(root_id), root.alias)


def _roots(states: tuple[Flows, Flows], changed: Iterable[str]) -> set[str]:
    return {
        root
        for flow_id in changed
        for flows in states
        if flows.find(flow_id) is not None
        for root in flows.containing(flow_id)
    }


async def require_bindable(stores: Stores, realm: Realm, bindings: FlowBindings) -> None:
    """Raise InvalidRequest or UnusableSetting for bindings without effect; `realm` is as before."""
    if bindings == realm.flows:
        return
    flows = await realm_flows(stores, realm)
    for name in FlowBindings.__dataclass_fields__:
        alias = getattr(bindings, name)
        if alias == getattr(realm.flows, name):
            continue
        flow = flows.named(alias)
        if flow is None:
            raise InvalidRequest(f"There is no flow '{alias}'")
        if name in EFFECTS:
            EFFECTS[name](flows, flow)


async def require_usable_overrides(
    stores: Stores, realm: Realm, client: Client, before: Client | None = None
) -> None:
    """Raise InvalidRequest or UnusableSetting for new flow overrides without effect."""
    had = {} if before is None else before.flow_overrides
    new = {name: own for name, own in client.flow_overrides.items() if had.get(name) != own}
    if not new:
        return
    flows = await realm_flows(stores, realm)
    for name, flow_id in new.items():
        flow = flows.find(flow_id)
        if flow is None:
            raise InvalidRequest(f"There is no flow with the id '{flow_id}'")
        if name == DIRECT_GRANT:
            direct_grant_flow(flows, flow)


async def realm_flows(stores: Stores, realm: Realm) -> Flows:
    """Return all flows of a realm."""
    documents = stores.documents
    flows = await documents.list(realm.id, DocumentKind.AUTHENTICATION_FLOW)
    configs = await documents.list(realm.id, DocumentKind.AUTHENTICATOR_CONFIG)
    return flows_in(realm.id, flows, configs)


async def _uses(stores: Stores, realm: Realm, root: Flow) -> set[str]:
    names = FlowBindings.__dataclass_fields__
    uses = {name for name in names if getattr(realm.flows, name) == root.alias}
    for client in await stores.clients.list(realm.id):
        own = {name for name, flow_id in client.flow_overrides.items() if flow_id == root.id}
        # Of the overrides of a client only this one has an effect that can be checked.
        uses |= {name if name == DIRECT_GRANT else _PAGES for name in own}
    return uses


def _require(uses: set[str], flows: Flows, root: Flow | None, alias: str) -> None:
    if root is None:
        raise InvalidRequest(f"'{alias}' is in use: bind another flow first")
    for use, effect in EFFECTS.items():
        if use in uses:
            effect(flows, root)


def _steps(flows: Flows, root_id: str) -> dict[str, object]:
    return {flow.id: (flow.kind, flow.executions) for flow in flows.below(root_id)}
