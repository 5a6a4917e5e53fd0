"""Builds the administrative use cases of authentication flows."""

from gateway.admin.flows import (
    AuthenticatorConfigs,
    ExecutionAdministration,
    FlowAdministration,
    FlowUseCases,
    RequiredActions,
)
from gateway.bootstrap.services import Services


def flow_use_cases(services: Services) -> FlowUseCases:
    """Return every use case of authentication flows and required actions."""
    database, changes = services.database, services.changes
    return FlowUseCases(
        administration=FlowAdministration(database, changes),
        executions=ExecutionAdministration(database, changes),
        configs=AuthenticatorConfigs(database, changes),
        required_actions=RequiredActions(database, changes),
    )
