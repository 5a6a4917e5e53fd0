"""Every row of the table about keys, components, flows and texts, and the server.

Keycloak: 7.3 to 7.5
"""

from gateway.admin.components import Components
from gateway.admin.flows import FlowUseCases
from gateway.admin.keys import KeyMetadata
from gateway.admin.realms import Localizations
from gateway.http.admin.components import ComponentsHandlers
from gateway.http.admin.components import operations as component_operations
from gateway.http.admin.flows import ExecutionHandlers, FlowHandlers, RequiredActionHandlers
from gateway.http.admin.operations import Operation
from gateway.http.admin.realms.localization import LocalizationHandlers
from gateway.http.admin.server_info import ServerInfoHandlers


def configuration_operations(
    components: Components,
    keys: KeyMetadata,
    flows: FlowUseCases,
    localizations: Localizations,
    server: ServerInfoHandlers,
) -> tuple[Operation, ...]:
    """Return the rows."""
    return (
        *component_operations(ComponentsHandlers(components, keys)),
        *_authentication(flows),
        *LocalizationHandlers(localizations).operations(),
        *server.operations(),
    )


def _authentication(flows: FlowUseCases) -> tuple[Operation, ...]:
    return (
        *FlowHandlers(flows.administration, flows.executions).operations(),
        *ExecutionHandlers(flows.executions, flows.configs).operations(),
        *RequiredActionHandlers(flows.required_actions).operations(),
    )
