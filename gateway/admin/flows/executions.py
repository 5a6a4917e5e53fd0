"""Executions of flows and their configurations: added, changed, reordered and removed.

Built-in flows keep their executions; only the requirement may change. Refusals have Keycloak's
texts. Keycloak: authentication/executions, authentication/config
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from gateway.admin.access import Acting, existing
from gateway.admin.changes import Administration
from gateway.admin.flows.administration import require_alias, require_plain
from gateway.admin.flows.unit_of_work import FlowUnitOfWork, changing_flows
from gateway.domain.errors import AlreadyExists
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.flows import AuthenticatorConfig, Execution, Flow, FlowKind, Requirement
from gateway.domain.random_values import uuid4
from gateway.domain.refusals import InvalidRequest, NotFound, WireFamily, duplicate_resource
from gateway.representations.flows import (
    AUTHENTICATORS,
    ROLES,
    AuthenticatorRole,
    ExecutionChange,
    ExecutionDraft,
    parse_change,
    parse_config,
    parse_execution,
    parse_names,
    render_config,
    render_execution,
    unmasked,
)

_EXECUTIONS: Final = "authentication/executions"
_FLOWS: Final = "authentication/flows"
_STEP: Final = ResourceType.AUTH_EXECUTION


class ExecutionAdministration(Administration):
    """The use cases. All raise NotFound, InvalidRequest or AlreadyExists."""

    async def get_execution(self, acting: Acting, execution_id: str) -> dict[str, Any]:
        async with self._database.read() as stores:
            work = await FlowUnitOfWork.open(stores, acting.realm)
        return render_execution(*work.get_execution(execution_id))

    async def add_authenticator(
        self, acting: Acting, alias: str, document: Mapping[str, Any]
    ) -> str:
        """Add an authenticator to a flow, disabled if it can be; return its id."""
        given = parse_names(document)
        async with changing_flows(self._changes, acting) as (change, work):
            parent = _open_parent(work, alias, "execution", WireFamily.PROSE)
            provider = _known(parent, given.get("provider"))
            requirement = _at_first(provider)
            step = Execution(str(uuid4()), requirement, _priority(parent, given), provider)
            work.put_flow(parent.with_executions((*parent.executions, step)))
            path = f"{_FLOWS}/{alias}/executions/execution"
            change.record(OperationType.CREATE, _STEP, path, {**document, "id": step.id})
        return step.id

    async def add_sub_flow(self, acting: Acting, alias: str, document: Mapping[str, Any]) -> str:
        """Add an empty flow to a flow, disabled; return its id."""
        given = parse_names(document)
        name, kind = given.get("alias") or "", _kind(given.get("type"))
        async with changing_flows(self._changes, acting) as (change, work):
            parent = _open_parent(work, alias, "sub-flow", WireFamily.MESSAGE)
            require_alias(work, name, "create", "New flow alias name already exists")
            form = given.get("provider") if kind is FlowKind.FORM else None
            part = Flow(str(uuid4()), name, kind, given.get("description") or "", top_level=False)
            step = Execution(
                str(uuid4()),
                Requirement.DISABLED,
                _priority(parent, given),
                form,
                part.id,
            )
            work.put_flow(part)
            work.put_flow(parent.with_executions((*parent.executions, step)))
            path = f"{_FLOWS}/{alias}/executions/flow"
            sent = {**document, "id": step.id}
            change.record(OperationType.CREATE, ResourceType.AUTH_EXECUTION_FLOW, path, sent)
        return part.id

    async def create_execution(self, acting: Acting, document: Mapping[str, Any]) -> str:
        """Add an execution with all its fields; return its id."""
        draft = parse_execution(document)
        async with changing_flows(self._changes, acting) as (change, work):
            if draft.parent is None:
                raise InvalidRequest("parent flow not set on new execution", WireFamily.PROSE)
            parent = work.flows.find_flow(draft.parent)
            if parent is None:
                raise InvalidRequest("execution parent flow does not exist", WireFamily.PROSE)
            _require_open(parent, "It is illegal to add execution to a built in flow")
            _require_part(work, parent, draft)
            known = draft.authenticator if draft.is_flow else _known(parent, draft.authenticator)
            priority = _next_priority(parent) if draft.priority is None else draft.priority
            step_id = draft.id or str(uuid4())
            if work.flows.holding(step_id) is not None:
                raise duplicate_resource()
            step = Execution(step_id, draft.requirement, priority, known, draft.flow)
            work.put_flow(parent.with_executions((*parent.executions, step)))
            change.record(OperationType.CREATE, _STEP, f"{_EXECUTIONS}/{step.id}", document)
        return step.id

    async def update_execution(
        self, acting: Acting, alias: str, document: Mapping[str, Any]
    ) -> None:
        """Change requirement and priority of an execution, and the name of its sub-flow.

        A priority that is not sent is 0, as in Keycloak. Raises NotFound where nothing is changed
        of an execution that is said to be, or not to be, a flow, and is none.
        """
        given = parse_change(document)
        async with changing_flows(self._changes, acting) as (change, work):
            work.get_flow_by_alias(alias, "flow not found")
            parent, step = work.get_execution(given.id or "")
            part = work.flows.find_flow(step.flow)
            changed = replace(
                step,
                requirement=given.requirement or step.requirement,
                priority=given.priority or 0,
            )
            if part is not None:
                _rename(work, part, given)
            elif changed == step and given.names_part:
                raise NotFound("Illegal execution")
            if changed != step:
                work.put_flow(work.get_flow(parent.id).exchanging(changed))
            path = f"{_FLOWS}/{alias}/executions"
            change.record(OperationType.UPDATE, _STEP, path, document)

    async def remove_execution(self, acting: Acting, execution_id: str) -> None:
        async with changing_flows(self._changes, acting) as (change, work):
            parent, step = work.get_execution(execution_id)
            change.require_match(render_execution, parent, step)
            _require_open(parent, "It is illegal to remove execution from a built in flow")
            work.configs.pop(step.config or "", None)
            others = (each for each in parent.executions if each.id != execution_id)
            work.put_flow(parent.with_executions(others))
            if step.flow is not None and not work.flows.is_part(step.flow):
                work.remove_flow(step.flow)
            change.record(OperationType.DELETE, _STEP, f"{_EXECUTIONS}/{execution_id}")

    async def move_execution(self, acting: Acting, execution_id: str, *, up: bool) -> None:
        """Exchange an execution with the one before or after."""
        async with changing_flows(self._changes, acting) as (change, work):
            parent, _ = work.get_execution(execution_id)
            _require_open(parent, "It is illegal to modify execution in a built in flow")
            work.put_flow(parent.with_executions(_moved(parent.executions, execution_id, up=up)))
            verb = "raise" if up else "lower"
            path = f"{_EXECUTIONS}/{execution_id}/{verb}-priority"
            change.record(OperationType.UPDATE, _STEP, path)


def _open_parent(work: FlowUnitOfWork, alias: str, what: str, family: WireFamily) -> Flow:
    parent = work.flows.named(alias)
    if parent is None:
        raise InvalidRequest("Parent flow doesn't exist", family)
    _require_open(parent, f"It is illegal to add {what} to a built in flow")
    return parent


def _require_open(flow: Flow, text: str) -> None:
    if flow.built_in:
        raise InvalidRequest(text, WireFamily.PROSE)


def _require_part(work: FlowUnitOfWork, parent: Flow, draft: ExecutionDraft) -> None:
    """Raise InvalidRequest for a sub-flow that could not run, or that the execution would ignore.

    A top-level flow stays one: a flow that a realm is bound to is never a part of another flow.
    """
    if not draft.is_flow and draft.flow is None:
        return
    part = work.flows.find_flow(draft.flow)
    if not draft.is_flow:
        raise InvalidRequest("flowId has an effect only where authenticatorFlow is true")
    if part is None or part.top_level:
        raise InvalidRequest("flowId must be the id of a flow that is not of the top level")
    if parent in work.flows.below(part.id):
        raise InvalidRequest("A flow cannot contain itself")


def _known(parent: Flow, provider: str | None) -> str:
    """Return the authenticator if flows of that kind take it; raises InvalidRequest."""
    return _require_role(provider, ROLES[parent.kind])


def _at_first(provider: str) -> Requirement:
    choices = AUTHENTICATORS[provider].choices
    return Requirement.DISABLED if Requirement.DISABLED in choices else choices[0]


def _require_role(provider: str | None, role: AuthenticatorRole) -> str:
    known = AUTHENTICATORS.get(provider or "")
    if known is None or known.role is not role:
        raise InvalidRequest(
            f"No authentication provider found for id: {provider or 'null'}", WireFamily.PROSE
        )
    return known.id


def _kind(text: str | None) -> FlowKind:
    """Return the kind of a sub-flow; Keycloak takes any text, an unknown one is basic here."""
    return FlowKind(text) if text in set(FlowKind) else FlowKind.BASIC


def _priority(parent: Flow, given: Mapping[str, Any]) -> int:
    """Return the priority of a new execution: last, unless given."""
    priority: int | None = given.get("priority")
    return _next_priority(parent) if priority is None else priority


def _next_priority(parent: Flow) -> int:
    return parent.executions[-1].priority + 1 if parent.executions else 0


def _rename(work: FlowUnitOfWork, part: Flow, given: ExecutionChange) -> None:
    name = given.name or part.alias
    description = part.description if given.description is None else given.description
    if (name, description) == (part.alias, part.description):
        return
    if part.built_in:
        raise InvalidRequest(
            "It is illegal to modify execution in a built in flow", WireFamily.PROSE
        )
    if name != part.alias:
        require_alias(work, name, "update", "Flow alias name already exists")
    work.put_flow(replace(part, alias=name, description=description))


def _moved(executions: tuple[Execution, ...], moving: str, *, up: bool) -> Iterable[Execution]:
    """Exchange two neighbors; no two of the flow share a priority afterwards."""
    order = list(executions)
    index = next(place for place, each in enumerate(order) if each.id == moving)
    other = index - 1 if up else index + 1
    if not 0 <= other < len(order):
        return executions
    priorities: list[int] = []
    for each in order:
        priorities.append(max(each.priority, priorities[-1] + 1) if priorities else each.priority)
    order[index], order[other] = order[other], order[index]
    return [
        replace(each, priority=priority) for each, priority in zip(order, priorities, strict=True)
    ]


_PATH: Final = "authentication/config"
_KIND: Final = ResourceType.AUTHENTICATOR_CONFIG


class AuthenticatorConfigs(Administration):
    """The use cases."""

    async def get_config(self, acting: Acting, config_id: str) -> dict[str, Any]:
        async with self._database.read() as stores:
            work = await FlowUnitOfWork.open(stores, acting.realm)
            return _render_config(work, _get_config(work, config_id))

    async def create_config(self, acting: Acting, document: Mapping[str, Any]) -> str:
        """Create a configuration that no execution has; raises InvalidRequest, AlreadyExists."""
        config = parse_config(document)
        async with changing_flows(self._changes, acting) as (change, work):
            _require_new(work, config)
            work.configs[config.id] = config
            change.record(OperationType.CREATE, _KIND, f"{_PATH}/{config.id}", document)
        return config.id

    async def configure_execution(
        self, acting: Acting, execution_id: str, document: Mapping[str, Any]
    ) -> str:
        """Configure an execution; raises NotFound, InvalidRequest or AlreadyExists."""
        config = parse_config(document)
        async with changing_flows(self._changes, acting) as (change, work):
            parent, step = work.get_execution(execution_id)
            work.configs.pop(step.config or "", None)
            _require_new(work, config)
            work.configs[config.id] = config
            work.put_flow(parent.exchanging(replace(step, config=config.id)))
            path = f"authentication/executions/{execution_id}/config"
            sent = {**document, "id": config.id}
            change.record(OperationType.CREATE, _KIND, path, sent)
        return config.id

    async def replace_config(
        self, acting: Acting, config_id: str, document: Mapping[str, Any]
    ) -> None:
        config = parse_config(document, config_id)
        async with changing_flows(self._changes, acting) as (change, work):
            before = _get_config(work, config_id)
            change.require_match(_render_config, work, before)
            work.configs[config_id] = unmasked(config, before)
            change.record(OperationType.UPDATE, _KIND, f"{_PATH}/{config_id}", document)

    async def remove_config(self, acting: Acting, config_id: str) -> None:
        async with changing_flows(self._changes, acting) as (change, work):
            change.require_match(_render_config, work, _get_config(work, config_id))
            del work.configs[config_id]
            for flow in work.flows:
                for step in flow.executions:
                    if step.config == config_id:
                        work.put_flow(work.get_flow(flow.id).exchanging(replace(step, config=None)))
            change.record(OperationType.DELETE, _KIND, f"{_PATH}/{config_id}")


def _get_config(work: FlowUnitOfWork, config_id: str) -> AuthenticatorConfig:
    return existing(work.configs.get(config_id), "Could not find authenticator config")


def _require_new(work: FlowUnitOfWork, config: AuthenticatorConfig) -> None:
    if not config.alias:
        raise AlreadyExists(
            "Failed to create authentication execution configuration with empty alias name"
        )
    require_plain(config.alias)
    if any(each.alias == config.alias for each in work.configs.values()):
        raise AlreadyExists(f"Authentication execution configuration {config.alias} already exists")
    if config.id in work.configs:
        raise duplicate_resource()


def _render_config(work: FlowUnitOfWork, config: AuthenticatorConfig) -> dict[str, Any]:
    return render_config(config, work.flows.configured(config.id))
