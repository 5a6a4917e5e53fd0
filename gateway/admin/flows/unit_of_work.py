"""A realm's flows within one transaction: read, changed, and checked before they are stored.

Any flow that exists may be bound, and a bound one may be changed: programs bind a flow before its
executions are made, and bind an empty one while they replace another. A sign-in by a flow that
cannot act is refused (`sign_in_rules`). A flow in use is not removed.
Keycloak: the flow bindings of realms and clients
"""

from collections.abc import AsyncIterator, Container, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from gateway.admin.access import Acting, existing
from gateway.admin.changes import Change, Changes
from gateway.domain.clients import Client
from gateway.domain.flows import (
    GONE,
    PATTERNS,
    AuthenticatorConfig,
    Execution,
    Flow,
    Flows,
    config_document,
    configs_in,
    default_configs,
    default_flows,
    flow_document,
    flows_in,
)
from gateway.domain.limits.patterns import LARGEST_PATTERNS, pattern_weight
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import DocumentKind, Stores
from gateway.domain.realm import FlowBindings, Realm
from gateway.domain.refusals import InvalidRequest


async def require_unused(stores: Stores, realm: Realm, removed: Sequence[Flow]) -> None:
    """Raise InvalidRequest where one of these flows is in use."""
    if not removed:
        return
    clients = await stores.clients.list_clients(realm.id)
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
        if flows.find_flow(flow_id) is None:
            raise InvalidRequest(f"There is no flow with the id '{flow_id}'")


async def realm_flows(stores: Stores, realm: Realm) -> Flows:
    """Return all flows of a realm."""
    documents = stores.documents
    flows = await documents.list_documents(realm.id, DocumentKind.AUTHENTICATION_FLOW)
    configs = await documents.list_documents(realm.id, DocumentKind.AUTHENTICATOR_CONFIG)
    return flows_in(realm.id, flows, configs)


_MAX_FLOWS: Final = 300
"""Flows of a realm, sub-flows included: every gateway holds all of them."""
_MAX_EXECUTIONS: Final = 50
_MOST_CONFIGURED: Final = 256 * 1024
"""Characters of all configurations of a realm: every gateway holds them as well."""
_FLOW, _CONFIG = DocumentKind.AUTHENTICATION_FLOW, DocumentKind.AUTHENTICATOR_CONFIG


class FlowUnitOfWork:
    """All flows and configurations of a realm. The getters raise NotFound."""

    def __init__(self, realm: Realm, flows: Flows, configs: dict[str, AuthenticatorConfig]) -> None:
        self.realm = realm
        self._before = flows
        self._flows = {flow.id: flow for flow in flows}
        self._configs_before = dict(configs)
        self.configs = configs

    @classmethod
    async def open(cls, stores: Stores, realm: Realm) -> "FlowUnitOfWork":
        configs = configs_in(realm.id, await stores.documents.list_documents(realm.id, _CONFIG))
        return cls(realm, await realm_flows(stores, realm), configs)

    @property
    def flows(self) -> Flows:
        return Flows(self._flows.values(), self.configs)

    def get_flow_by_alias(self, alias: str, missing: str = "Flow not found") -> Flow:
        return existing(self.flows.named(alias), missing)

    def get_flow(self, flow_id: str, missing: str = "Could not find flow with id") -> Flow:
        return existing(self._flows.get(flow_id), missing)

    def get_execution(self, execution_id: str) -> tuple[Flow, Execution]:
        """Return an execution and its flow."""
        return existing(self.flows.holding(execution_id), "Illegal execution")

    def put_flow(self, flow: Flow) -> None:
        if len(flow.executions) > _MAX_EXECUTIONS:
            raise InvalidRequest(f"A flow has at most {_MAX_EXECUTIONS} executions")
        self._flows[flow.id] = flow
        if len(self._flows) > _MAX_FLOWS:
            raise InvalidRequest(f"A realm has at most {_MAX_FLOWS} flows")

    def remove_flow(self, flow_id: str) -> None:
        """Remove a flow with its configurations, and the sub-flows that no other one contains."""
        flow = self._flows.pop(flow_id)
        for execution in flow.executions:
            self.configs.pop(execution.config or "", None)
        for part in flow.parts:
            if part in self._flows and not self.flows.is_part(part):
                self.remove_flow(part)

    async def store_flows(self, change: Change) -> None:
        """Check and store the changes; raises InvalidRequest."""
        changed = {
            flow.id for flow in self._flows.values() if self._before.find_flow(flow.id) != flow
        }
        removed = [flow for flow in self._before if flow.id not in self._flows]
        changed |= {flow.id for flow in removed}
        stores, realm_id = change.stores, self.realm.id
        await require_unused(stores, self.realm, removed)
        flows = {name: flow_document(flow) for name, flow in self._flows.items()}
        await _store_documents(
            stores, realm_id, _FLOW, changed, documents=flows, defaults=default_flows(realm_id)
        )
        configs = {name: config_document(config) for name, config in self.configs.items()}
        changed = self._changed_configs()
        if changed:
            _require_small(self.configs.values())
        await _store_documents(
            stores,
            realm_id,
            _CONFIG,
            changed,
            documents=configs,
            defaults=default_configs(realm_id),
        )
        change.invalidate(realm_topic(realm_id))

    def _changed_configs(self) -> set[str]:
        names = self.configs.keys() | self._configs_before.keys()
        return {name for name in names if self.configs.get(name) != self._configs_before.get(name)}


def excess_of(configs: Iterable[AuthenticatorConfig]) -> tuple[str, str] | None:
    """Return the exceeding size of a realm's configurations and the limit; None within the limit.

    Each load of the realm prepares the patterns.
    """
    known = tuple(configs)
    size = sum(each.size for each in known)
    if size > _MOST_CONFIGURED:
        return f"{size} characters", f"at most {_MOST_CONFIGURED} characters"
    patterns = {text for each in known for name, text in each.config if name in PATTERNS}
    weights = (sum(map(weight, patterns)) for weight in (len, pattern_weight))
    if any(weight > LARGEST_PATTERNS for weight in weights):
        return "long patterns", f"at most {LARGEST_PATTERNS} characters in patterns"
    return None


def _require_small(configs: Iterable[AuthenticatorConfig]) -> None:
    excess = excess_of(configs)
    if excess is not None:
        raise InvalidRequest(f"The configurations of a realm have {excess[1]}")


async def _store_documents(
    stores: Stores,
    realm_id: str,
    kind: DocumentKind,
    changed: set[str],
    *,
    documents: Mapping[str, Mapping[str, Any]],
    defaults: Container[str],
) -> None:
    for name in sorted(changed):
        if name in documents:
            await stores.documents.put_document(realm_id, kind, name, documents[name])
        else:
            await remove_document(stores, realm_id, kind, name, is_default=name in defaults)


async def remove_document(
    stores: Stores, realm_id: str, kind: DocumentKind, name: str, *, is_default: bool
) -> None:
    """Remove a stored document; a default of every realm is marked as removed."""
    if is_default:
        await stores.documents.put_document(realm_id, kind, name, GONE)
    else:
        await stores.documents.remove_document(realm_id, kind, name)


@asynccontextmanager
async def changing_flows(
    changes: Changes, acting: Acting
) -> AsyncIterator[tuple[Change, FlowUnitOfWork]]:
    """Open a change of flows that locks the realm; store them at its end."""
    async with changes.begin(acting, alone=True) as change:
        work = await FlowUnitOfWork.open(change.stores, change.realm)
        yield change, work
        await work.store_flows(change)
