"""What a realm is made of beside people and clients, put together. Keycloak: 7.3 to 7.5."""

from collections.abc import Collection
from dataclasses import dataclass

from gateway.admin.access import Administrators, Changes
from gateway.admin.components import Components
from gateway.admin.flows import (
    AuthenticatorConfigs,
    ExecutionAdministration,
    FlowAdministration,
    RequiredActions,
)
from gateway.admin.keys import KeyComponents, KeyMetadata
from gateway.admin.realms import Localizations
from gateway.admin.registration import RegistrationPolicies
from gateway.admin.users import ProfileComponents
from gateway.domain.clock import Clock
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database
from gateway.http.admin.components import ComponentsHandlers
from gateway.http.admin.components import operations as component_operations
from gateway.http.admin.flows import ExecutionHandlers, FlowHandlers, RequiredActionHandlers
from gateway.http.admin.operations import Operation
from gateway.http.admin.realms.localization import LocalizationHandlers
from gateway.http.admin.server_info import ServerInfoHandlers


@dataclass(frozen=True, slots=True)
class ConfigurationParts:
    """What the rows are made of."""

    database: Database
    changes: Changes
    clock: Clock
    keys: KeyFactory
    listeners: Collection[str]
    """Names of those that hear of events."""


def configuration_operations(parts: ConfigurationParts) -> tuple[Operation, ...]:
    """Return the rows of keys, components, flows and texts, and of the server."""
    key_components = KeyComponents(parts.database, parts.changes, parts.keys, parts.clock)
    profile = ProfileComponents(parts.changes)
    policies = RegistrationPolicies(parts.changes)
    components = Components(parts.database, (key_components, profile, policies))
    key_metadata = KeyMetadata(parts.database, parts.keys, parts.clock)
    return (
        *component_operations(ComponentsHandlers(components, key_metadata)),
        *_authentication(parts.database, parts.changes),
        *LocalizationHandlers(Localizations(parts.database, parts.changes)).operations(),
        *ServerInfoHandlers(
            Administrators(parts.database), components, parts.clock, parts.listeners
        ).operations(),
    )


def _authentication(database: Database, changes: Changes) -> tuple[Operation, ...]:
    executions = ExecutionAdministration(database, changes)
    flows = FlowHandlers(FlowAdministration(database, changes), executions)
    steps = ExecutionHandlers(executions, AuthenticatorConfigs(database, changes))
    actions = RequiredActionHandlers(RequiredActions(database, changes))
    return (*flows.operations(), *steps.operations(), *actions.operations())
