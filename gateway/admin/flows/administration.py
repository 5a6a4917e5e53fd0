"""Flows with their executions and configurations: listed, created, copied, changed and removed.

Built-in flows keep their executions; only the requirement may change. Refusals have Keycloak's
texts. Keycloak: authentication/flows, authentication/executions, authentication/config
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from gateway.admin.access import Acting, existing
from gateway.admin.changes import Administration, Change
from gateway.admin.flows.unit_of_work import FlowUnitOfWork, changing_flows
from gateway.domain.errors import AlreadyExists
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.flows import AuthenticatorConfig, Execution, Flow, FlowKind, Requirement
from gateway.domain.random_values import uuid4
from gateway.domain.realm import FlowBindings, Realm
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
    parse_flow,
    parse_names,
    render_config,
    render_execution,
    render_executions,
    render_flow,
    unmasked,
)

_FLOWS: Final = "authentication/flows"
_FLOW_OF_SAML: Final = "saml ecp"
_RESERVED: Final = frozenset("/?#&\\;:[]!@$*()+,=")


class FlowAdministration(Administration):
    """The use cases. All raise NotFound.

    Changes also raise InvalidRequest, AlreadyExists or PreconditionFailed.
    """

    async def _open(self, realm: Realm) -> FlowUnitOfWork:
        async with self._database.read() as stores:
            return await FlowUnitOfWork.open(stores, realm)

    async def list_flows(self, acting: Acting) -> list[dict[str, Any]]:
        """Return the top-level flows; like Keycloak, not the one of SAML clients."""
        work = await self._open(acting.realm)
        return [
            _render_flow(work, flow)
            for flow in work.flows
            if flow.top_level and flow.alias != _FLOW_OF_SAML
        ]

    async def get_flow(self, acting: Acting, flow_id: str) -> dict[str, Any]:
        work = await self._open(acting.realm)
        return _render_flow(work, work.get_flow(flow_id))

    async def list_executions(self, realm: Realm, alias: str) -> Sequence[dict[str, Any]]:
        """Return all executions of a flow and of its sub-flows."""
        work = await self._open(realm)
        return render_executions(work.flows, work.get_flow_by_alias(alias), work.configs)

    async def create_flow(self, acting: Acting, document: Mapping[str, Any]) -> str:
        """Create an empty flow; executions that are sent with it are ignored, as in Keycloak.

        One that is not said to be of the top level is no flow of the realm's list.
        """
        draft = parse_flow(document)
        flow = Flow(
            id=draft.id or str(uuid4()),
            alias=draft.alias or "",
            kind=draft.kind or FlowKind.BASIC,
            description=draft.description or "",
            top_level=draft.top_level is True,
            built_in=draft.built_in is True,
        )
        async with changing_flows(self._changes, acting) as (change, work):
            require_alias(work, flow.alias, "create", f"Flow {flow.alias} already exists")
            if draft.kind is None or work.flows.find_flow(flow.id) is not None:
                raise duplicate_resource()
            work.put_flow(flow)
            _record(change, OperationType.CREATE, f"{_FLOWS}/{flow.id}", document)
        return flow.id

    async def replace_flow(self, acting: Acting, flow_id: str, document: Mapping[str, Any]) -> None:
        """Change alias, description and level of a flow; what uses it goes on to.

        As in Keycloak, a description that is not sent is none, and a flow that is not said to be of
        the top level is no flow of the realm's list.
        """
        draft = parse_flow(document)
        async with changing_flows(self._changes, acting) as (change, work):
            flow = work.get_flow(flow_id)
            shown = _render_flow(work, flow)
            change.require_match(lambda: shown)
            if not draft.alias:
                raise AlreadyExists("Failed to update flow with empty alias name")
            if draft.alias != flow.alias:
                require_alias(work, draft.alias, "update", "Flow alias name already exists")
            if draft.kind is None:
                raise duplicate_resource()
            for name in ("providerId", "builtIn"):
                if document.get(name) not in (None, "", shown[name]):
                    raise InvalidRequest(f"{name} of a flow cannot be changed in this way")
            top_level = draft.top_level is True
            changed = replace(flow, description=draft.description, top_level=top_level)
            work.put_flow(replace(changed, alias=draft.alias))
            await _rename_in_use(change, flow.alias, draft.alias)
            _record(change, OperationType.UPDATE, f"{_FLOWS}/{flow_id}", document)

    async def remove_flow(self, acting: Acting, flow_id: str) -> None:
        """Remove a flow with its sub-flows; raises InvalidRequest where it is in use."""
        async with changing_flows(self._changes, acting) as (change, work):
            flow = work.get_flow(flow_id, "Flow not found")
            change.require_match(_render_flow, work, flow)
            if flow.built_in:
                raise InvalidRequest("Can't delete built in flow", WireFamily.PROSE)
            if work.flows.is_part(flow_id):
                raise InvalidRequest(f"'{flow.alias}' is a sub-flow: delete its execution")
            work.remove_flow(flow_id)
            _record(change, OperationType.DELETE, f"{_FLOWS}/{flow_id}")

    async def copy_flow(self, acting: Acting, alias: str, document: Mapping[str, Any]) -> str:
        """Copy a flow with its sub-flows; return the id of the copy."""
        name = parse_names(document).get("newName") or ""
        async with changing_flows(self._changes, acting) as (change, work):
            flow = work.get_flow_by_alias(alias)
            require_alias(work, name, "create", "New flow alias name already exists")
            copied = _copied(work, flow, name, name)
            work.put_flow(replace(copied, top_level=True))
            sent = {**document, "id": copied.id}
            _record(change, OperationType.CREATE, f"{_FLOWS}/{alias}/copy", sent)
        return copied.id

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
        name, kind = given.get("alias") or "", _sub_flow_kind(given.get("type"))
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
            change.record(OperationType.CREATE, _CONFIG, f"{_CONFIG_PATH}/{config.id}", document)
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
            change.record(OperationType.CREATE, _CONFIG, path, sent)
        return config.id

    async def replace_config(
        self, acting: Acting, config_id: str, document: Mapping[str, Any]
    ) -> None:
        config = parse_config(document, config_id)
        async with changing_flows(self._changes, acting) as (change, work):
            before = _get_config(work, config_id)
            change.require_match(_render_config, work, before)
            work.configs[config_id] = unmasked(config, before)
            change.record(OperationType.UPDATE, _CONFIG, f"{_CONFIG_PATH}/{config_id}", document)

    async def remove_config(self, acting: Acting, config_id: str) -> None:
        async with changing_flows(self._changes, acting) as (change, work):
            change.require_match(_render_config, work, _get_config(work, config_id))
            del work.configs[config_id]
            for flow in work.flows:
                for step in flow.executions:
                    if step.config == config_id:
                        work.put_flow(work.get_flow(flow.id).exchanging(replace(step, config=None)))
            change.record(OperationType.DELETE, _CONFIG, f"{_CONFIG_PATH}/{config_id}")


def require_alias(work: FlowUnitOfWork, alias: str, verb: str, taken: str) -> None:
    """Raise AlreadyExists, or InvalidRequest for a character that is not allowed."""
    if not alias:
        raise AlreadyExists(f"Failed to {verb} flow with empty alias name")
    require_plain(alias)
    if work.flows.named(alias) is not None:
        raise AlreadyExists(taken)


def require_plain(alias: str) -> None:
    """Raise InvalidRequest for a character that Keycloak allows in no alias."""
    for character in alias:
        if character in _RESERVED or not character.isprintable():
            raise InvalidRequest(f"Character {character!a} not allowed.", WireFamily.PROSE)


def _copied(work: FlowUnitOfWork, flow: Flow, name: str, prefix: str) -> Flow:
    """Return the copy with that alias; its sub-flows and configurations are put into `work`."""
    executions = tuple(_copied_step(work, each, prefix) for each in flow.executions)
    return replace(
        flow, id=str(uuid4()), alias=name, built_in=False, top_level=False, executions=executions
    )


def _copied_step(work: FlowUnitOfWork, execution: Execution, prefix: str) -> Execution:
    part, config = work.flows.find_flow(execution.flow), work.configs.get(execution.config or "")
    if part is not None:
        name = f"{prefix} {part.alias}"
        if work.flows.named(name) is not None:
            raise AlreadyExists("New flow alias name already exists")
        part = _copied(work, part, name, prefix)
        work.put_flow(part)
    if config is not None:
        alias = None if config.alias is None else f"{prefix} {config.alias}"
        config = AuthenticatorConfig(str(uuid4()), alias, config.config)
        work.configs[config.id] = config
    return replace(
        execution,
        id=str(uuid4()),
        flow=None if part is None else part.id,
        config=None if config is None else config.id,
    )


async def _rename_in_use(change: Change, alias: str, name: str) -> None:
    """Give the realm's bindings the new alias of a flow."""
    realm = change.realm
    renamed = {
        use: name
        for use in FlowBindings.__dataclass_fields__
        if getattr(realm.flows, use) == alias != name
    }
    if renamed:
        await change.replace_realm(replace(realm, flows=replace(realm.flows, **renamed)))


def _render_flow(work: FlowUnitOfWork, flow: Flow) -> dict[str, Any]:
    found: dict[str, Any] = render_flow(work.flows, flow, work.configs)
    return found


def _record(change: Change, operation: OperationType, path: str, document: object = None) -> None:
    change.record(operation, ResourceType.AUTH_FLOW, path, document)


_EXECUTIONS: Final = "authentication/executions"
_STEP: Final = ResourceType.AUTH_EXECUTION


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


def _sub_flow_kind(text: str | None) -> FlowKind:
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


_CONFIG_PATH: Final = "authentication/config"
_CONFIG: Final = ResourceType.AUTHENTICATOR_CONFIG


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
