"""Flows, configurations, required actions and texts of a realm file.

A flow with the same alias is changed; removed is only a sub-flow that no flow contains any more.
A flow that a file names twice has the executions of both, as in Keycloak. A new realm takes the ids
of the file, since its clients name flows by id. A binding of a missing flow refuses the file; a
sign-in by a flow that cannot act is refused (`sign_in_rules`).
Keycloak: realm import
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gateway.admin.flows.unit_of_work import excess_of, realm_flows, remove_document
from gateway.domain.clients import Client
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.flows import (
    DEFAULT_ACTIONS,
    GONE,
    AuthenticatorConfig,
    Execution,
    Flow,
    Flows,
    action_document,
    actions_in,
    config_document,
    configs_in,
    default_configs,
    default_flows,
    flow_document,
)
from gateway.domain.limits.input_sizes import in_slices
from gateway.domain.ports.storage import DocumentKind, Stores
from gateway.domain.random_values import uuid4
from gateway.domain.realm import FlowBindings, Realm
from gateway.representations.field_table import camel_case
from gateway.representations.flows import unmasked
from gateway.representations.realms import FlowInput, SignInInput, StepInput
from gateway.representations.refusals import describe, raise_all, refused

_FLOW, _CONFIG = DocumentKind.AUTHENTICATION_FLOW, DocumentKind.AUTHENTICATOR_CONFIG
_ALWAYS_THERE = "delete_account"
"""The required action that Keycloak adds to those of a file."""
_MOST_EXECUTIONS = 1000
"""Executions of a flow with those of its sub-flows: each load of the realm reads all of them."""
_ACTION, _TEXTS = DocumentKind.REQUIRED_ACTION, DocumentKind.LOCALIZATION


async def store_sign_in(
    stores: Stores, realm: Realm, before: Realm | None, given: SignInInput
) -> bool:
    """Store the flows, actions and texts; return whether anything has changed. Raises InvalidInput.

    The required actions of a new realm are those of its file, where it lists any or none.
    """
    changed = await _store_flows(stores, realm, given, new=before is None)
    for action in given.actions:
        if action not in actions_in(await stores.documents.list_documents(realm.id, _ACTION)):
            stored = {action.alias: action_document(action)}
            changed |= await _put_documents(stores, realm.id, _ACTION, stored)
    if before is None and given.has_actions:
        named = {_ALWAYS_THERE, *(action.alias for action in given.actions)}
        gone = {each.alias: GONE for each in DEFAULT_ACTIONS if each.alias not in named}
        changed |= await _put_documents(stores, realm.id, _ACTION, gone)
    for locale, texts in (given.texts or {}).items():
        known = await stores.documents.find_document(realm.id, _TEXTS, locale) or {}
        if {**known, **texts} != known:
            await stores.documents.put_document(realm.id, _TEXTS, locale, {**known, **texts})
            changed = True
    if changed or before is None or realm.flows != before.flows:
        await _check_bindings(stores, realm)
    return changed


async def check_overrides(stores: Stores, realm: Realm, clients: Iterable[Client]) -> None:
    """Raise InvalidInput for clients whose own flow does not exist."""
    own = [client async for client in in_slices(clients) if client.flow_overrides]
    if not own:
        return
    flows = await realm_flows(stores, realm)
    for client in own:
        for binding, flow_id in client.flow_overrides.items():
            if flow_id and flows.find_flow(flow_id) is None:
                path = f"clients.{client.client_id}.authenticationFlowBindingOverrides.{binding}"
                raise refused(path, flow_id, "a flow")


async def _store_flows(stores: Stores, realm: Realm, given: SignInInput, *, new: bool) -> bool:
    if not given.flows and not given.configs:
        return False
    documents, realm_id = stores.documents, realm.id
    known = await realm_flows(stores, realm)
    configs = configs_in(realm_id, await documents.list_documents(realm_id, _CONFIG))
    ids_by_alias = {config.alias: config.id for config in configs.values()}
    named = (
        replace(config, id=ids_by_alias.get(config.alias) or config.id or str(uuid4()))
        for config in given.configs
    )
    brought = [unmasked(config, configs.get(config.id)) for config in named]
    by_alias = {config.alias: config for config in (*configs.values(), *brought)}
    merge = _Merge(known, by_alias, given.flows, new=new)
    flows = merge.flows()
    stored = {flow.id: flow_document(flow) for flow in flows if flow != known.find_flow(flow.id)}
    ids = {flow.alias: flow.id for flow in flows}
    for flow in default_flows(realm_id).values():
        if ids.get(flow.alias, flow.id) != flow.id:
            stored[flow.id] = dict(GONE)
    kept = {
        config.id: config_document(config) for config in brought if config != configs.get(config.id)
    }
    excess = excess_of({**configs, **{each.id: each for each in brought}}.values())
    if excess is not None:
        raise refused("authenticatorConfig", *excess)
    changed = await _put_documents(stores, realm_id, _FLOW, stored)
    changed |= await _put_documents(stores, realm_id, _CONFIG, kept)
    await _remove_orphans(stores, realm_id, merge)
    return changed or bool(merge.orphans)


async def _remove_orphans(stores: Stores, realm_id: str, merge: "_Merge") -> None:
    """Remove the orphans, with the configurations that no other flow has."""
    for flow in merge.orphans:
        is_default = flow.id in default_flows(realm_id)
        await remove_document(stores, realm_id, _FLOW, flow.id, is_default=is_default)
        own = {step.config for step in flow.executions if step.config is not None}
        for config in sorted(own - merge.configured):
            is_default = config in default_configs(realm_id)
            await remove_document(stores, realm_id, _CONFIG, config, is_default=is_default)


_Name = tuple[str | None, str | None]
"""Identifies an execution in its flow: its authenticator, and the alias of its sub-flow."""


class _Merge:
    """The flows of a file among those of a realm, by alias."""

    def __init__(
        self,
        known: Flows,
        configs: Mapping[str | None, AuthenticatorConfig],
        given: tuple[FlowInput, ...],
        *,
        new: bool,
    ) -> None:
        self._known = known
        self._configs = configs
        self._given = _merged(given)
        self.orphans: list[Flow] = []
        """Sub-flows of the realm that no flow contains any more; `flows` finds them."""
        self.configured: set[str] = set()
        """The configurations of all other flows; `flows` finds them."""
        self._ids = {flow.alias: flow.id for flow in known}
        taken = {flow.id for flow in known}
        for flow in self._given:
            own = flow.id if flow.id not in taken else None
            if flow.alias not in self._ids or (new and own):
                self._ids[flow.alias] = own or str(uuid4())

    def flows(self) -> list[Flow]:
        errors: list[FieldError] = []
        flows: list[Flow] = []
        for given in self._given:
            errors += [
                FieldError(given.path, describe(step.flow), "a flow of the file")
                for step in given.steps
                if step.flow is not None and step.flow not in self._ids
            ]
            if not errors:
                flows.append(self._flow(given))
        raise_all(errors)
        flows += self._repointed()
        merged = {flow.alias: flow for flow in (*self._known, *flows)}
        self.orphans = self._orphans(merged)
        self.configured = {
            step.config for flow in merged.values() for step in flow.executions if step.config
        }
        _require_tree([*merged.values()])
        return [flow for flow in flows if flow.alias in merged]

    def _orphans(self, merged: dict[str, Flow]) -> list[Flow]:
        """Take sub-flows that nothing contains any more out of `merged`, and return them."""
        given = {flow.alias for flow in self._given}
        before = {part for flow in self._known for part in flow.parts}
        found: list[Flow] = []
        while True:
            contained = {part for flow in merged.values() for part in flow.parts}
            orphans = [
                flow
                for flow in merged.values()
                if flow.id in before - contained and flow.alias not in given
            ]
            if not orphans:
                return found
            found += orphans
            for flow in orphans:
                del merged[flow.alias]

    def _repointed(self) -> Iterator[Flow]:
        """Yield the flows of the realm whose sub-flows got the ids of the file."""
        moved = {
            flow.id: self._ids[flow.alias]
            for flow in self._known
            if self._ids[flow.alias] != flow.id
        }
        given = {flow.alias for flow in self._given}
        for flow in self._known:
            if flow.alias not in given and any(part in moved for part in flow.parts):
                steps = (
                    replace(step, flow=moved.get(step.flow or "", step.flow))
                    for step in flow.executions
                )
                yield flow.with_executions(steps)

    def _flow(self, given: FlowInput) -> Flow:
        known = self._known.named(given.alias)
        ids: defaultdict[_Name, list[str]] = defaultdict(list)
        for step in () if known is None else known.executions:
            ids[self._name(step)].append(step.id)
        steps = [self._step(step, ids) for step in given.steps]
        return Flow(
            id=self._ids[given.alias],
            alias=given.alias,
            kind=given.kind,
            description=given.description,
            top_level=given.top_level,
            built_in=given.built_in,
        ).with_executions(steps)

    def _step(self, given: StepInput, ids: Mapping[_Name, list[str]]) -> Execution:
        """Return the execution; it takes the next of the ids of those with the same name."""
        config = self._configs.get(given.config) if given.config else None
        known = ids.get((given.authenticator, given.flow))
        return Execution(
            id=known.pop(0) if known else str(uuid4()),
            requirement=given.requirement,
            priority=given.priority,
            authenticator=given.authenticator,
            flow=None if given.flow is None else self._ids[given.flow],
            config=None if config is None else config.id,
        )

    def _name(self, step: Execution) -> _Name:
        part = self._known.find_flow(step.flow)
        return step.authenticator, None if part is None else part.alias


def _require_tree(flows: list[Flow]) -> None:
    """Raise InvalidInput for a flow that is a part of itself, and for one of too many executions.

    A sub-flow counts at each place: few flows, each several times in the next, make millions.
    """
    every = Flows(flows)
    for flow in flows:
        if any(flow.id in each.parts for each in every.below(flow.id)):
            given = f"{describe(flow.alias)} as a part of itself"
            raise InvalidInput((FieldError("authenticationFlows", given, "a part of others"),))
    sizes: dict[str | None, int] = {}
    for flow in sorted(flows, key=lambda each: len(every.below(each.id))):
        sizes[flow.id] = sum(1 + sizes.get(each.flow, 0) for each in flow.executions)
        if sizes[flow.id] > _MOST_EXECUTIONS:
            given = f"{describe(flow.alias)} with {sizes[flow.id]} executions"
            allowed = f"at most {_MOST_EXECUTIONS} with those of its sub-flows"
            raise InvalidInput((FieldError("authenticationFlows", given, allowed),))


def _merged(given: Iterable[FlowInput]) -> tuple[FlowInput, ...]:
    """Return each alias once, with the executions of all flows that have it."""
    merged: dict[str, FlowInput] = {}
    for flow in given:
        first = merged.get(flow.alias)
        merged[flow.alias] = (
            flow if first is None else replace(first, steps=(*first.steps, *flow.steps))
        )
    return tuple(merged.values())


async def _put_documents(
    stores: Stores, realm_id: str, kind: DocumentKind, documents: Mapping[str, Mapping[str, Any]]
) -> bool:
    """Store the documents; return whether any has changed."""
    known = await stores.documents.list_documents(realm_id, kind)
    new = {name: each for name, each in documents.items() if known.get(name) != each}
    for name, document in new.items():
        await stores.documents.put_document(realm_id, kind, name, document)
    return bool(new)


async def _check_bindings(stores: Stores, realm: Realm) -> None:
    flows = await realm_flows(stores, realm)
    bound = {name: getattr(realm.flows, name) for name in FlowBindings.__dataclass_fields__}
    for name, alias in bound.items():
        if flows.named(alias) is None:
            raise refused(f"{camel_case(name)}Flow", alias, "the alias of a flow")
