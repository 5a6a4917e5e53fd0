"""A realm's flows within one transaction: read, changed, and judged before they are stored.

A flow that is in use may be changed to what takes effect, and to nothing else; what is in use
nowhere is a draft, and may be anything.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from gateway.admin.access import Acting, Change, Changes, Missing, Refused
from gateway.admin.flows.uses import require_effective
from gateway.domain.flows import AuthenticatorConfig, Execution, Flow, Flows
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import DocumentKind, Stores
from gateway.domain.realm import Realm
from gateway.representations.flows import (
    GONE,
    config_document,
    configs_in,
    default_configs,
    default_flows,
    flow_document,
    flows_in,
)

_MOST: Final = 300
"""Flows of a realm, sub-flows among them: every gateway holds all of them."""
_MOST_EXECUTIONS: Final = 50
_FLOW, _CONFIG = DocumentKind.AUTHENTICATION_FLOW, DocumentKind.AUTHENTICATOR_CONFIG


class FlowBook:
    """All flows and configurations of a realm."""

    def __init__(self, realm: Realm, flows: Flows, configs: dict[str, AuthenticatorConfig]) -> None:
        self.realm = realm
        self._before = flows
        self._flows = {flow.id: flow for flow in flows}
        self._configs_before = dict(configs)
        self.configs = configs

    @classmethod
    async def open(cls, stores: Stores, realm: Realm) -> "FlowBook":
        """Read the flows of a realm."""
        flows = flows_in(realm.id, await stores.documents.list(realm.id, _FLOW))
        configs = configs_in(realm.id, await stores.documents.list(realm.id, _CONFIG))
        return cls(realm, flows, configs)

    @property
    def flows(self) -> Flows:
        """The flows as they are now."""
        return Flows(self._flows.values())

    def named(self, alias: str, missing: str = "Flow not found") -> Flow:
        """Return the flow with the alias; raises Missing."""
        flow = self.flows.named(alias)
        if flow is None:
            raise Missing(missing)
        return flow

    def one(self, flow_id: str, missing: str = "Could not find flow with id") -> Flow:
        """Return the flow with the id; raises Missing."""
        flow = self._flows.get(flow_id)
        if flow is None:
            raise Missing(missing)
        return flow

    def execution(self, execution_id: str) -> tuple[Flow, Execution]:
        """Return an execution and the flow that it is a step of; raises Missing."""
        found = self.flows.holding(execution_id)
        if found is None:
            raise Missing("Illegal execution")
        return found

    def put(self, flow: Flow) -> None:
        """Take a flow as it is to be."""
        if len(flow.executions) > _MOST_EXECUTIONS:
            raise Refused(f"A flow has at most {_MOST_EXECUTIONS} executions")
        self._flows[flow.id] = flow
        if len(self._flows) > _MOST:
            raise Refused(f"A realm has at most {_MOST} flows")

    def drop(self, flow_id: str) -> None:
        """Take a flow away, with its parts and their configurations."""
        for flow in self.flows.below(flow_id):
            del self._flows[flow.id]
            for execution in flow.executions:
                self.configs.pop(execution.config or "", None)

    async def store(self, change: Change) -> None:
        """Judge what has changed, and store it; raises Refused."""
        changed = {flow.id for flow in self._flows.values() if self._is_changed(flow)}
        changed |= {flow.id for flow in self._before if flow.id not in self._flows}
        await require_effective(
            change.stores,
            self.realm,
            (self._before, self.flows),
            changed,
            self._reconfigured(),
        )
        documents, realm_id = change.stores.documents, self.realm.id
        for flow_id in sorted(changed):
            flow = self._flows.get(flow_id)
            if flow is not None:
                await documents.put(realm_id, _FLOW, flow_id, flow_document(flow))
            elif flow_id in default_flows(realm_id):
                await documents.put(realm_id, _FLOW, flow_id, GONE)
            else:
                await documents.remove(realm_id, _FLOW, flow_id)
        await self._store_configs(change)
        change.tell(realm_topic(realm_id))

    async def _store_configs(self, change: Change) -> None:
        documents, realm_id = change.stores.documents, self.realm.id
        for config_id in sorted(self._changed_configs()):
            config = self.configs.get(config_id)
            if config is not None:
                await documents.put(realm_id, _CONFIG, config_id, config_document(config))
            elif config_id in default_configs(realm_id):
                await documents.put(realm_id, _CONFIG, config_id, GONE)
            else:
                await documents.remove(realm_id, _CONFIG, config_id)

    def _is_changed(self, flow: Flow) -> bool:
        return self._before.find(flow.id) != flow

    def _changed_configs(self) -> set[str]:
        names = self.configs.keys() | self._configs_before.keys()
        return {name for name in names if self.configs.get(name) != self._configs_before.get(name)}

    def _told(self, config_id: str) -> bool:
        before, after = self._configs_before.get(config_id), self.configs.get(config_id)
        return before is None or after is None or before.config != after.config

    def _reconfigured(self) -> set[str]:
        """Return the flows whose executions are told something else by their configuration."""
        changed = {name for name in self._changed_configs() if self._told(name)}
        return {
            flow.id
            for flow in self._flows.values()
            if any(execution.config in changed for execution in flow.executions)
        }


@asynccontextmanager
async def changing_flows(
    changes: Changes, acting: Acting
) -> AsyncIterator[tuple[Change, FlowBook]]:
    """Open a change of flows, which nobody else may make at the same time; store it at the end."""
    async with changes.begin(acting, alone=True) as change:
        book = await FlowBook.open(change.stores, change.realm)
        yield change, book
        await book.store(change)
