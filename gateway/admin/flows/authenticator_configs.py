"""Configurations of executions. Keycloak: authentication/config."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from gateway.admin.access import Acting, NotFound, duplicate_resource
from gateway.admin.changes import Changes
from gateway.admin.flows.administration import require_plain
from gateway.admin.flows.unit_of_work import FlowUnitOfWork, changing_flows
from gateway.domain.errors import AlreadyExists
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.flows import AuthenticatorConfig
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.representations.flows import parse_config, render_config, unmasked

_PATH: Final = "authentication/config"
_KIND: Final = ResourceType.AUTHENTICATOR_CONFIG


class AuthenticatorConfigs:
    """The use cases."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes

    async def one(self, realm: Realm, config_id: str) -> dict[str, Any]:
        async with self._database.read() as stores:
            work = await FlowUnitOfWork.open(stores, realm)
            return _render(work, _one(work, config_id))

    async def create(self, acting: Acting, document: Mapping[str, Any]) -> str:
        """Create a configuration that no execution has; raises InvalidRequest, AlreadyExists."""
        config = parse_config(document)
        async with changing_flows(self._changes, acting) as (change, work):
            _require_new(work, config)
            work.configs[config.id] = config
            change.record(OperationType.CREATE, _KIND, f"{_PATH}/{config.id}", document)
        return config.id

    async def configure(
        self, acting: Acting, execution_id: str, document: Mapping[str, Any]
    ) -> str:
        """Configure an execution; raises NotFound, InvalidRequest or AlreadyExists."""
        config = parse_config(document)
        async with changing_flows(self._changes, acting) as (change, work):
            parent, step = work.get_execution(execution_id)
            work.configs.pop(step.config or "", None)
            _require_new(work, config)
            work.configs[config.id] = config
            work.put(parent.exchanging(replace(step, config=config.id)))
            path = f"authentication/executions/{execution_id}/config"
            sent = {**document, "id": config.id}
            change.record(OperationType.CREATE, _KIND, path, sent)
        return config.id

    async def replace(self, acting: Acting, config_id: str, document: Mapping[str, Any]) -> None:
        config = parse_config(document, config_id)
        async with changing_flows(self._changes, acting) as (change, work):
            before = _one(work, config_id)
            change.require_match(_render, work, before)
            work.configs[config_id] = unmasked(config, before)
            change.record(OperationType.UPDATE, _KIND, f"{_PATH}/{config_id}", document)

    async def remove(self, acting: Acting, config_id: str) -> None:
        async with changing_flows(self._changes, acting) as (change, work):
            change.require_match(_render, work, _one(work, config_id))
            del work.configs[config_id]
            for flow in work.flows:
                for step in flow.executions:
                    if step.config == config_id:
                        work.put(work.get(flow.id).exchanging(replace(step, config=None)))
            change.record(OperationType.DELETE, _KIND, f"{_PATH}/{config_id}")


def _one(work: FlowUnitOfWork, config_id: str) -> AuthenticatorConfig:
    config = work.configs.get(config_id)
    if config is None:
        raise NotFound("Could not find authenticator config")
    return config


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


def _render(work: FlowUnitOfWork, config: AuthenticatorConfig) -> dict[str, Any]:
    return render_config(config, work.flows.configured(config.id))
