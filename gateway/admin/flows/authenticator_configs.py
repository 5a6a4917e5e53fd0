"""What is set of the steps of flows. Keycloak: authentication/config."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import uuid4

from gateway.admin.access import Acting, Changes, Missing, Refused
from gateway.admin.flows.book import FlowBook, changing_flows
from gateway.domain.errors import AlreadyExists
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.flows import AuthenticatorConfig, Execution, Flow
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.representations.flows import AUTHENTICATORS, read_config, write_config

_PATH: Final = "authentication/config"
_KIND: Final = ResourceType.AUTHENTICATOR_CONFIG


class AuthenticatorConfigs:
    """The use cases."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes

    async def one(self, realm: Realm, config_id: str) -> dict[str, Any]:
        """Return a configuration; raises Missing."""
        async with self._database.read() as stores:
            return write_config(_one(await FlowBook.open(stores, realm), config_id))

    async def create(self, acting: Acting, execution_id: str, document: Mapping[str, Any]) -> str:
        """Configure an execution; return the id. Raises Missing, Refused or AlreadyExists."""
        config = read_config(document, str(uuid4()))
        async with changing_flows(self._changes, acting) as (change, book):
            parent, step = book.execution(execution_id)
            if not config.alias:
                raise AlreadyExists(
                    "Failed to create authentication execution configuration with empty alias name"
                )
            _require_known(step, config)
            book.configs.pop(step.config or "", None)
            book.configs[config.id] = config
            book.put(parent.exchanging(replace(step, config=config.id)))
            path = f"authentication/executions/{execution_id}/config"
            sent = {**document, "id": config.id}
            change.record(OperationType.CREATE, _KIND, path, sent)
        return config.id

    async def replace(self, acting: Acting, config_id: str, document: Mapping[str, Any]) -> None:
        """Change a configuration; raises Missing, Refused or PreconditionFailed."""
        config = read_config(document, config_id)
        async with changing_flows(self._changes, acting) as (change, book):
            change.require_match(write_config(_one(book, config_id)))
            _, step = _user(book, config_id)
            _require_known(step, config)
            book.configs[config_id] = config
            change.record(OperationType.UPDATE, _KIND, f"{_PATH}/{config_id}", document)

    async def remove(self, acting: Acting, config_id: str) -> None:
        """Take a configuration away; raises Missing, Refused or PreconditionFailed."""
        async with changing_flows(self._changes, acting) as (change, book):
            change.require_match(write_config(_one(book, config_id)))
            parent, step = _user(book, config_id)
            del book.configs[config_id]
            book.put(parent.exchanging(replace(step, config=None)))
            change.record(OperationType.DELETE, _KIND, f"{_PATH}/{config_id}")


def _one(book: FlowBook, config_id: str) -> AuthenticatorConfig:
    config = book.configs.get(config_id)
    if config is None:
        raise Missing("Could not find authenticator config")
    return config


def _user(book: FlowBook, config_id: str) -> tuple[Flow, Execution]:
    """Return the execution that is configured so, and its flow."""
    for flow in book.flows:
        for execution in flow.executions:
            if execution.config == config_id:
                return flow, execution
    raise Missing("Could not find authenticator config")


def _require_known(step: Execution, config: AuthenticatorConfig) -> None:
    """Refuse what means nothing to the authenticator; raises Refused or UnusableSetting."""
    known = AUTHENTICATORS.get(step.authenticator or "")
    properties = {} if known is None else {each.name: each for each in known.properties}
    for name, value in config.config:
        if name not in properties:
            raise Refused(f"'{name}' is nothing that can be set of '{step.authenticator}'")
        if value:
            properties[name].read((value,))
