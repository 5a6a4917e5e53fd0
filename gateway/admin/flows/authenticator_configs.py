"""Configurations of executions. Keycloak: authentication/config."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import uuid4

from gateway.admin.access import (
    Acting,
    InvalidRequest,
    NotFound,
)
from gateway.admin.changes import Changes
from gateway.admin.flows.unit_of_work import FlowUnitOfWork, changing_flows
from gateway.domain.errors import AlreadyExists
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.flows import AuthenticatorConfig, Execution, Flow
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.representations.flows import AUTHENTICATORS, parse_config, render_config

_PATH: Final = "authentication/config"
_KIND: Final = ResourceType.AUTHENTICATOR_CONFIG


class AuthenticatorConfigs:
    """The use cases."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes

    async def one(self, realm: Realm, config_id: str) -> dict[str, Any]:
        async with self._database.read() as stores:
            return render_config(_one(await FlowUnitOfWork.open(stores, realm), config_id))

    async def create(self, acting: Acting, execution_id: str, document: Mapping[str, Any]) -> str:
        """Configure an execution; raises NotFound, InvalidRequest or AlreadyExists."""
        config = parse_config(document, str(uuid4()))
        async with changing_flows(self._changes, acting) as (change, work):
            parent, step = work.get_execution(execution_id)
            if not config.alias:
                raise AlreadyExists(
                    "Failed to create authentication execution configuration with empty alias name"
                )
            _require_known(step, config)
            work.configs.pop(step.config or "", None)
            work.configs[config.id] = config
            work.put(parent.exchanging(replace(step, config=config.id)))
            path = f"authentication/executions/{execution_id}/config"
            sent = {**document, "id": config.id}
            change.record(OperationType.CREATE, _KIND, path, sent)
        return config.id

    async def replace(self, acting: Acting, config_id: str, document: Mapping[str, Any]) -> None:
        config = parse_config(document, config_id)
        async with changing_flows(self._changes, acting) as (change, work):
            change.require_match(render_config(_one(work, config_id)))
            _, step = _user(work, config_id)
            _require_known(step, config)
            work.configs[config_id] = config
            change.record(OperationType.UPDATE, _KIND, f"{_PATH}/{config_id}", document)

    async def remove(self, acting: Acting, config_id: str) -> None:
        async with changing_flows(self._changes, acting) as (change, work):
            change.require_match(render_config(_one(work, config_id)))
            parent, step = _user(work, config_id)
            del work.configs[config_id]
            work.put(parent.exchanging(replace(step, config=None)))
            change.record(OperationType.DELETE, _KIND, f"{_PATH}/{config_id}")


def _one(work: FlowUnitOfWork, config_id: str) -> AuthenticatorConfig:
    config = work.configs.get(config_id)
    if config is None:
        raise NotFound("Could not find authenticator config")
    return config


def _user(work: FlowUnitOfWork, config_id: str) -> tuple[Flow, Execution]:
    """Return the execution with that configuration, and its flow."""
    for flow in work.flows:
        for execution in flow.executions:
            if execution.config == config_id:
                return flow, execution
    raise NotFound("Could not find authenticator config")


def _require_known(step: Execution, config: AuthenticatorConfig) -> None:
    """Raise InvalidRequest or UnusableSetting for what the authenticator does not support."""
    known = AUTHENTICATORS.get(step.authenticator or "")
    properties = {} if known is None else {each.name: each for each in known.properties}
    for name, value in config.config:
        if name not in properties:
            raise InvalidRequest(f"'{name}' is not a property of '{step.authenticator}'")
        if value:
            properties[name].read((value,))
