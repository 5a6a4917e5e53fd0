"""Flows: found, created, copied, renamed and removed. Refusals have Keycloak's texts.

Keycloak: authentication/flows
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from gateway.admin.access import Acting
from gateway.admin.changes import Administration, Change
from gateway.admin.flows.unit_of_work import FlowUnitOfWork, changing_flows
from gateway.domain.errors import AlreadyExists
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.flows import AuthenticatorConfig, Execution, Flow, FlowKind
from gateway.domain.random_values import uuid4
from gateway.domain.realm import FlowBindings, Realm
from gateway.domain.refusals import InvalidRequest, WireFamily, duplicate_resource
from gateway.representations.flows import parse_flow, parse_names, render_executions, render_flow

_PATH: Final = "authentication/flows"
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
            _record(change, OperationType.CREATE, f"{_PATH}/{flow.id}", document)
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
            _record(change, OperationType.UPDATE, f"{_PATH}/{flow_id}", document)

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
            _record(change, OperationType.DELETE, f"{_PATH}/{flow_id}")

    async def copy_flow(self, acting: Acting, alias: str, document: Mapping[str, Any]) -> str:
        """Copy a flow with its sub-flows; return the id of the copy."""
        name = parse_names(document).get("newName") or ""
        async with changing_flows(self._changes, acting) as (change, work):
            flow = work.get_flow_by_alias(alias)
            require_alias(work, name, "create", "New flow alias name already exists")
            copied = _copied(work, flow, name, name)
            work.put_flow(replace(copied, top_level=True))
            sent = {**document, "id": copied.id}
            _record(change, OperationType.CREATE, f"{_PATH}/{alias}/copy", sent)
        return copied.id


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
